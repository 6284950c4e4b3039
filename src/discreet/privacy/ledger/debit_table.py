"""The debits as a database: its schema, and the few questions and entries the ledger has for it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.ledger.budget import Budget, Schedule
from discreet.privacy.ledger.debit import Debit, State

SCHEMA_VERSION = 2
APPLICATION_ID = 0x44495343

_SCHEMA = """
CREATE TABLE header (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    ledger TEXT NOT NULL, created INTEGER NOT NULL, latest INTEGER NOT NULL, forgotten_through INTEGER NOT NULL,
    epsilon REAL NOT NULL, delta REAL NOT NULL, unit TEXT NOT NULL, adjacency TEXT NOT NULL, adversary TEXT NOT NULL,
    start INTEGER NOT NULL, length INTEGER NOT NULL
) STRICT;
CREATE TABLE debit (
    number INTEGER PRIMARY KEY,
    time INTEGER NOT NULL, purpose TEXT NOT NULL, part TEXT, cell TEXT NOT NULL,
    first_epoch INTEGER NOT NULL, last_epoch INTEGER NOT NULL,
    epsilon REAL NOT NULL CHECK (epsilon >= 0), delta REAL NOT NULL CHECK (delta >= 0), clicks INTEGER,
    state TEXT NOT NULL, guarantee TEXT NOT NULL, payload BLOB, digest TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX one_release ON debit (purpose, cell, last_epoch) WHERE payload IS NOT NULL;
CREATE TRIGGER debits_stay BEFORE DELETE ON debit
    BEGIN SELECT RAISE (ABORT, 'a debit is never taken back'); END;
CREATE TRIGGER debits_keep_their_cost BEFORE UPDATE OF number, cell, first_epoch, last_epoch, epsilon, delta ON debit
    BEGIN SELECT RAISE (ABORT, 'a debit is never changed'); END;
"""

_DEBITS = (
    "SELECT number, time, purpose, cell, first_epoch, last_epoch, epsilon, delta, clicks, guarantee, part, state,"
    " digest FROM debit NOT INDEXED ORDER BY number"
)


@dataclass(frozen=True)
class Header:
    """What a ledger knows of itself. No epoch up to `forgotten_through` is ever released from again."""

    ledger: str
    created: int
    latest: int
    forgotten_through: int
    budget: Budget
    schedule: Schedule


@dataclass(frozen=True)
class Ask:
    """A release that is asked for, in checked form: what for, from which clicks, at which cost."""

    purpose: str
    epoch: int
    guarantee: Guarantee
    part: str
    since: int
    clicks: int | None

    def __post_init__(self) -> None:
        if not self.purpose:
            raise ValueError("a release needs a purpose")
        if not 0 <= self.since <= self.epoch:
            raise ValueError(f"epochs {self.since} to {self.epoch} are not a span of epochs counted from 0")
        if self.part and self.since != self.epoch:
            raise ValueError("a part belongs to one epoch, so a release from a part has no `since`")
        if self.clicks is not None and self.clicks < 0:
            raise ValueError(f"a release cannot be computed from {self.clicks} clicks")

    @property
    def cell(self) -> str:
        """What stands for the part in sums."""
        return cell_of(self.part)

    @classmethod
    def everything(cls, header: Header, now: int, through: int) -> Ask:
        """The whole budget of every click until now, or until an epoch, for when nobody knows what was spent."""
        budget = header.budget
        terms = (budget.unit, budget.adjacency, budget.adversary)
        whole = Guarantee(budget.epsilon, budget.delta, *terms, Scope.LIFETIME, Status.PROVED, "written off")
        return cls("unknown", max(header.schedule.epoch_at(now), through, 0), whole, "", 0, None)

    def as_debit(self, number: int, time: int, state: State) -> Debit:
        """What is written down when it is paid."""
        g = self.guarantee
        what = (number, time, self.purpose, self.part, self.since, self.epoch)
        return Debit(*what, g.epsilon, g.delta, self.clicks, state, g.mechanism, g.version, self.cell)


class DebitTable:
    """The database within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._debits: list[Debit] | None = None

    @property
    def schema_version(self) -> int:
        """0 for an empty file."""
        return int(self._one("PRAGMA user_version"))

    @property
    def is_ledger(self) -> bool:
        """Whether the file says that it is a ledger."""
        return int(self._one("PRAGMA application_id")) == APPLICATION_ID

    def create(self, header: Header) -> None:
        """Write the schema and the header."""
        for statement in _SCHEMA.strip().split(";\n"):
            self._connection.execute(statement)
        budget, schedule = header.budget, header.schedule
        row = (1, header.ledger, header.created, header.latest, header.forgotten_through, budget.epsilon, budget.delta)
        terms = (str(budget.unit), str(budget.adjacency), str(budget.adversary))
        self._connection.execute(
            "INSERT INTO header VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, *terms, schedule.start_seconds, schedule.length_seconds),
        )
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def is_empty(self) -> bool:
        """Whether nothing was ever written to the file."""
        return int(self._one("SELECT COUNT(*) FROM sqlite_schema")) == 0

    def quick_check(self) -> None:
        """Have sqlite look through the whole file."""
        verdict = str(self._one("PRAGMA quick_check(1)"))
        if verdict != "ok":
            raise sqlite3.DatabaseError(" ".join(verdict.split()))

    def header(self) -> Header:
        """The header, as it is now."""
        row = self._connection.execute("SELECT * FROM header").fetchone()
        if row is None:
            raise sqlite3.DatabaseError("the header is missing")
        _, ledger, created, latest, forgotten, epsilon, delta, unit, adjacency, adversary, start, length = row
        with _as_written():
            budget = Budget(epsilon, delta, Unit(unit), Adjacency(adjacency), Adversary(adversary))
            schedule = Schedule(datetime.fromtimestamp(start, UTC), timedelta(seconds=length))
        return Header(ledger, created, latest, forgotten, budget, schedule)

    def latest_number(self) -> int:
        """The number of the latest debit; 0 before the first."""
        return int(self._one("SELECT COALESCE(MAX(number), 0) FROM debit"))

    def debits(self) -> list[Debit]:
        """All debits, in the order they were paid, each with its place in the chain of digests."""
        if self._debits is not None:
            return self._debits
        digest = genesis(self.header())
        debits: list[Debit] = []
        with _as_written():
            for row in self._connection.execute(_DEBITS):
                digest = _chained(digest, row[:10])
                if digest != row[12]:
                    raise ValueError(f"debit {row[0]} does not match its digest")
                debits.append(_debit(row))
        self._debits = debits
        return debits

    def digest_of(self, number: int) -> str | None:
        """The digest of a debit, or that of the header for number 0; None if there is no such debit."""
        if number == 0:
            return genesis(self.header())
        row = self._connection.execute("SELECT digest FROM debit WHERE number = ?", (number,)).fetchone()
        return None if row is None else str(row[0])

    def kept(self, purpose: str, cell: str, epoch: int | None) -> tuple[bytes, Guarantee, int] | None:
        """The bytes, guarantee and epoch of a kept release; for `epoch` None, of the newest."""
        row = self._connection.execute(
            "SELECT payload, guarantee, last_epoch FROM debit NOT INDEXED WHERE purpose = ? AND cell = ?"
            " AND payload IS NOT NULL AND last_epoch = COALESCE(?, last_epoch) ORDER BY last_epoch DESC LIMIT 1",
            (purpose, cell, epoch),
        ).fetchone()
        if row is None:
            return None
        with _as_written():
            return bytes(row[0]), Guarantee.from_json(json.loads(row[1])), int(row[2])

    def debit(self, ask: Ask, time: int, state: State, number: int | None = None) -> int:
        """Write a debit down and return its number: the next one, unless a later one is given."""
        d = ask.as_debit(number or self.latest_number() + 1, time, state)
        self._debits = None
        guarantee = json.dumps(ask.guarantee.to_json())
        what = (d.number, d.time, d.purpose, d.cell, d.first_epoch, d.last_epoch, d.epsilon, d.delta, d.clicks)
        digest = _chained(self.digest_of(self.latest_number()) or "", (*what, guarantee))
        self._connection.execute(
            "INSERT INTO debit (number, time, purpose, cell, first_epoch, last_epoch, epsilon, delta, clicks,"
            " guarantee, part, state, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*what, guarantee, d.part, str(d.state), digest),
        )
        return d.number

    def keep(self, number: int, payload: bytes) -> None:
        """Store the bytes that a debit paid for."""
        self._connection.execute(
            "UPDATE debit SET payload = ?, state = ? WHERE number = ?", (payload, str(State.RELEASED), number)
        )
        self._debits = None

    def saw(self, now: int) -> None:
        """Remember the earliest and the latest time that the clock has shown."""
        self._connection.execute("UPDATE header SET latest = MAX(latest, ?), created = MIN(created, ?)", (now, now))

    def forget(self, through: int) -> None:
        """Drop bytes and the names of parts up to an epoch, and release nothing from these epochs again."""
        execute, self._debits = self._connection.execute, None
        execute("UPDATE debit SET payload = NULL WHERE last_epoch <= ?", (through,))
        change = "UPDATE debit SET state = ? WHERE state = ? AND last_epoch <= ?"
        execute(change, (str(State.FORGOTTEN), str(State.RELEASED), through))
        execute("UPDATE debit SET part = NULL WHERE part <> '' AND last_epoch <= ?", (through,))
        execute("UPDATE header SET forgotten_through = MAX(forgotten_through, ?)", (through,))

    def _one(self, query: str) -> int | str:
        value: int | str = self._connection.execute(query).fetchone()[0]
        return value


def cell_of(part: str) -> str:
    """What stands for a part in sums, when its name is forgotten too: a digest of the name; empty for a whole epoch."""
    return hashlib.sha256(part.encode()).hexdigest()[:32] if part else ""


def genesis(header: Header) -> str:
    """The digest with which the chain begins: of what holds for the ledger's life."""
    budget, schedule = header.budget, header.schedule
    terms = (budget.epsilon, budget.delta, str(budget.unit), str(budget.adjacency), str(budget.adversary))
    return _chained(header.ledger, (*terms, schedule.start_seconds, schedule.length_seconds))


def _chained(before: str, row: tuple[Any, ...]) -> str:
    return hashlib.sha256(ascii((before, *row)).encode()).hexdigest()


@lru_cache(maxsize=256)
def _made_by(guarantee: str) -> tuple[str, int]:
    fields = json.loads(guarantee)
    return fields["mechanism"], fields["version"]


def _debit(row: tuple[Any, ...]) -> Debit:
    number, time, purpose, cell, first, last, epsilon, delta, clicks, guarantee, part, state, _ = row
    mechanism, version = _made_by(guarantee)
    shown = f"part {cell[:6]}" if part is None else part
    what = (number, time, purpose, shown, first, last, epsilon, delta, clicks)
    return Debit(*what, State(state), mechanism, version, cell)


@contextmanager
def _as_written() -> Iterator[None]:
    """Values that this module never wrote mean that the file is damaged."""
    try:
        yield
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"impossible value: {error}") from error
