"""Databases of aggregators (SQLite; PostgreSQL where it is installed), and a site with both aggregators."""

import pytest
from dap_site import Site
from postgres_cluster import fresh_schema


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request, tmp_path):
    """The addresses of two empty databases."""
    if request.param == "sqlite":
        return {role: str(tmp_path / f"{role}.sqlite") for role in ("leader", "helper")}
    return {role: fresh_schema(request.getfixturevalue("postgres")) for role in ("leader", "helper")}


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.close()
