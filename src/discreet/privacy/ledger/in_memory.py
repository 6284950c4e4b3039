"""A ledger that is gone with its process, for audits that run thousands of devices: all of it but the disk."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.privacy.ledger.anchor import Anchor
from discreet.privacy.ledger.budget import Budget, Schedule
from discreet.privacy.ledger.debit_table import DebitTable, Header
from discreet.privacy.ledger.ledger import Clock, Ledger
from discreet.privacy.ledger.ledger_store import LedgerStore


class LedgerInMemory(Ledger):
    """The ledger's own accounts and refusals, in memory."""

    def __init__(self, budget: Budget, schedule: Schedule, *, clock: Clock = time.time) -> None:
        super().__init__(Path("memory"), budget, schedule, clock=clock)

    def _open_store(self, folder: Path, timeout: float) -> LedgerStore:
        return _StoreInMemory(folder, timeout)


class _StoreInMemory(LedgerStore):
    def __init__(self, folder: Path, timeout: float) -> None:
        super().__init__(folder, timeout)
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._anchor: Anchor | None = None

    @contextmanager
    def lock(self) -> Iterator[None]:
        yield

    def make_folder(self) -> None:
        pass

    def is_new(self) -> bool:
        return self._anchor is None

    def anchor(self) -> Anchor | None:
        return self._anchor

    @contextmanager
    def _transaction(self, consequence: str, *, write: bool, create: bool = False) -> Iterator[DebitTable]:
        self._connection.execute("BEGIN")
        try:
            yield DebitTable(self._connection)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _inode(self) -> int:
        return 0

    def _vouch(self, header: Header, number: int, head: str | None) -> None:
        self._anchor = Anchor(header.ledger, number, head or "", header.latest, 0)
