"""The ledger's folder: the lock, the database and its anchor, and what must be true of them before they are used."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from discreet.files import flush
from discreet.privacy.ledger.anchor import Anchor
from discreet.privacy.ledger.debit import State
from discreet.privacy.ledger.debit_table import SCHEMA_VERSION, Ask, DebitTable, Header
from discreet.privacy.ledger.ledger_errors import LedgerBusy, LedgerError, LedgerUntrusted, plain_errors

_UNTRUSTED = "what it says may be too little, so nothing is released; recover the ledger to go on"


class LedgerStore:
    """A folder, readable by its owner only, with `debits.sqlite`, `anchor.json` and `lock`.

    The database has a rollback journal that is deleted, and synchronous=EXTRA: a commit returns when the debit is on
    the disk and the journal's removal too. With FULL the journal may come back after a power failure and undo a debit
    whose release is out; a write-ahead log would keep the latest debits in a second file, which a copy easily misses.
    """

    def __init__(self, folder: Path, timeout: float) -> None:
        self.folder = folder
        self.path = folder / "debits.sqlite"
        self._anchor_path = folder / "anchor.json"
        self._timeout = timeout

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the ledger against all other processes and threads. The lock ends with the process, however it ends."""
        with plain_errors(self.folder, "nothing was spent or released"):
            handle = os.open(self.folder / "lock", os.O_RDONLY | os.O_CREAT, 0o600)
        try:
            self._wait_for(handle)
            yield
        finally:
            os.close(handle)

    def make_folder(self) -> None:
        """Make the folder if there is none, and flush it: a power failure must not take it with its debits."""
        with plain_errors(self.folder, "no ledger was made"):
            missing = [place for place in (self.folder, *self.folder.parents) if not place.exists()]
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for place in missing:
                flush(place.parent)

    def is_new(self) -> bool:
        """Whether there is neither a ledger nor the trace of one, but perhaps the trace of a making cut short."""
        if self.anchor() is not None:
            return False
        if not self.path.exists():
            return True
        with self._transaction("no ledger was made", write=False) as book:
            return book.is_empty()

    def create(self, header: Header) -> None:
        """Start an empty ledger: the database first, then the anchor that vouches for it."""
        with self._transaction("no ledger was made", write=True, create=True) as book:
            book.create(header)
            head = book.digest_of(0)
        self._vouch(header, 0, head)

    def anchor(self) -> Anchor | None:
        """What the database must at least be; None before the first debit of a ledger whose making was cut short."""
        with plain_errors(self._anchor_path, "nothing was spent or released"):
            return Anchor.read(self._anchor_path)

    @contextmanager
    def reading(self) -> Iterator[DebitTable]:
        """The database, verified, to read."""
        with self._transaction("nothing was spent or released", write=False) as book:
            self._verify(book)
            yield book

    @contextmanager
    def writing(self, consequence: str) -> Iterator[DebitTable]:
        """The database, verified, to write; when the block ends all of it is on the disk, and the anchor after it."""
        with self._transaction(consequence, write=True) as book:
            self._verify(book)
            yield book
            header, number = book.header(), book.latest_number()
            head = book.digest_of(number)
        anchor = self.anchor()
        if anchor is None or (number, header.latest) != (anchor.debits, anchor.latest):
            self._vouch(header, number, head)

    def check_integrity(self) -> None:
        """Read the whole file, to find any damage."""
        with self._transaction("nothing was spent or released", write=False) as book:
            self._verify_version(book)
            book.quick_check()
            book.header()
            book.debits()

    def write_off(self, fresh: Header, through: int) -> None:
        """Spend all until now, or until an epoch, in a ledger that is not trusted, which makes it one that is.

        `fresh` becomes its header if nothing that can be read is left. Until the anchor is written, which comes last,
        the ledger is as untrusted as before, or has the write-off in it.
        """
        try:
            anchor = self.anchor()
        except LedgerUntrusted:
            anchor = None
        if anchor is not None:
            fresh = replace(fresh, ledger=anchor.ledger, latest=max(fresh.latest, anchor.latest))
        readable = self._is_readable()
        if not readable:
            self._put_aside()
        with self._transaction("nothing was written off", write=True, create=not readable) as book:
            if not readable:
                book.create(fresh)
            book.saw(fresh.latest)
            header = book.header()
            number = max(book.latest_number(), anchor.debits if anchor else 0) + 1
            everything = Ask.everything(header, header.latest, through)
            book.debit(everything, header.latest, State.WRITTEN_OFF, number)
            head = book.digest_of(number)
        self._vouch(header, number, head)

    def _is_readable(self) -> bool:
        try:
            self.check_integrity()
        except LedgerUntrusted:
            return False
        return True

    def _put_aside(self) -> None:
        with plain_errors(self.path, "nothing was written off"):
            for leftover in (self.path, self.path.with_name(self.path.name + "-journal")):
                if leftover.exists():
                    leftover.replace(leftover.with_name(f"{leftover.name}.untrusted-{time.time_ns()}"))

    def _wait_for(self, handle: int) -> None:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise LedgerBusy(self.folder, "another process holds the ledger; nothing was spent") from None
                time.sleep(0.002)
            else:
                return

    def _connect(self, *, create: bool) -> sqlite3.Connection:
        if create:
            with suppress(FileExistsError):  # to open and close one that is there would drop this process's locks on it
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            flush(self.folder)
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw", uri=True, timeout=self._timeout, isolation_level=None
        )
        for setting in ("journal_mode = DELETE", "synchronous = EXTRA", "fullfsync = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    @contextmanager
    def _transaction(self, consequence: str, *, write: bool, create: bool = False) -> Iterator[DebitTable]:
        with plain_errors(self.path, consequence):
            if not create and not self.path.exists():
                raise LedgerUntrusted(self.path, f"is gone: {_UNTRUSTED}")
            with closing(self._connect(create=create)) as connection:
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield DebitTable(connection)
                connection.execute("COMMIT")

    def _verify_version(self, book: DebitTable) -> None:
        version = book.schema_version
        if version < SCHEMA_VERSION or not book.is_ledger:
            raise LedgerUntrusted(self.path, f"is empty, or older than this Discreet can check: {_UNTRUSTED}")
        if version > SCHEMA_VERSION:
            reason = f"was written by a newer Discreet (ledger version {version}, this one knows {SCHEMA_VERSION})"
            raise LedgerError(self.path, f"{reason}; update Discreet")

    def _verify(self, book: DebitTable) -> None:
        """The database is the anchor's own, and has the debits that the anchor has seen, each with its digest."""
        self._verify_version(book)
        book.debits()
        anchor, number = self.anchor(), book.latest_number()
        if anchor is None:
            if number:
                raise LedgerUntrusted(self._anchor_path, f"is gone, and may have known of more debits: {_UNTRUSTED}")
        elif anchor.ledger != book.header().ledger:
            raise LedgerUntrusted(self.path, f"is another ledger's than the anchor's: {_UNTRUSTED}")
        elif number < anchor.debits:
            raise LedgerUntrusted(self.path, f"has {number} debits where there were {anchor.debits}: {_UNTRUSTED}")
        elif book.digest_of(anchor.debits) != anchor.head:
            raise LedgerUntrusted(self.path, f"has other debits than there were: {_UNTRUSTED}")
        elif self._inode() != anchor.inode:
            raise LedgerUntrusted(self.path, f"is a copy or was put back from a backup: {_UNTRUSTED}")

    def _inode(self) -> int:
        return self.path.stat().st_ino

    def _vouch(self, header: Header, number: int, head: str | None) -> None:
        """Bring the anchor up to the database, which is on the disk already."""
        with plain_errors(self._anchor_path, "nothing was released, though a debit may stand"):
            anchor = Anchor(header.ledger, number, head or "", header.latest, self._inode())
            anchor.write(self._anchor_path)
