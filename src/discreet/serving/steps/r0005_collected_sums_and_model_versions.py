"""Sums that were collected, and the versions of what was learnt from them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Two tables."""
    op.create_table(
        "collected",
        sa.Column("task", sa.String(64), primary_key=True),
        sa.Column("window", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("end", sa.BigInteger, nullable=False),
        sa.Column("terms", sa.Text, nullable=False),
        sa.Column("cells", sa.Text, nullable=False),
        sa.Column("contributions", sa.BigInteger, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("values", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "model_versions",
        sa.Column("number", _BIG, primary_key=True, autoincrement=True),
        sa.Column("version", sa.String(64), nullable=False, unique=True),
        sa.Column("model", sa.String(80), nullable=False),
        sa.Column("made", sa.BigInteger, nullable=False),
        sa.Column("sums", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("state", sa.LargeBinary),
    )
