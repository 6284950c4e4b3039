"""The tables of version 0.2: links of articles, sums of labels, and in which epoch a report came."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    """Add them. A report that is there counts as received in its own epoch."""
    for table in ("articles", "pending"):
        for name in ("url", "image", "section"):
            op.add_column(table, sa.Column(name, sa.Text, nullable=False, server_default=""))
    op.add_column("reports", sa.Column("received", sa.BigInteger, nullable=False, server_default="0"))
    op.execute("UPDATE reports SET received = epoch")
    op.create_index("reports_by_arrival", "reports", ["received"])
    op.create_table(
        "sums",
        sa.Column("version", sa.String(80), primary_key=True),
        sa.Column("article", sa.String(120), primary_key=True),
        sa.Column("weight", sa.Float, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("changed", sa.BigInteger, nullable=False),
        if_not_exists=True,
    )
