"""Databases of earlier versions are brought up to date, with what is in them; and no table is without its step."""

import json
import stat
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from old_databases import old_engine, write_old_aggregator, write_old_serving
from sqlalchemy import inspect, select, text

from discreet.aggregation.dap import tables as dap
from discreet.cli import run
from discreet.database import check, open_engine, upgrade
from discreet.errors import DiscreetError
from discreet.serving import database_tables as serving
from discreet.serving.server_store import ServerStore

SCHEMAS = {"serving": serving.SCHEMA, "aggregator": dap.SCHEMA}
OLD = ("0.1", "0.2", "0.2-feeds")


def differences(engine, schema):
    """What alembic would change in a database to make it as the tables say."""
    mine = {*schema.metadata.tables, f"{schema.name}_revision"}
    options = {
        "include_name": lambda name, kind, _: kind != "table" or name in mine,
        "version_table": f"{schema.name}_revision",
    }
    with engine.connect() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=options), schema.metadata)


def columns(engine):
    found = inspect(engine)
    return {name: sorted((c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(name))
            for name in found.get_table_names()}  # fmt: skip


def is_postgres(database):
    return database.startswith("postgresql:")


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_steps_make_the_tables_that_the_code_uses(kind, database):
    """A table or a column that was added without a step is found here: write one in `steps`."""
    engine = open_engine(database, SCHEMAS[kind])
    assert differences(engine, SCHEMAS[kind]) == []
    assert check(database, SCHEMAS[kind]) == SCHEMAS[kind].newest
    engine.dispose()


@pytest.mark.parametrize("version", OLD)
def test_a_served_database_of_an_earlier_version_is_brought_up_to_date(version, database):
    write_old_serving(database, version)
    before = check(database, serving.SCHEMA)
    assert before == ("0001" if version == "0.1" else "0002")
    if is_postgres(database):
        with pytest.raises(DiscreetError, match=r"earlier version .*run 'discreet database upgrade'"):
            serving.open_engine(database)
        assert check(database, serving.SCHEMA) == before, "left as it was"
        assert run(["database", "upgrade", "--database", database]) == 0
    store = ServerStore(serving.open_engine(database))
    assert differences(store.engine, serving.SCHEMA) == []
    with store.engine.connect() as connection:
        assert connection.execute(select(serving.articles.c.title, serving.articles.c.url)).one() == (
            "storm at sea",
            "",
        )
        received = 12 if version == "0.1" else 13  # what came in an unknown epoch counts as of its own
        assert connection.execute(select(serving.reports.c.id, serving.reports.c.received)).one() == ("r1", received)
    assert [(number, one.id) for number, one in store.waiting(9)] == [(4, "A2")]
    assert store.setting("schema", "") == "3", "an earlier version says that it does not know this"
    store.close()


def test_what_was_summed_before_version_0_7_is_not_told_again(database):
    new = serving.open_engine(database)
    with new.begin() as connection:
        for change in (
            "ALTER TABLE due DROP COLUMN told",
            "ALTER TABLE windows DROP COLUMN shown",
            "INSERT INTO due (task, article, total) VALUES ('t', 'A1', 5.25)",
            "UPDATE serving_revision SET version_num = '0006'",
        ):
            connection.exec_driver_sql(change)
    new.dispose()
    assert upgrade(database, serving.SCHEMA).before == "0006"
    engine = serving.open_engine(database)
    assert differences(engine, serving.SCHEMA) == []
    with engine.connect() as connection:
        assert connection.execute(select(serving.due)).one() == ("t", "A1", 5.25, 5.25)
    engine.dispose()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_upgraded_file_and_a_new_one_are_the_same_and_a_copy_stays(database, tmp_path):
    write_old_serving(database, "0.1")
    upgraded, new = serving.open_engine(database), serving.open_engine(tmp_path / "new.sqlite")
    assert columns(upgraded) == columns(new)
    copy = Path(f"{database}.before-{serving.SCHEMA.newest}")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(old_engine(str(copy)).connect()) as connection:
        assert connection.execute(text("SELECT value FROM settings WHERE name = 'schema'")).scalar() == "1"
        assert not inspect(connection).has_table("sums")
    with pytest.raises(DiscreetError, match="is a copy of a database"):
        serving.open_engine(copy)
    copied = copy.stat().st_mtime_ns
    serving.open_engine(database).dispose()
    assert copy.stat().st_mtime_ns == copied, "nothing is copied where there is nothing to do"
    upgraded.dispose()
    new.dispose()


def test_an_aggregators_database_is_brought_up_to_date(database):
    """Of windows that were collected together none can be collected again."""
    write_old_aggregator(database, b"t" * 32)
    with old_engine(database).begin() as connection:
        connection.exec_driver_sql("INSERT INTO dap_collected VALUES (1, 8, 12)")
    assert upgrade(database, dap.SCHEMA).before == "0001"
    engine = dap.open_engine(database)
    assert differences(engine, dap.SCHEMA) == []
    with engine.connect() as connection:
        assert connection.execute(select(dap.collected.c.time)).scalars().all() == [5, 8]
        assert connection.execute(select(dap.tasks.c.forgotten)).scalar() == 12
        assert connection.execute(select(dap.reports.c.report)).scalar() == b"sealed"
    engine.dispose()


def test_a_step_that_fails_leaves_all_as_it_was(database):
    write_old_serving(database, "0.1")
    with old_engine(database).begin() as connection:  # so that the last step fails
        connection.exec_driver_sql("CREATE TABLE leases (name TEXT)")
    before = columns(old_engine(database))
    with pytest.raises(Exception, match="leases"):
        upgrade(database, serving.SCHEMA)
    assert columns(old_engine(database)) == before
    with old_engine(database).begin() as connection:
        connection.exec_driver_sql("DROP TABLE leases")
    assert upgrade(database, serving.SCHEMA).before == "0001"


def test_serving_and_aggregating_may_share_a_database(database):
    for schema in SCHEMAS.values():
        open_engine(database, schema).dispose()
    for schema in SCHEMAS.values():
        engine = open_engine(database, schema)
        assert differences(engine, schema) == []
        engine.dispose()


def test_a_database_of_a_later_version_is_left_alone(database):
    engine = serving.open_engine(database)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE serving_revision SET version_num = '9999'")
    with pytest.raises(DiscreetError, match=r"written by a later version of Discreet .*9999"):
        serving.open_engine(database)
    engine.dispose()


def test_operators_check_before_they_upgrade(database, capsys):
    write_old_serving(database, "0.2")
    assert run(["database", "check", "--database", database, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    newest = serving.SCHEMA.newest
    assert found["databases"] == [{"kind": "serving", "revision": "0002", "newest": newest, "current": False}]
    assert run(["database", "upgrade", "--database", database]) == 0
    assert f"0002 → {newest}" in capsys.readouterr().out
    assert run(["database", "check", "--database", database]) == 0
    assert "is current" in capsys.readouterr().out
    assert run(["database", "upgrade", "--database", database]) == 0
    assert "is current" in capsys.readouterr().out


def test_there_must_be_a_database_to_upgrade(tmp_path, capsys):
    assert run(["database", "upgrade", "--database", str(tmp_path / "none.sqlite")]) == 2
    assert "there is no such database" in capsys.readouterr().err
    assert not (tmp_path / "none.sqlite").exists()
