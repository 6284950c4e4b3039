"""Copies of a SQLite database, made while others write to it.

A copy is marked in its own header (`PRAGMA user_version`). Who opened it as a database would go on from an old state:
an aggregator would forget which sums it has released, and release them again with other noise. So it is refused, until
`discreet restore` has put it back.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from discreet.errors import InputError

_COPY = 0x0C0B1E5


def copy_sqlite(source: Path, target: Path) -> None:
    """A copy of a database at one moment, for its owner alone. It is on the disk when this returns, or not there."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    draft = Path(name)
    try:
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(draft)) as new:
            old.backup(new)
            new.execute("PRAGMA journal_mode = DELETE")  # one file, without a log next to it
            new.execute(f"PRAGMA user_version = {_COPY}")
            new.commit()
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(target)
    except sqlite3.Error as error:
        raise InputError(source, f"cannot be copied ({error})") from error
    finally:
        draft.unlink(missing_ok=True)


def is_copy(path: Path) -> bool:
    """Whether a file is a copy that nobody has put back."""
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            return bool(file.execute("PRAGMA user_version").fetchone()[0] == _COPY)
    except sqlite3.Error:
        return False  # whatever it is, it is no copy of ours


def unmark(path: Path) -> None:
    """Let a copy be a database again."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 0")
        file.commit()
