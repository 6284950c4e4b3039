"""Backups: a folder with the databases of a server and an aggregator, and an aggregator's keys, tokens and tasks.

**No sum is released twice.** A database that is put back does not know which windows were collected since the backup
was made. If its aggregator collected one again, it would draw fresh noise, and whoever sees both sums can average the
noise away. So a restored aggregator never collects a window that had begun when it was restored: it writes down when
that was, in the same step that makes the database usable, and at every start forgets all windows up to then. What
devices sent for these windows is lost; what they send afterwards counts. The theorem (`aggregation.aggregator_noise`)
asks of an honest aggregator that it tells one share of a window only: each restored aggregator keeps to it by itself,
whatever the other one does.

Two things no program can see: a backup that is restored twice, and an old machine that goes on running with the
restored one.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile, copytree, which

from sqlalchemy import inspect

from discreet.aggregation.dap import tables as aggregator_tables
from discreet.aggregation.dap.config import Config, read_config
from discreet.database import Schema, check, using_database
from discreet.database.copies import copy_sqlite, is_copy, unmark
from discreet.database.engine import connecting_engine, shown_database
from discreet.errors import DiscreetError, InputError
from discreet.files import creating_folder, durable_file, make_private, replacing_folder, verify_folder
from discreet.serving import database_tables as serving_tables
from discreet.version import __version__

ABOUT = "backup.json"
FILES = "aggregator"
_SCHEMAS = {one.name: one for one in (serving_tables.SCHEMA, aggregator_tables.SCHEMA)}
_RESTORED = (
    "CREATE TABLE IF NOT EXISTS dap_restores (time BIGINT NOT NULL PRIMARY KEY)",
    "INSERT INTO dap_restores (time) VALUES ({now}) ON CONFLICT DO NOTHING",
)


@dataclass(frozen=True)
class Backup:
    """What a backup has.

    Attributes:
        time: When it was made, in seconds since 1970.
        databases: Of each kind of database, the name of its file.
        config: The name of the aggregator's configuration; None if there is none.
        left_out: Files that the configuration names outside of its folder.
    """

    time: int
    databases: dict[str, str]
    config: str | None = None
    left_out: tuple[str, ...] = ()


def write_backup(
    out: Path,
    database: str | Path | None = None,
    config: Config | None = None,
    clock: Callable[[], float] = time.time,
) -> Backup:
    """Copy databases, while they are used, and what an aggregator needs. Only the owner can read the folder."""
    places: list[tuple[Schema, str | Path]] = [] if database is None else [(serving_tables.SCHEMA, database)]
    if config is not None:
        places.append((aggregator_tables.SCHEMA, config.place))
    if out.is_dir() and any(out.iterdir()):
        raise DiscreetError(f"{out}: is not empty; name another folder for each backup")
    with replacing_folder(out) as draft:
        draft.chmod(0o700)
        began = int(clock())  # what is released while we copy counts as released after it
        files = {schema.name: _dump(place, schema, draft) for schema, place in places}
        left_out = () if config is None else tuple(_copy_files(config, draft / FILES))
        backup = Backup(began, files, None if config is None else config.path.name, left_out)
        about = {**vars(backup), "version": __version__, "left_out": list(left_out)}
        (draft / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        make_private(draft)
    return backup


def read_backup(folder: Path) -> Backup:
    """What a backup has; refused if a file is missing or changed."""
    verify_folder(folder)
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return Backup(about["time"], about["databases"], about["config"], tuple(about["left_out"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(folder / ABOUT, "is not the description of a backup") from error


def restore(
    folder: Path,
    database: str | Path | None = None,
    aggregator: Path | None = None,
    clock: Callable[[], float] = time.time,
) -> Backup:
    """Put a backup back: a served database to `database`, an aggregator's files and database to a new folder.

    Raises:
        DiscreetError: Something is there already, or the backup is damaged; nothing has been written then.
    """
    backup = read_backup(folder)
    now = int(max(clock(), backup.time))
    if ("serving" in backup.databases) != (database is not None):
        has = "a served database; say with --database where it goes" if database is None else "no served database"
        raise DiscreetError(f"{folder}: the backup has {has}")
    if (backup.config is not None) != (aggregator is not None):
        has = "an aggregator; say with --aggregate into which folder" if aggregator is None else "no aggregator"
        raise DiscreetError(f"{folder}: the backup has {has}")
    if database is not None:
        _require_empty(database, serving_tables.SCHEMA)
    if aggregator is not None:
        assert backup.config is not None
        place = read_config(folder / FILES / backup.config).database
        is_elsewhere = "://" in place or Path(place).is_absolute()
        if is_elsewhere:
            _require_empty(place, aggregator_tables.SCHEMA)
        with creating_folder(aggregator) as draft:
            copytree(folder / FILES, draft, dirs_exist_ok=True)
            make_private(draft)
            target = place if is_elsewhere else draft / place
            _put_back(folder / backup.databases["aggregator"], target, now)
    if database is not None:
        _put_back(folder / backup.databases["serving"], database, None)
    return backup


def restore_copy(copy: Path, database: Path, clock: Callable[[], float] = time.time) -> str:
    """Put back a SQLite file that was copied before an upgrade; which kind of database it is."""
    if not is_copy(copy):
        raise InputError(copy, "is neither a backup nor a copy of a database")
    kinds = [name for name, schema in _SCHEMAS.items() if check_copy(copy, schema) is not None]
    if not kinds:
        raise InputError(copy, "has none of the tables of Discreet")
    _require_empty(database, *_SCHEMAS.values())
    _put_back(copy, database, int(clock()) if "aggregator" in kinds else None)
    return kinds[-1]


def check_copy(copy: Path, schema: Schema) -> str | None:
    """The revision of a copy; None if it has no tables of this kind."""
    engine = connecting_engine(f"sqlite:///file:{copy.absolute()}?mode=ro&uri=true", read_only=True)
    try:
        with using_database(copy), engine.connect() as connection:
            return schema.revision(connection)
    finally:
        engine.dispose()


def _dump(place: str | Path, schema: Schema, folder: Path) -> str:
    """Write one database into the folder; the file's name."""
    with using_database(place):
        if check(place, schema) is None:
            raise DiscreetError(f"{shown_database(place)}: there is nothing to back up")
    if "://" not in str(place):
        copy_sqlite(Path(place), folder / f"{schema.name}.sqlite")
        return f"{schema.name}.sqlite"
    name = f"{schema.name}.sql"
    tables = [f"--table={table}" for table in (*schema.metadata.tables, f"{schema.name}_revision")]
    with durable_file(folder / name) as draft:
        _run("pg_dump", place, "--no-owner", "--no-privileges", f"--file={draft}", *tables)
    return name


