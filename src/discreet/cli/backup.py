"""`discreet backup` and `discreet restore`: the databases, keys and tokens of a server and an aggregator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AsJson, print_json, say
from discreet.errors import DiscreetError, InputError


def backup(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A folder to write; readable for you alone.")],
    database: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A server's database: a SQLite file or a postgresql:// URL."),
    ] = None,
    aggregate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An aggregator's configuration: its database, keys, tokens and tasks."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy databases, while their servers run, and what an aggregator needs. Keep the copy as secret as the keys.

    Example: discreet backup copies/monday --database serving.sqlite --aggregate leader.toml
    """
    from discreet.aggregation.dap.config import read_config
    from discreet.serving.backup import write_backup

    if database is None and aggregate is None:
        raise DiscreetError("say what to back up: --database, --aggregate, or both")
    if database is not None and "://" not in database and not Path(database).is_file():
        raise DiscreetError(f"{database}: there is no such database")
    done = write_backup(out, database, None if aggregate is None else read_config(aggregate))
    if as_json:
        print_json({"backup": str(out), "databases": sorted(done.databases), "left_out": list(done.left_out)})
        return
    say(f"{out}: {' and '.join(sorted(done.databases))}")
    for file in done.left_out:
        say(f"  {file} lies elsewhere and is not in the backup")


def restore(
    backup: Annotated[
        Path, typer.Argument(metavar="BACKUP", help="A folder of 'discreet backup', or FILE.before-NNNN of an upgrade.")
    ],
    database: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where the database goes: a new file, or an empty PostgreSQL database."),
    ] = None,
    aggregate: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A new folder for the files of an aggregator.")
    ] = None,
) -> None:
    """Put a backup back, where nothing is yet. An aggregator will not collect windows that have begun by now.

    Example: discreet restore copies/monday --database serving.sqlite --aggregate leader
    """
    from discreet.database.copies import is_copy
    from discreet.serving.backup import restore, restore_copy

    if backup.is_file():
        if not is_copy(backup):
            raise InputError(backup, "is neither a backup nor a copy of a database")
        if database is None or "://" in database or aggregate is not None:
            raise DiscreetError(f"{backup}: is a copy of one SQLite file; say with --database where it goes")
        kind = restore_copy(backup, Path(database))
        say(f"{database}: the {kind} database as it was before its upgrade")
        is_aggregator = kind == "aggregator"
    else:
        done = restore(backup, database, aggregate)
        say(f"{backup}: restored {' and '.join(sorted(done.databases))}")
        for file in done.left_out:
            say(f"  {file} was not in the backup")
        is_aggregator = aggregate is not None
    if is_aggregator:
        say("Windows that have begun by now are never collected: their sums may have been released since the backup.")
        say("Let the old aggregator never run again, and restore this backup nowhere else.")
