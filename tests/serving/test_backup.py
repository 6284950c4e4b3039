"""Backups and what is put back from them: all that was kept, with its secrets, and no sum twice."""

import json
import shutil
import stat
from pathlib import Path

import pytest
from dap_processes import Deployment
from dap_site import START, WINDOW, Site, example_task
from old_databases import write_old_aggregator
from postgres_cluster import fresh_database

from discreet.aggregation.dap.config import Config, read_config
from discreet.aggregation.dap.tables import open_engine as open_aggregator
from discreet.aggregation.dap.tables import restores
from discreet.cli import run
from discreet.errors import DiscreetError
from discreet.serving.backup import read_backup, restore, write_backup
from discreet.serving.database_tables import open_engine
from discreet.serving.server_store import ServerStore, Waiting

ROLES = ("leader", "helper")


@pytest.fixture(params=["sqlite", "postgresql"])
def new_place(request, tmp_path):
    """Makes addresses of empty databases."""

    def make(name):
        if request.param == "sqlite":
            return str(tmp_path / f"{name}.sqlite")
        return fresh_database(request.getfixturevalue("postgres"))

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of an empty database, of which a backup holds all."""
    if request.param == "sqlite":
        return str(tmp_path / "serving.sqlite")
    return fresh_database(request.getfixturevalue("postgres"))


def config_of(folder, database):
    """A configuration that names nothing but its database."""
    (folder / "it.toml").write_text(f'database = "{database}"\nkeys = []\ntasks = []\n')
    return read_config(folder / "it.toml")


@pytest.mark.parametrize("role", ROLES)
def test_a_restored_aggregator_releases_no_sum_again(role, new_place, tmp_path, monkeypatch):
    databases = {one: new_place(one) for one in ROLES}
    site = Site(tmp_path, example_task(epsilon=0.1), databases=databases)
    for value in (0, 1, 2, 2):
        site.upload(value)
    site.worker.step()  # all are counted, at both
    site.clock.now = START + 2 * WINDOW
    write_backup(tmp_path / "backup", config=config_of(tmp_path, databases[role]), clock=site.clock)
    released = site.collect()
    site.close()
    with pytest.raises(DiscreetError, match=r"is there already|has tables already"):
        restore(tmp_path / "backup", aggregator=tmp_path / "again", clock=site.clock)
    if "://" in databases[role]:  # the operator names an empty database in its place
        restored = new_place("restored")
        monkeypatch.setattr("discreet.serving.backup.read_config", lambda _: config_of(tmp_path, restored))
        restore(tmp_path / "backup", aggregator=tmp_path / "again", clock=site.clock)
    else:
        restored = tmp_path / "again" / "restored.sqlite"
        monkeypatch.setattr("discreet.serving.backup.read_config", lambda _: config_of(tmp_path, "restored.sqlite"))
        restore(tmp_path / "backup", aggregator=tmp_path / "again", clock=site.clock)
    again = Site(tmp_path, site.task, site.clock, site.keys, databases={**databases, role: str(restored)})
    if role == "helper":  # a leader that asks for the released window again, as if it had forgotten, too
        with again.leader.store.engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM dap_collections")
            connection.exec_driver_sql("DELETE FROM dap_collected")
    with pytest.raises(DiscreetError):
        again.collect()
    if role == "leader":
        with pytest.raises(DiscreetError, match="report_dropped"):
            again.upload(0)
    again.clock.now = START + 5 * WINDOW + 1.0
    for value in (0, 1, 2):
        again.upload(value, window=5)
    again.clock.now = START + 8 * WINDOW
    assert again.collect(window=5).contributions == 3, "what comes later counts"
    assert released.contributions == 4
    again.close()


def test_a_file_that_is_put_back_by_hand_is_refused(tmp_path):
    """And where the mark is taken off, the sum comes with other noise: this is what restoring must prevent."""
    databases = {one: str(tmp_path / f"{one}.sqlite") for one in ROLES}
    site = Site(tmp_path, example_task(epsilon=0.01, length=8), databases=databases)
    for value in (0, 1, 2):
        site.upload(value)
    site.worker.step()
    site.clock.now = START + 2 * WINDOW
    write_backup(tmp_path / "backup", config=config_of(tmp_path, "leader.sqlite"), clock=site.clock)
    released = site.collect()
    site.close()
    shutil.copy(tmp_path / "backup" / "aggregator.sqlite", tmp_path / "copy.sqlite")
    with pytest.raises(DiscreetError, match="is a copy of a database; put it back with 'discreet restore'"):
        open_aggregator(tmp_path / "copy.sqlite")
    from discreet.database.copies import unmark

    unmark(tmp_path / "copy.sqlite")
    careless = Site(
        tmp_path, site.task, site.clock, site.keys, databases={**databases, "leader": str(tmp_path / "copy.sqlite")}
    )
    assert careless.collect().values.tolist() != released.values.tolist()
    careless.close()


def test_a_task_that_came_after_the_backup_is_held_back_too(tmp_path):
    site = Site(tmp_path)
    write_backup(tmp_path / "backup", config=config_of(tmp_path, "leader.sqlite"), clock=site.clock)
    restore_into(tmp_path, site.clock)
    later = Site(
        tmp_path,
        example_task(name="later"),
        site.clock,
        site.keys,
        databases={"leader": str(tmp_path / "again" / "leader.sqlite")},
    )
    with pytest.raises(DiscreetError, match="report_dropped"):
        later.upload(0)
    for one in (site, later):
        one.close()


def restore_into(folder, clock):
    restore(folder / "backup", aggregator=folder / "again", clock=clock)


def test_all_that_an_aggregator_needs_is_there_and_secret(tmp_path, capsys):
    (tmp_path / "old").mkdir()
    deployment = Deployment(tmp_path / "old", start=START)
    (tmp_path / "outside.key").write_text("certificate")
    text = (deployment.folder / "leader.toml").read_text()
    (deployment.folder / "leader.toml").write_text(f'certificate_key = "{tmp_path}/outside.key"\n{text}')
    config = read_config(deployment.folder / "leader.toml")
    config.leader().store.close()
    assert run(["backup", str(tmp_path / "b"), "--aggregate", str(config.path)]) == 0
    assert f"{tmp_path}/outside.key lies elsewhere" in capsys.readouterr().out
    assert run(["restore", str(tmp_path / "b"), "--aggregate", str(tmp_path / "new")]) == 0
    assert "are never collected" in capsys.readouterr().out
    for name in ("leader.key", "verify", "leader.token", "collector.token", "task.json"):
        assert (tmp_path / "new" / name).read_bytes() == (deployment.folder / name).read_bytes()
    for folder in (tmp_path / "b", tmp_path / "new"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert all(stat.S_IMODE(one.stat().st_mode) == 0o600 for one in folder.rglob("*.key"))
    leader = read_config(tmp_path / "new" / "leader.toml").leader()
    with leader.store.engine.connect() as connection:
        assert connection.execute(restores.select()).scalar() > START
    leader.store.close()


def test_a_served_database_comes_back_as_it_was(database, new_place, tmp_path):
    if ("://" in database) != ("://" in (target := new_place("target"))):
        copied(database, tmp_path)
        with pytest.raises(DiscreetError, match=r"name a file|name the postgresql"):
            restore(tmp_path / "backup", target)
        return
    copied(database, tmp_path)
    restore(tmp_path / "backup", target)
    store = ServerStore(open_engine(target))
    assert [one.id for _, one in store.waiting(9)] == ["A1"]
    store.put_articles([Waiting("A2", "later", "", "", -1, 9)])
    assert [one.id for _, one in store.waiting(9)] == ["A1", "A2"], "numbers go on where they were"
    assert store.signing_key() == b"k" * 32
    store.close()


def copied(database, tmp_path):
    import base64

    store = ServerStore(open_engine(database))
    store.put_articles([Waiting("A1", "storm at sea", "", "", -1, 9)])
    store.setting("signing key", base64.b64encode(b"k" * 32).decode())
    write_backup(tmp_path / "backup", database)  # while the store is open
    store.put_articles([Waiting("A9", "after the backup", "", "", -1, 9)])
    store.close()
    assert read_backup(tmp_path / "backup").databases.keys() == {"serving"}


def test_a_damaged_backup_is_refused(tmp_path, capsys):
    ServerStore(open_engine(tmp_path / "s.sqlite")).close()
    assert run(["backup", str(tmp_path / "b"), "--database", str(tmp_path / "s.sqlite"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["databases"] == ["serving"]
    with (tmp_path / "b" / "serving.sqlite").open("ab") as file:
        file.write(b"!")
    assert run(["restore", str(tmp_path / "b"), "--database", str(tmp_path / "t.sqlite")]) == 2
    assert "is damaged" in capsys.readouterr().err
    assert not (tmp_path / "t.sqlite").exists()


def test_the_copy_of_an_upgrade_is_put_back_with_the_same_care(tmp_path, capsys):
    place = tmp_path / "leader.sqlite"
    write_old_aggregator(str(place), b"t" * 32)
    open_aggregator(place).dispose()
    copy = next(tmp_path.glob("leader.sqlite.before-*"))
    assert run(["restore", str(copy), "--database", str(place)]) == 2
    assert "is there already" in capsys.readouterr().err
    for file in tmp_path.glob("leader.sqlite*"):
        if file != copy:
            file.unlink()
    assert run(["restore", str(copy), "--database", str(place)]) == 0
    assert "are never collected" in capsys.readouterr().out
    engine = open_aggregator(place)  # upgraded again
    with engine.connect() as connection:
        assert connection.execute(restores.select()).scalar() > START
    engine.dispose()


def test_there_must_be_something_to_back_up(tmp_path, capsys):
    assert run(["backup", str(tmp_path / "b")]) == 2
    assert run(["backup", str(tmp_path / "b"), "--database", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "b").exists()
    capsys.readouterr()
    assert run(["backup", str(tmp_path), "--aggregate", str(tmp_path / "no.toml")]) == 2
    assert "no.toml: there is no such file" in capsys.readouterr().err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(DiscreetError, match="name another folder for each backup"):
        write_backup(tmp_path / "full", database=tmp_path / "s.sqlite")
    config = Config(database="none.sqlite", keys=[], tasks=[], path=Path(tmp_path / "x.toml"))
    with pytest.raises(DiscreetError, match="nothing to back up"):
        write_backup(tmp_path / "b", config=config)
