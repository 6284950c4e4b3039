"""Names of articles, and which feed an article's title and link come from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add them; feeds are read anew."""
    op.drop_table("feeds")
    op.create_table(
        "feeds",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("etag", sa.Text, nullable=False),
        sa.Column("modified", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("read_at", sa.BigInteger, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("private", sa.Boolean),
    )
    op.drop_table("feed_articles")
    op.create_table(
        "feed_articles",
        sa.Column("feed", sa.String(64), primary_key=True),
        sa.Column("article", sa.String(120), primary_key=True),
        sa.Column("guid", sa.String(120), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("nearness", sa.Integer, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("left_at", sa.BigInteger),
        sa.Column("expired", sa.Boolean, nullable=False),
    )
    op.create_index("feeds_of_an_article", "feed_articles", ["article"])
    op.create_table(
        "article_names",
        sa.Column("name", sa.String(120), primary_key=True),
        sa.Column("article", sa.String(120), nullable=False),
        if_not_exists=True,
    )
