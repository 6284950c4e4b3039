"""The tables of an aggregator, the same in SQLite and PostgreSQL. A change here needs a step in `steps`.

A leader and a helper have a database each.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    inspect,
)

from discreet.database import Schema
from discreet.database import open_engine as database_engine

_BIG = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()


def _task() -> Column[int]:
    return Column("task", Integer, ForeignKey("dap_tasks.number"), primary_key=True)


tasks = Table(
    "dap_tasks",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", LargeBinary, nullable=False, unique=True),
    Column("forgotten", BigInteger, nullable=False),  # nothing is known, and nothing taken, of what is before
)

seen = Table(  # the ids of reports: a leader's were uploaded, a helper's counted
    "dap_seen",
    metadata,
    _task(),
    Column("time", BigInteger, primary_key=True),
    Column("report_id", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)

buckets = Table(  # what reports of one time add up to
    "dap_buckets",
    metadata,
    _task(),
    Column("time", BigInteger, primary_key=True),
    Column("share", LargeBinary, nullable=False),
    Column("reports", BigInteger, nullable=False),
    Column("checksum", LargeBinary, nullable=False),
)

collected = Table(  # windows whose share was noised and fixed; they take no more reports
    "dap_collected",
    metadata,
    _task(),
    Column("time", BigInteger, primary_key=True),
)

answers = Table(  # a helper's answers, so that a request that comes again has the same one
    "dap_answers",
    metadata,
    _task(),
    Column("id", LargeBinary, primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("time", BigInteger, nullable=False),  # the latest that it is about
    Column("body", LargeBinary, nullable=False),
)

jobs = Table(  # a leader's aggregation jobs that are not finished
    "dap_jobs",
    metadata,
    Column("number", _BIG, primary_key=True, autoincrement=True),
    Column("task", Integer, ForeignKey("dap_tasks.number"), nullable=False),
    Column("request", LargeBinary),  # as it was first sent, and is sent again
)

reports = Table(  # a leader's reports that are not counted or dropped yet
    "dap_reports",
    metadata,
    Column("number", _BIG, primary_key=True, autoincrement=True),
    Column("task", Integer, ForeignKey("dap_tasks.number"), nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("job", BigInteger),
    Column("report", LargeBinary, nullable=False),
    Index("dap_reports_by_job", "task", "job", "number"),
)

collections = Table(  # a leader's collection jobs
    "dap_collections",
    metadata,
    _task(),
    Column("id", LargeBinary, primary_key=True),
    Column("time", BigInteger, nullable=False),
    Column("request", LargeBinary, nullable=False),  # the collector's
    Column("share_request", LargeBinary),  # for the helper; with it the batch is closed
    Column("share", LargeBinary),  # the leader's, noised and sealed; it never changes
    Column("problem", String(80)),
    Column("answer", LargeBinary),
)

restores = Table(  # when the database was put back from a copy
    "dap_restores", metadata, Column("time", BigInteger, primary_key=True, autoincrement=False)
)


def open_engine(database: str | Path) -> Engine:
    """An engine for the database of an aggregator."""
    return database_engine(database, SCHEMA)


def _unnumbered(connection: Connection) -> str | None:
    """Version 0.2 had the tables of the first step, and no number."""
    return "0001" if inspect(connection).has_table(tasks.name) else None


SCHEMA = Schema("aggregator", metadata, Path(__file__).parent / "steps", _unnumbered)
