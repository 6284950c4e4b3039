"""Databases to serve from: a SQLite file, and a throw-away PostgreSQL cluster where its programs are installed."""

import logging

import pytest
from postgres_cluster import fresh_schema

from discreet.serving.logs import JsonLines, log_repeats


@pytest.fixture(autouse=True)
def _every_test_logs_anew():
    """A server that ran in this process before has counted repeats, and has sent its logs to standard error alone."""
    log_repeats()
    logging.captureWarnings(False)
    root = logging.getLogger()
    root.handlers = [one for one in root.handlers if not isinstance(one.formatter, JsonLines)]
    for name in ("discreet.serving", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.NOTSET)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "serving.sqlite")
    return fresh_schema(request.getfixturevalue("postgres"))
