"""Databases to serve from: a SQLite file, and a throw-away PostgreSQL cluster where its programs are installed."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from discreet.serving.logs import tell_repeats


@pytest.fixture(autouse=True)
def _every_test_logs_anew():
    tell_repeats()


def _postgres_folder():
    for folder in [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return (folder / "initdb").resolve().parent
    return None


@pytest.fixture(scope="session")
def postgres():
    """The address of a fresh cluster that listens on a socket in its own folder."""
    programs = _postgres_folder()
    if programs is None:
        pytest.skip("initdb and postgres are not installed")
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    prefix = []
    if os.geteuid() == 0:  # postgres refuses to run as root
        if not shutil.which("setpriv"):
            pytest.skip("postgres does not run as root, and setpriv is not installed")
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        prefix = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    data, settings = folder / "data", ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
    made = [*prefix, programs / "initdb", "-D", data, "-U", "discreet", "-A", "trust", "--no-sync"]
    subprocess.run(made, check=True, capture_output=True, cwd="/")
    server = subprocess.Popen(
        [*prefix, programs / "postgres", "-D", data, *settings], cwd="/", stderr=subprocess.DEVNULL
    )
    try:
        address = f"postgresql://discreet@/postgres?host={folder}"
        _wait_for(address)
        yield address
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(address):
    import time

    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    for _ in range(200):
        with contextlib.suppress(Exception), engine.connect():
            engine.dispose()
            return
        time.sleep(0.05)
    raise RuntimeError("postgres did not start")


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
