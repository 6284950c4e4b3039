"""What was shown between two windows, also of articles that wait for their sum."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Of a window what was shown since the one before, and of an article how much of its exposure that was told of."""
    op.add_column("windows", sa.Column("shown", sa.LargeBinary))
    op.add_column("due", sa.Column("told", sa.Float, nullable=False, server_default="0"))
    op.execute("UPDATE due SET told = total")
