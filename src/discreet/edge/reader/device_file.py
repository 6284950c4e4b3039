"""A SQLite file of a device, readable by its owner only. Every change is one transaction, on the disk when it ends."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from discreet.errors import DiscreetError


def create_for_owner(path: Path) -> None:
    """Create an empty file that its owner alone can read, in a folder of which the same holds, where there is none.

    A file that is there is not opened: to close it would drop the locks that this process has on it (POSIX).
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


class DeviceFile:
    """The file, with the tables of `schema`. What is deleted is overwritten."""

    schema: ClassVar[str]
    contents: ClassVar[str]
    """What is in it, for errors."""
    synchronous: ClassVar[str] = "FULL"
    """SQLite's setting; EXTRA also keeps a commit whose journal would come back after a power cut."""

    def __init__(self, path: Path | str) -> None:
        self.path = path
        if isinstance(path, Path):
            create_for_owner(path)
        self._one_at_a_time = threading.Lock()
        try:
            self._connection = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
            for setting in ("journal_mode = DELETE", f"synchronous = {self.synchronous}", "secure_delete = ON"):
                self._connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        with self._transaction() as connection:
            for statement in self.schema.strip().split(";\n"):
                connection.execute(statement)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._one_at_a_time:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: sqlite3.Error) -> DiscreetError:
        return DiscreetError(f"{self.path}: the {self.contents} cannot be read or written ({error})")
