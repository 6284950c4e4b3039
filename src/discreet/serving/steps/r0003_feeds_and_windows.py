"""Feeds, and what is learnt from the sums of windows; from here on revisions are counted by alembic.

Some databases have these tables already, made by versions between 0.2 and 0.3.
"""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0003", "0002"


def upgrade() -> None:
    """Add the tables. The setting that earlier versions look at tells them that this is too new for them."""
    op.create_table(
        "feeds",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("etag", sa.Text, nullable=False),
        sa.Column("modified", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("read_at", sa.BigInteger, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "feed_articles",
        sa.Column("feed", sa.String(64), primary_key=True),
        sa.Column("article", sa.String(120), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("left_at", sa.BigInteger),
        sa.Column("expired", sa.Boolean, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "windows",
        sa.Column("task", sa.String(64), primary_key=True),
        sa.Column("window", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("end", sa.BigInteger, nullable=False),
        sa.Column("cells", sa.Text, nullable=False),
        sa.Column("share", sa.LargeBinary, nullable=False),
        sa.Column("waits", sa.Boolean, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "learnt",
        sa.Column("model", sa.String(80), primary_key=True),
        sa.Column("sums", sa.BigInteger, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        if_not_exists=True,
    )
    op.execute("DELETE FROM settings WHERE name = 'schema'")
    op.execute("INSERT INTO settings (name, value) VALUES ('schema', '3')")
