"""Databases to serve from: a SQLite file, and a throw-away PostgreSQL cluster where its programs are installed."""

import uuid

import pytest
from postgres_cluster import running_cluster
from sqlalchemy import create_engine, text

from discreet.serving.logs import tell_repeats


@pytest.fixture(autouse=True)
def _every_test_logs_anew():
    tell_repeats()


@pytest.fixture(scope="session")
def postgres():
    """The address of a fresh cluster."""
    with running_cluster() as cluster:
        yield cluster.address


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "serving.sqlite")
    address = request.getfixturevalue("postgres")
    name = f"t{uuid.uuid4().hex}"
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return address.replace("/postgres?", f"/{name}?")
