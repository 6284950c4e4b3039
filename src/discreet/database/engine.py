"""How to open either kind of database."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, MetaData, create_engine, event
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from discreet.errors import DiscreetError

BUSY_SECONDS = 2.0
POOL_SECONDS = 3.0


def open_engine(database: str | Path, metadata: MetaData) -> Engine:
    """An engine for a SQLite file or a PostgreSQL URL; the tables of `metadata` exist afterwards.

    A SQLite commit returns when the log is on the disk (WAL, synchronous=FULL): what is acknowledged is kept.
    """
    address = str(database)
    url = address if "://" in address else f"sqlite:///{Path(address).absolute()}"
    if url.startswith("postgresql://"):
        url = url.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        engine = create_engine(url, pool_pre_ping=not url.startswith("sqlite"), pool_timeout=POOL_SECONDS)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _set_up_sqlite)
        elif engine.dialect.name != "postgresql":
            raise DiscreetError(f"a database is a SQLite file or a postgresql:// URL, not {engine.dialect.name}")
        else:
            from discreet.database.postgres import limit

            limit(engine)
        metadata.create_all(engine)
    except (ArgumentError, ImportError) as error:
        raise DiscreetError(f"the database's address cannot be used: {error}") from error
    except SQLAlchemyError as error:
        raise DiscreetError(
            f"{shown_database(database)}: the database cannot be opened ({problem_of(error)})"
        ) from error
    return engine


def problem_of(error: SQLAlchemyError) -> str:
    """What a database says is wrong, in one line."""
    return str(getattr(error, "orig", error)).strip().splitlines()[0]


def shown_database(database: str | Path) -> str:
    """Where the database is, without the password."""
    address = str(database)
    head, sign, tail = address.rpartition("@")
    return f"{head.partition('://')[0]}://…@{tail}" if sign else address


def _set_up_sqlite(connection: Any, _: Any) -> None:
    assert isinstance(connection, sqlite3.Connection)
    for pragma in (f"busy_timeout = {int(BUSY_SECONDS * 1000)}", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
