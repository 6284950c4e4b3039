"""One release is one window: what is collected is a time. Of a release of many windows all are forgotten."""

from alembic import op

revision, down_revision = "0003", "0002"


def upgrade() -> None:
    """Name the windows instead of intervals."""
    wide = 'SELECT MAX("end") FROM dap_collected WHERE task = dap_tasks.number AND "end" > start + 1'
    op.execute(f"UPDATE dap_tasks SET forgotten = ({wide}) WHERE forgotten < ({wide})")
    for table in ("dap_collected", "dap_collections"):
        op.execute(f"ALTER TABLE {table} RENAME COLUMN start TO time")
        op.drop_column(table, "end")
    op.drop_column("dap_collections", "interval")
