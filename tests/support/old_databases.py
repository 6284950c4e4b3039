"""Databases as earlier versions of Discreet left them, in SQLite or PostgreSQL."""

from pathlib import Path

from sqlalchemy import create_engine, text

TABLES = Path(__file__).parents[1] / "serving" / "old_tables"
ARTICLE = {
    "id": "A1", "state": "listed", "revision": 1, "model": "m", "title": "storm at sea", "abstract": "",
    "category": "c", "published": 5, "first_shown": 5, "shows": 7, "topic": 0, "lasting": 0.5, "scores": b"\0\0\0\0",
    "coordinates": b"\1",
}  # fmt: skip
REPORT = {
    "number": 1, "id": "r1", "kind": "sketch", "digest": b"d", "version": "v", "epoch": 12, "device": "x", "clicks": 3,
    "release": b"noised",
}  # fmt: skip
WAITING = {
    "number": 4, "id": "A2", "title": "calm", "abstract": "", "category": "", "published": -1, "first_shown": 6,
    "shows": 0,
}  # fmt: skip


def old_engine(database):
    """An engine without anything of ours."""
    address = database if "://" in database else f"sqlite:///{database}"
    return create_engine(address.replace("postgresql:", "postgresql+psycopg:"))


def write_old_serving(database, version):
    """A database of `discreet serve` with an article, one that waits, and a report."""
    rows = {"articles": ARTICLE, "reports": REPORT, "pending": WAITING}
    rows["settings"] = {"name": "schema", "value": "1" if version == "0.1" else "2"}
    rows["counters"] = {"name": "revision", "value": 1}
    if version != "0.1":
        rows["reports"] = {**REPORT, "received": 13}
    _write(database, f"serving-{version}", rows)


def write_old_aggregator(database, task_id):
    """A database of an aggregator with a task, a collected window, and a report that waits."""
    rows = {
        "dap_tasks": {"number": 1, "id": task_id, "forgotten": 3},
        "dap_collected": {"task": 1, "start": 5, "end": 6},
        "dap_reports": {"number": 1, "task": 1, "time": 7, "report": b"sealed"},
    }
    _write(database, "aggregator-0.2", rows)


def _write(database, name, rows):
    engine = old_engine(database)
    made = (TABLES / f"{name}.sql").read_text().partition("\n")[2]
    if engine.dialect.name == "postgresql":
        made = made.replace("BLOB", "BYTEA").replace("WITHOUT ROWID", "")
        made = made.replace("number INTEGER", "number BIGSERIAL").replace(
            "dap_tasks ( number BIGSERIAL", "dap_tasks ( number SERIAL"
        )
    with engine.begin() as connection:
        for statement in filter(str.strip, made.split(";")):
            connection.exec_driver_sql(statement)
        for table, row in rows.items():
            names = ", ".join(f'"{name}"' for name in row)
            values = ", ".join(f":{name}" for name in row)
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)
    engine.dispose()
