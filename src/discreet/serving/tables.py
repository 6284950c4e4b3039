"""The tables of a served run, the same in SQLite and PostgreSQL, and how to open either."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    text,
    update,
)
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from discreet.errors import DiscreetError

SCHEMA = 2
BUSY_SECONDS = 2.0
POOL_SECONDS = 3.0
_BIG = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()


def _links() -> list[Column[str]]:
    """What schema 2 added to an article."""
    return [Column(name, Text, nullable=False, server_default="") for name in ("url", "image", "section")]


settings = Table("settings", metadata, Column("name", String(80), primary_key=True), Column("value", Text))

counters = Table("counters", metadata, Column("name", String(80), primary_key=True), Column("value", BigInteger))

articles = Table(
    "articles",
    metadata,
    Column("id", String(120), primary_key=True),
    Column("state", String(10), nullable=False),
    Column("revision", BigInteger, nullable=False, unique=True),
    Column("model", String(80), nullable=False),
    Column("title", Text, nullable=False),
    Column("abstract", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("published", BigInteger, nullable=False),
    Column("first_shown", BigInteger, nullable=False),
    Column("shows", BigInteger, nullable=False),
    Column("topic", Integer, nullable=False),
    Column("lasting", Float, nullable=False),
    Column("scores", LargeBinary, nullable=False),
    Column("coordinates", LargeBinary, nullable=False),
    *_links(),
)

pending = Table(
    "pending",
    metadata,
    Column("number", _BIG, primary_key=True, autoincrement=True),
    Column("id", String(120), nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("abstract", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("published", BigInteger, nullable=False),
    Column("first_shown", BigInteger, nullable=False),
    Column("shows", BigInteger, nullable=False),
    *_links(),
)

reports = Table(
    "reports",
    metadata,
    Column("number", _BIG, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("kind", String(10), nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("version", String(80), nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("device", String(64)),
    Column("clicks", Integer),
    Column("slate", String(32), unique=True),
    Column("articles", Text),
    Column("release", LargeBinary, nullable=False),
    Index("one_sketch_of_a_device_and_epoch", "device", "epoch", unique=True),
    Column("received", BigInteger, nullable=False, server_default="0"),
    Index("reports_by_arrival", "received"),
)

sums = Table(
    "sums",
    metadata,
    Column("version", String(80), primary_key=True),
    Column("article", String(120), primary_key=True),
    Column("weight", Float, nullable=False),
    Column("value", Float, nullable=False),
    Column("changed", BigInteger, nullable=False),
)


def open_engine(database: str | Path) -> Engine:
    """An engine for a SQLite file or a PostgreSQL URL; its tables exist afterwards.

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
            from discreet.serving.postgres import limit

            limit(engine)
        metadata.create_all(engine)
    except (ArgumentError, ImportError) as error:
        raise DiscreetError(f"the database's address cannot be used: {error}") from error
    except SQLAlchemyError as error:
        problem = str(getattr(error, "orig", error)).strip().splitlines()[0]
        raise DiscreetError(f"{shown_database(database)}: the database cannot be opened ({problem})") from error
    return engine


def migrate(connection: Connection) -> None:
    """Bring a database of schema 1 to schema 2, in the transaction of `connection`."""
    schema = settings.c.name == "schema"
    mine = connection.execute(update(settings).where(schema & (settings.c.value == "1")).values(value="2"))
    if not mine.rowcount:
        return  # it is new, or another server was first
    for table in (articles, pending):
        for column in _links():
            add = f"ALTER TABLE {table.name} ADD COLUMN {column.name} TEXT NOT NULL DEFAULT ''"
            connection.execute(text(add))
    connection.execute(text("ALTER TABLE reports ADD COLUMN received BIGINT NOT NULL DEFAULT 0"))
    connection.execute(update(reports).values(received=reports.c.epoch))
    for index in reports.indexes:
        index.create(connection, checkfirst=True)


def shown_database(database: str | Path) -> str:
    """Where the database is, without the password."""
    address = str(database)
    head, sign, tail = address.rpartition("@")
    return f"{head.partition('://')[0]}://…@{tail}" if sign else address


def _set_up_sqlite(connection: Any, _: Any) -> None:
    assert isinstance(connection, sqlite3.Connection)
    for pragma in (f"busy_timeout = {int(BUSY_SECONDS * 1000)}", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
