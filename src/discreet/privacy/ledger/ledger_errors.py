"""What can go wrong with a ledger, each as one line; and sqlite's and the system's errors put into such lines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import DiscreetError

_SQLITE_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "cannot be written (read-only)",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_PERM: "may not be opened",
    sqlite3.SQLITE_IOERR: "cannot be read or written (is the disk full or gone?)",
}


class LedgerError(DiscreetError):
    """The ledger cannot do what was asked; where a release was asked for, none was made unless the line says so."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        super().__init__(f"{path}: {problem}")


class BudgetExhausted(LedgerError):  # noqa: N818
    """What the release would cost is more than some click it is computed from has left. Nothing was spent."""


class LedgerBusy(LedgerError):  # noqa: N818
    """Another process held the ledger for longer than this one was willing to wait. Nothing was spent."""


class LedgerMissing(LedgerError):  # noqa: N818
    """There is no ledger."""


class LedgerUntrusted(LedgerError):  # noqa: N818
    """The file is damaged, missing, or older than what was last written: what it says may be too little.

    Nothing is released from it. `Ledger.recover` writes off every epoch until now, and goes on with the next.
    """


@contextmanager
def plain_errors(path: Path, consequence: str) -> Iterator[None]:
    """Turn an error of sqlite or of the file system into one line about `path` that ends with `consequence`."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerBusy(path, f"is in use by another program; {consequence}") from error
        if code in _SQLITE_REASONS:
            raise LedgerError(path, f"{_SQLITE_REASONS[code]}; {consequence}") from error
        said = " ".join(str(error).split())[:200]
        raise LedgerUntrusted(path, f"is damaged ({said}); {consequence}; recover the ledger to go on") from error
    except UnicodeDecodeError as error:
        raise LedgerUntrusted(path, f"is damaged (no text); {consequence}; recover the ledger to go on") from error
    except OSError as error:
        where = Path(error.filename) if isinstance(error.filename, str) else path
        raise LedgerError(where, f"{error.strerror or error}; {consequence}") from error
