"""The tables of a served run, the same in SQLite and PostgreSQL. A change here needs a step in `steps`."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Boolean,
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
    false,
    inspect,
    select,
)

from discreet.database import Schema
from discreet.database import open_engine as database_engine

_BIG = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()


def _links() -> list[Column[str]]:
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
    Column("lasting", Float, key="fixed_score", nullable=False),
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

feeds = Table(
    "feeds",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("etag", Text, nullable=False),
    Column("modified", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("read_at", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("private", Boolean),
)

feed_articles = Table(
    "feed_articles",
    metadata,
    Column("feed", String(64), primary_key=True),
    Column("article", String(120), primary_key=True),
    Column("guid", String(120), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("nearness", Integer, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("left_at", BigInteger),
    Column("expired", Boolean, nullable=False),
    Index("feeds_of_an_article", "article"),
)

article_names = Table(
    "article_names",
    metadata,
    Column("name", String(120), primary_key=True),
    Column("article", String(120), nullable=False),
)

windows = Table(
    "windows",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("window", BigInteger, primary_key=True, autoincrement=False),
    Column("end", BigInteger, nullable=False),
    Column("cells", Text, nullable=False),
    Column("share", LargeBinary, nullable=False),
    Column("waits", Boolean, nullable=False),
    Column("logged", Boolean, nullable=False, server_default=false()),
    Column("shown", LargeBinary),
)

exposure = Table(
    "exposure",
    metadata,
    Column("article", String(120), primary_key=True),
    Column("total", Float, nullable=False),
)

due = Table(
    "due",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("article", String(120), primary_key=True),
    Column("total", Float, nullable=False),
    Column("told", Float, nullable=False, server_default="0"),
)

learnt = Table(
    "learnt",
    metadata,
    Column("model", String(80), primary_key=True),
    Column("sums", BigInteger, nullable=False),
    Column("state", LargeBinary, nullable=False),
)

collected = Table(
    "collected",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("window", BigInteger, primary_key=True, autoincrement=False),
    Column("end", BigInteger, nullable=False),
    Column("terms", Text, nullable=False),
    Column("cells", Text, nullable=False),
    Column("contributions", BigInteger, nullable=False),
    Column("problem", Text, nullable=False),
    Column("values", LargeBinary, nullable=False),
)

model_versions = Table(
    "model_versions",
    metadata,
    Column("number", _BIG, primary_key=True, autoincrement=True),
    Column("version", String(64), nullable=False, unique=True),
    Column("model", String(80), nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("sums", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("state", LargeBinary),
)


leases = Table(
    "leases",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("holder", String(32), nullable=False),
    Column("until", Float, nullable=False),
)


def open_engine(database: str | Path) -> Engine:
    """An engine for the database of a served run."""
    return database_engine(database, SCHEMA)


def _unnumbered(connection: Connection) -> str | None:
    """Up to version 0.2 a setting had the number of the schema."""
    if not inspect(connection).has_table(settings.name):
        return None
    number = connection.execute(select(settings.c.value).where(settings.c.name == "schema")).scalar()
    return None if number is None else f"{int(number):04}"


SCHEMA = Schema("serving", metadata, Path(__file__).parent / "steps", _unnumbered)
