"""Whatever the umask is, only their owner reads databases, side files, keys, copies and folders of state."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from dap_processes import Deployment
from feed_server import discreet_serve, until

from discreet.aggregation.dap.config import read_config
from discreet.database.engine import connecting_engine
from discreet.edge.reader.catalogue_file import CatalogueFile
from discreet.edge.reader.device_file import create_for_owner
from discreet.serving.backup import write_backup

DISCREET = [sys.executable, "-m", "discreet"]


@pytest.fixture(autouse=True)
def _umask_zero():
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder, but=()):
    return {
        str(one.relative_to(folder)): oct(one.stat().st_mode)
        for one in folder.rglob("*")
        if one.stat().st_mode & 0o077 and one not in but and one.suffix != ".pub"
    }


def test_a_database_is_private_from_its_first_byte(tmp_path):
    engine = connecting_engine(tmp_path / "new.sqlite")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE one (two)")
        assert {one.name for one in tmp_path.iterdir()} == {f"new.sqlite{end}" for end in ("", "-wal", "-shm")}
        assert not open_to_others(tmp_path)
    engine.dispose()


def in_another_process(path, statement):
    program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], 0); print(*c.execute(sys.argv[2])); c.close()"
    done = subprocess.run([sys.executable, "-c", program, path, statement], capture_output=True, text=True, check=False)
    return done.stdout.strip(), "locked" in done.stderr


def test_what_is_written_after_another_process_has_left_is_kept(tmp_path):
    path = tmp_path / "s.sqlite"
    engine = connecting_engine(path)
    with engine.begin() as first:
        first.exec_driver_sql("CREATE TABLE one (two)")
    with engine.connect(), engine.connect():
        pass
    in_another_process(path, "SELECT * FROM one")
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO one VALUES (3)")
    assert in_another_process(path, "SELECT * FROM one") == ("(3,)", False)
    engine.dispose()


def test_a_second_user_of_a_devices_file_leaves_the_locks_of_the_first(tmp_path):
    path = tmp_path / "catalogue.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE one (two)")
        connection.execute("BEGIN EXCLUSIVE")
        create_for_owner(path)
        assert in_another_process(path, "SELECT * FROM one") == ("", True)


def test_a_devices_catalogue_is_private(tmp_path):
    CatalogueFile(tmp_path / "catalogue.sqlite")
    assert not open_to_others(tmp_path)


def discreet(folder, *words):
    done = subprocess.run([*DISCREET, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_server_with_sums_its_backup_and_what_is_restored_are_private(tmp_path):
    feed = tmp_path / "feed.csv"
    feed.write_text("id,title\n" + "".join(f"N{n},storm {n} at sea\n" for n in range(9)))
    log = tmp_path / "log"
    flags = ["--feed", "feed.csv", "--text", "hashed", "--database", "s.sqlite", "--helper", "embedded"]
    with discreet_serve(tmp_path, *flags):
        until((tmp_path / "s.sqlite-wal").exists, "side file")
        assert len(list(tmp_path.rglob("*.key"))) == 3
        assert len(list(tmp_path.rglob("*.sqlite"))) == 3
        assert not open_to_others(tmp_path, (feed, log))
        discreet(tmp_path, "backup", "out", "--database", "s.sqlite")
    discreet(tmp_path, "restore", "out", "--database", "again/s.sqlite")
    with closing(sqlite3.connect(tmp_path / "again" / "s.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM articles").fetchone()[0] == 9
    assert not open_to_others(tmp_path, (feed, log))


@pytest.mark.long
def test_a_helper_and_its_backup_are_private(tmp_path):
    deployment = Deployment(tmp_path, start=int(time.time()) // 600 * 600)
    ours = {*tmp_path.glob("*.toml"), tmp_path / "task.json", tmp_path / "helper.log", tmp_path / "leader.log"}
    try:
        for role in ("helper", "leader"):
            deployment.start(role)
        (tmp_path / "helper.toml").chmod(0o666)
        discreet(tmp_path, "backup", "out", "--aggregate", "helper.toml")
        write_backup(tmp_path / "by Python", config=read_config(tmp_path / "helper.toml"))
        assert {one.name for one in tmp_path.glob("*.sqlite")} == {"helper.sqlite", "leader.sqlite"}
        assert not open_to_others(tmp_path, ours)
    finally:
        deployment.stop()
    discreet(tmp_path, "restore", "out", "--aggregate", "again")
    discreet(tmp_path, "aggregate", "keygen", "new.key")
    assert not open_to_others(tmp_path, ours)


@pytest.mark.long
def test_nodes_keep_their_state_where_others_cannot_enter(tmp_path):
    (tmp_path / "ratings.csv").write_text("user,item,rating\n" + "".join(f"{n % 9},{n % 7},3\n" for n in range(63)))
    discreet(tmp_path, "nodes", "write", "ratings.csv", "--nodes", "2", "--out", "nodes")
    assert (tmp_path / "nodes").stat().st_mode & 0o777 == 0o700
