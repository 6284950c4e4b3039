"""How to open either kind of database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from discreet.errors import DiscreetError

BUSY_SECONDS = 2.0
POOL_SECONDS = 3.0
PATIENT_SECONDS = 60.0


def connecting_engine(database: str | Path, *, patient: bool = False, read_only: bool = False) -> Engine:
    """An engine for a SQLite file or a PostgreSQL URL. A patient one has no limits on time, for an operator's work.

    A SQLite commit returns when the log is on the disk (WAL, synchronous=FULL): what is acknowledged is kept.
    """
    address = str(database)
    url = address if "://" in address else f"sqlite:///{Path(address).absolute()}"
    if url.startswith("postgresql://"):
        url = url.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        engine = create_engine(url, pool_pre_ping=not url.startswith("sqlite"), pool_timeout=POOL_SECONDS)
    except (ArgumentError, ImportError) as error:
        raise DiscreetError(f"the database's address cannot be used: {error}") from error
    if engine.dialect.name == "sqlite" and read_only:
        return engine  # nothing is set up, since that would write
    if engine.dialect.name == "sqlite":
        event.listen(engine, "do_connect", _create_private)
        event.listen(engine, "connect", _set_up_patient_sqlite if patient else _set_up_sqlite)
    elif engine.dialect.name != "postgresql":
        raise DiscreetError(f"a database is a SQLite file or a postgresql:// URL, not {engine.dialect.name}")
    elif not patient:
        from discreet.database.postgres import limit

        limit(engine)
    return engine


@contextmanager
def using_database(database: str | Path) -> Iterator[None]:
    """What the database says is wrong is one line that names it."""
    try:
        yield
    except SQLAlchemyError as error:
        raise DiscreetError(f"{shown_database(database)}: the database cannot be used ({problem_of(error)})") from error


def sqlite_file(engine: Engine) -> Path | None:
    """The file of a SQLite database; None for PostgreSQL."""
    name = engine.url.database
    return Path(name) if engine.dialect.name == "sqlite" and name else None


def problem_of(error: SQLAlchemyError) -> str:
    """What a database says is wrong, in one line."""
    return str(getattr(error, "orig", error)).strip().splitlines()[0]


def shown_database(database: str | Path) -> str:
    """Where the database is, without the password."""
    address = str(database)
    head, sign, tail = address.rpartition("@")
    return f"{head.partition('://')[0]}://…@{tail}" if sign else address


def _create_private(_: Any, __: Any, arguments: list[Any], ___: Any) -> None:
    """Make the file, if it is not there, for its owner alone; SQLite gives its side files the same mode.

    A file that is there is not opened: to close it would drop the locks that other connections of this process have on
    it (POSIX), and the next process that leaves the database would then delete the log that is written to.
    """
    with suppress(OSError):  # it is there; or SQLite says better what is wrong
        os.close(os.open(arguments[0], os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _set_up_sqlite(connection: Any, _: Any) -> None:
    assert isinstance(connection, sqlite3.Connection)
    for pragma in (f"busy_timeout = {int(BUSY_SECONDS * 1000)}", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _set_up_patient_sqlite(connection: Any, record: Any) -> None:
    _set_up_sqlite(connection, record)
    connection.execute(f"PRAGMA busy_timeout = {int(PATIENT_SECONDS * 1000)}")
