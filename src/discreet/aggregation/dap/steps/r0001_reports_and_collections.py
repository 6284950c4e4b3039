"""The tables of version 0.2: reports, jobs, buckets, collections."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0001", None
_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "dap_tasks",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("forgotten", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "dap_seen",
        _task(),
        sa.Column("time", sa.BigInteger, primary_key=True),
        sa.Column("report_id", sa.LargeBinary, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dap_buckets",
        _task(),
        sa.Column("time", sa.BigInteger, primary_key=True),
        sa.Column("share", sa.LargeBinary, nullable=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("checksum", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "dap_collected",
        _task(),
        sa.Column("start", sa.BigInteger, primary_key=True),
        sa.Column("end", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "dap_answers",
        _task(),
        sa.Column("id", sa.LargeBinary, primary_key=True),
        sa.Column("kind", sa.String(20), primary_key=True),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "dap_jobs",
        sa.Column("number", _BIG, primary_key=True, autoincrement=True),
        sa.Column("task", sa.Integer, sa.ForeignKey("dap_tasks.number"), nullable=False),
        sa.Column("request", sa.LargeBinary),
    )
    op.create_table(
        "dap_reports",
        sa.Column("number", _BIG, primary_key=True, autoincrement=True),
        sa.Column("task", sa.Integer, sa.ForeignKey("dap_tasks.number"), nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("job", sa.BigInteger),
        sa.Column("report", sa.LargeBinary, nullable=False),
    )
    op.create_index("dap_reports_by_job", "dap_reports", ["task", "job", "number"])
    op.create_table(
        "dap_collections",
        _task(),
        sa.Column("id", sa.LargeBinary, primary_key=True),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("end", sa.BigInteger, nullable=False),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("interval", sa.LargeBinary),
        sa.Column("share_request", sa.LargeBinary),
        sa.Column("share", sa.LargeBinary),
        sa.Column("problem", sa.String(80)),
        sa.Column("answer", sa.LargeBinary),
    )


def _task() -> sa.Column[int]:
    return sa.Column("task", sa.Integer, sa.ForeignKey("dap_tasks.number"), primary_key=True)