def _put_back(source: Path, target: str | Path, restored: int | None) -> None:
    """Make a database of a dump; with the time at which an aggregator was restored, in the same step."""
    marks = [] if restored is None else [statement.format(now=restored) for statement in _RESTORED]
    if source.suffix == ".sql":
        if "://" not in str(target):
            raise DiscreetError(
                f"{target}: the backup is of PostgreSQL; name the postgresql:// URL of an empty database"
            )
        words = [word for mark in ["RESET search_path", *marks] for word in ("--command", mark)]
        options = ("--single-transaction", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={source}")
        _run("psql", target, *options, *words)
        return
    if "://" in str(target):
        raise DiscreetError("the backup is a SQLite file; name a file for it, not a postgresql:// URL")
    place = Path(target)
    with durable_file(place) as draft:
        copyfile(source, draft)
        with closing(sqlite3.connect(draft)) as connection:
            for mark in marks:
                connection.execute(mark)
            connection.commit()
        unmark(draft)


def _copy_files(config: Config, folder: Path) -> Iterator[str]:
    """Copy all that a configuration names; those that it names elsewhere, in the end, are left out."""
    home = config.path.parent.resolve()
    names = [*config.keys, *(name for task in config.tasks for name in task.values())]
    optional = (
        config.leader_token,
        config.helper_token,
        config.collector_token,
        config.collector_key,
        config.authorities,
        config.certificate,
        config.certificate_key,
    )
    folder.mkdir(mode=0o700)
    for name in dict.fromkeys([config.path.name, *names, *filter(None, optional)]):
        source = config.file(name)
        if not source.resolve().is_relative_to(home):
            yield str(source)
            continue
        target = folder / source.resolve().relative_to(home)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copyfile(source, target)
    if (cells := config.file(config.cells)).is_dir():
        copytree(cells, folder / config.cells)


def _require_empty(place: str | Path, *schemas: Schema) -> None:
    shown = shown_database(place)
    if "://" not in str(place):
        if Path(place).exists():
            raise DiscreetError(f"{shown}: is there already; a restore overwrites nothing, so move it away first")
        return
    engine = connecting_engine(place)
    try:
        with using_database(place), engine.connect() as connection:
            there = set(inspect(connection).get_table_names())
    finally:
        engine.dispose()
    if any(there & set(schema.metadata.tables) for schema in schemas):
        raise DiscreetError(f"{shown}: has tables already; a restore overwrites nothing, so name an empty database")


def _run(program: str, place: str | Path, *options: str) -> None:
    """Run one of PostgreSQL's programs on a database."""
    if which(program) is None:
        raise DiscreetError(f"{program} is not installed; it comes with PostgreSQL's client")
    url = str(place).replace("postgresql+psycopg://", "postgresql://", 1)
    done = subprocess.run([program, *options, f"--dbname={url}"], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        why = next((line for line in lines if "ERROR" in line or "error" in line), lines[-1])
        raise DiscreetError(f"{shown_database(place)}: {program} failed ({why})")
