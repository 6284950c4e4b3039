"""A throw-away PostgreSQL cluster, where its programs are installed; it can be made to stand still."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import create_engine, text
from tools import require, tool

USER = "discreet"


@dataclass
class Cluster:
    address: str
    folder: Path
    command: list
    process: subprocess.Popen

    def kill(self):
        """kill -9 of the one that all others end with."""
        self.process.kill()
        self.process.wait()

    def restart(self):
        """Start again, on the same data, and return when it answers."""
        deadline = time.monotonic() + 60
        while True:
            self.process = subprocess.Popen(self.command, cwd="/", stderr=subprocess.DEVNULL)
            if _answers(self.address, self.process):
                return
            assert time.monotonic() < deadline, "postgres did not start again"
            time.sleep(0.1)  # processes of the one that was killed still hold its memory

    @contextlib.contextmanager
    def standing_still(self):
        """Every process of it is stopped: connections are taken by the kernel, and nobody answers."""
        stopped = [self.process.pid]
        os.kill(self.process.pid, signal.SIGSTOP)  # first, so that it starts no other
        try:
            for one in self._children():
                with contextlib.suppress(ProcessLookupError):  # it was at its end, as an autovacuum worker often is
                    os.kill(one, signal.SIGSTOP)
                    stopped.append(one)
            yield
        finally:
            for one in reversed(stopped):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGCONT)

    def _children(self):
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(status.read_text().rpartition(")")[2].split()[1]) == self.process.pid:
                    found.append(int(status.parent.name))
        return found


@contextlib.contextmanager
def running_cluster(*, password=None, port=None):
    """A fresh cluster, on a socket in its own folder; with a port also on 127.0.0.1, where it asks for the password."""
    programs = _programs()
    require(programs, "initdb and postgres are not installed")
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    prefix = []
    if os.geteuid() == 0:  # postgres refuses to run as root
        tool("setpriv")
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        prefix = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    data = folder / "data"
    made = [*prefix, programs / "initdb", "-D", data, "-U", USER, "--no-sync", "--auth-local=trust"]
    if password is not None:
        (folder / "password").write_text(password)
        (folder / "password").chmod(0o644)
        made += ["--auth-host=scram-sha-256", f"--pwfile={folder / 'password'}"]
    subprocess.run(made, check=True, capture_output=True, cwd="/")
    settings = ["-c", f"listen_addresses={'127.0.0.1' if port else ''}", "-c", f"unix_socket_directories={folder}"]
    settings += ["-c", f"port={port}"] if port else []
    settings += ["-c", "fsync=off", "-c", "full_page_writes=off"]  # the cluster does not outlive this machine
    command = [*prefix, programs / "postgres", "-D", data, *settings]
    address = f"postgresql://{USER}@/postgres?host={folder}" + (f"&port={port}" if port else "")
    cluster = Cluster(address, folder, command, subprocess.Popen(command, cwd="/", stderr=subprocess.DEVNULL))
    try:
        if not _answers(address, cluster.process):
            raise RuntimeError("postgres did not start")
        yield cluster
    finally:
        cluster.process.send_signal(signal.SIGQUIT)  # at once: nobody needs its data again
        cluster.process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _programs():
    for folder in [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return (folder / "initdb").resolve().parent
    return None


def _answers(address, process):
    """Whether it answers in the end; False if it has ended."""
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    for _ in range(1200):
        with contextlib.suppress(Exception), engine.connect():
            engine.dispose()
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.05)
    return False


def fresh_schema(address):
    """The address of an empty schema: as good as a new database for all but backups, and made in no time."""
    name = f"t{uuid.uuid4().hex}"
    _execute(address, f"CREATE SCHEMA {name}")
    return f"{address}&options=-csearch_path%3D{name}"


def fresh_database(address):
    """The address of a new database of a cluster."""
    name = f"t{uuid.uuid4().hex}"
    _execute(address, f"CREATE DATABASE {name}")
    return address.replace("/postgres?", f"/{name}?")


def _execute(address, statement):
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()
