"""Databases of aggregators: SQLite files, and a throw-away PostgreSQL cluster where its programs are installed."""

import pytest
from postgres_cluster import fresh_database


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request, tmp_path):
    """The addresses of two empty databases."""
    if request.param == "sqlite":
        return {role: str(tmp_path / f"{role}.sqlite") for role in ("leader", "helper")}
    return {role: fresh_database(request.getfixturevalue("postgres")) for role in ("leader", "helper")}
