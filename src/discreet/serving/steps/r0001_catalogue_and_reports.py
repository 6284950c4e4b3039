"""The tables of version 0.1: settings, the catalogue, and reports."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0001", None
_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make them."""
    op.create_table("settings", sa.Column("name", sa.String(80), primary_key=True), sa.Column("value", sa.Text))
    op.create_table("counters", sa.Column("name", sa.String(80), primary_key=True), sa.Column("value", sa.BigInteger))
    op.create_table(
        "articles",
        sa.Column("id", sa.String(120), primary_key=True),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False, unique=True),
        sa.Column("model", sa.String(80), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("abstract", sa.Text, nullable=False),
        sa.Column("category", sa.Text, nullable=False),
        sa.Column("published", sa.BigInteger, nullable=False),
        sa.Column("first_shown", sa.BigInteger, nullable=False),
        sa.Column("shows", sa.BigInteger, nullable=False),
        sa.Column("topic", sa.Integer, nullable=False),
        sa.Column("lasting", sa.Float, nullable=False),
        sa.Column("scores", sa.LargeBinary, nullable=False),
        sa.Column("coordinates", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "pending",
        sa.Column("number", _BIG, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(120), nullable=False, unique=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("abstract", sa.Text, nullable=False),
        sa.Column("category", sa.Text, nullable=False),
        sa.Column("published", sa.BigInteger, nullable=False),
        sa.Column("first_shown", sa.BigInteger, nullable=False),
        sa.Column("shows", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "reports",
        sa.Column("number", _BIG, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("version", sa.String(80), nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("device", sa.String(64)),
        sa.Column("clicks", sa.Integer),
        sa.Column("slate", sa.String(32), unique=True),
        sa.Column("articles", sa.Text),
        sa.Column("release", sa.LargeBinary, nullable=False),
    )
    op.create_index("one_sketch_of_a_device_and_epoch", "reports", ["device", "epoch"], unique=True)
