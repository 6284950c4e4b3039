"""`discreet database`: the tables of a server's and an aggregator's database, for operators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import AsJson, print_json, say
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.database import Schema

app = typer.Typer(
    help="The tables of a database: which version they are of, and how to upgrade them.", no_args_is_help=True
)

Database = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A server's database: a SQLite file or a postgresql:// URL."),
]
Aggregator = Annotated[
    Path | None,
    typer.Option("--aggregate", metavar="FILE", help="An aggregator's configuration: the database that it names."),
]


@app.command()
def check(database: Database = None, aggregate: Aggregator = None, as_json: AsJson = False) -> None:
    """Say which revision a database has; the exit code is 1 if it must be upgraded.

    Example: discreet database check --database postgresql://discreet@db.example/discreet
    """
    from discreet.database import check, using_database

    found = []
    for place, schema in _databases(database, aggregate):
        with using_database(place):
            revision = check(place, schema)
        found.append((schema, revision))
    if as_json:
        lines = [
            {"kind": schema.name, "revision": revision, "newest": schema.newest, "current": revision == schema.newest}
            for schema, revision in found
        ]
        print_json({"databases": lines})
    else:
        for schema, revision in found:
            is_current = revision == schema.newest
            say(f"{schema.name}: revision {revision}, {'is current' if is_current else f'now {schema.newest}'}")
    if any(revision != schema.newest for schema, revision in found):
        raise typer.Exit(1)


@app.command()
def upgrade(database: Database = None, aggregate: Aggregator = None, as_json: AsJson = False) -> None:
    """Bring a database up to date. Stop its servers first; of a SQLite file a copy stays next to it.

    Example: discreet database upgrade --database postgresql://discreet@db.example/discreet
    """
    from discreet.database import upgrade, using_database

    lines = []
    for place, schema in _databases(database, aggregate):
        with using_database(place):
            done = upgrade(place, schema)
        copy = None if done.copy is None else str(done.copy)
        lines.append({"kind": schema.name, "before": done.before, "after": done.after, "copy": copy})
        if not as_json:
            changed = f"{done.before} → {done.after}" if done.before != done.after else f"{done.after} is current"
            say(f"{schema.name}: revision {changed}{f'; the old one is {copy}' if copy else ''}")
    if as_json:
        print_json({"databases": lines})


def _databases(database: str | None, aggregate: Path | None) -> Iterator[tuple[str | Path, Schema]]:
    from discreet.serving.database_tables import SCHEMA
    from discreet.serving.server import DATABASE

    if database is not None or aggregate is None:
        yield _existing(database or DATABASE), SCHEMA
    if aggregate is not None:
        from discreet.aggregation.dap import tables
        from discreet.aggregation.dap.config import read_config

        yield _existing(read_config(aggregate).place), tables.SCHEMA


def _existing(place: str | Path) -> str | Path:
    if "://" not in str(place) and not Path(place).is_file():
        raise DiscreetError(f"{place}: there is no such database")
    return place
