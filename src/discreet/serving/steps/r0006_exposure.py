"""How often articles were shown, where the publisher logs it, and how much of that each task has summed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Two tables, and of a window whether its exposure was logged."""
    op.add_column("windows", sa.Column("logged", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "exposure",
        sa.Column("article", sa.String(120), primary_key=True),
        sa.Column("total", sa.Float, nullable=False),
    )
    op.create_table(
        "due",
        sa.Column("task", sa.String(64), primary_key=True),
        sa.Column("article", sa.String(120), primary_key=True),
        sa.Column("total", sa.Float, nullable=False),
    )
