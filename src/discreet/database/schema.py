"""The tables of a database, and the steps that lead to them from those of earlier versions.

Each step is a revision of alembic, in a folder next to the tables. A new database goes all the way, so that there is
one way to make tables. Old SQLite files are upgraded when they are opened, after a copy. A PostgreSQL database, which
other servers may be using, is upgraded when its operator says so (`discreet database upgrade`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, MetaData, column, inspect, select, table
from sqlalchemy.exc import SQLAlchemyError

from discreet.database.copies import copy_sqlite, is_copy
from discreet.database.engine import connecting_engine, problem_of, shown_database, sqlite_file
from discreet.errors import DiscreetError

_LOCK = 0x64_69_73_63
"""The number of the advisory lock that upgrades of one PostgreSQL database wait for."""


@dataclass(frozen=True)
class Schema:
    """The tables of a kind of database.

    Attributes:
        name: Of the kind; the table `{name}_revision` has the revision.
        metadata: The tables.
        steps: The folder of the revisions.
        unnumbered: The revision of a database that has no such table yet; None if it has no tables at all.
    """

    name: str
    metadata: MetaData
    steps: Path
    unnumbered: Callable[[Connection], str | None]

    @property
    def newest(self) -> str:
        """The latest revision."""
        head = _script(self.steps).get_current_head()
        assert head is not None
        return head

    def revision(self, connection: Connection) -> str | None:
        """The revision of a database; None if it is empty."""
        version = table(f"{self.name}_revision", column("version_num"))
        if inspect(connection).has_table(version.name):
            return connection.execute(select(version.c.version_num)).scalar()
        return self.unnumbered(connection)

    def require_known(self, revision: str | None, shown: str) -> None:
        """Refuse a database of a later version."""
        if revision is not None and revision not in {one.revision for one in _script(self.steps).walk_revisions()}:
            raise DiscreetError(
                f"{shown}: the database was written by a later version of Discreet (its {self.name} revision is"
                f" {revision}; this version knows {self.newest}); upgrade Discreet"
            )


@dataclass(frozen=True)
class Upgraded:
    """What an upgrade did.

    Attributes:
        before: The revision that it found; None for an empty database.
        after: The revision now.
        copy: The copy of the SQLite file as it was; None if there was nothing to copy.
    """

    before: str | None
    after: str
    copy: Path | None = None


def open_engine(database: str | Path, schema: Schema) -> Engine:
    """An engine for a SQLite file or a PostgreSQL URL, which has the tables of this version.

    Raises:
        DiscreetError: It cannot be opened, is a copy, or its operator has to upgrade it first.
    """
    engine = connecting_engine(database)
    try:
        before, newest = _found(engine, database, schema), schema.newest
        if before != newest:
            if before is not None and engine.dialect.name == "postgresql":
                raise DiscreetError(
                    f"{shown_database(database)}: the database is of an earlier version ({schema.name} revision"
                    f" {before}, now {newest}); stop its servers and run 'discreet database upgrade'"
                )
            upgrade(database, schema)
    except SQLAlchemyError as error:
        raise DiscreetError(
            f"{shown_database(database)}: the database cannot be opened ({problem_of(error)})"
        ) from error
    return engine


def check(database: str | Path, schema: Schema) -> str | None:
    """The revision of a database, which is left as it is; None if it is empty."""
    engine = connecting_engine(database, patient=True)
    try:
        return _found(engine, database, schema)
    finally:
        engine.dispose()


def upgrade(database: str | Path, schema: Schema) -> Upgraded:
    """Take all steps that a database has not taken yet, in one transaction; of a SQLite file there is a copy first."""
    engine = connecting_engine(database, patient=True)
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            before, newest = schema.revision(connection), schema.newest
            schema.require_known(before, shown_database(database))
            copy, file = None, sqlite_file(engine)
            if file is not None and before not in (None, newest):
                copy = file.with_name(f"{file.name}.before-{newest}")
                copy_sqlite(file, copy)  # what is committed, and nobody can commit more while we hold the lock
            _take_steps(connection, schema, before)
    finally:
        engine.dispose()
    return Upgraded(before, newest, copy)


def _found(engine: Engine, database: str | Path, schema: Schema) -> str | None:
    file = sqlite_file(engine)
    if file is not None and is_copy(file):
        raise DiscreetError(f"{file}: is a copy of a database; put it back with 'discreet restore'")
    with engine.connect() as connection:
        revision = schema.revision(connection)
    schema.require_known(revision, shown_database(database))
    return revision


def _take_steps(connection: Connection, schema: Schema, before: str | None) -> None:
    script = _script(schema.steps)
    version_table = f"{schema.name}_revision"
    with EnvironmentContext(Config(), script, fn=lambda now, _: script._upgrade_revs("head", now)) as environment:
        environment.configure(connection=connection, transactional_ddl=True, version_table=version_table)
        if before is not None:
            environment.get_context().stamp(script, before)
        environment.run_migrations()


@lru_cache
def _script(steps: Path) -> ScriptDirectory:
    return ScriptDirectory(str(steps), version_locations=[str(steps)])
