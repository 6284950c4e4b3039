"""Databases to serve from: a SQLite file, and a throw-away PostgreSQL cluster where its programs are installed."""

import pytest
from postgres_cluster import fresh_schema

from discreet.serving.logs import log_repeats


@pytest.fixture(autouse=True)
def _every_test_logs_anew():
    log_repeats()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "serving.sqlite")
    return fresh_schema(request.getfixturevalue("postgres"))
