"""When the database was put back from a copy: what was open then is never released."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    """Add the table, unless a restore has made it already."""
    op.create_table(
        "dap_restores",
        sa.Column("time", sa.BigInteger, primary_key=True, autoincrement=False),
        if_not_exists=True,
    )
