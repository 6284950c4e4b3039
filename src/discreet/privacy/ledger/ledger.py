"""The ledger itself: debit, flush, and only then release."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from discreet.privacy.guarantee import Guarantee, Unit
from discreet.privacy.ledger.answer import LedgerAnswer, Origin
from discreet.privacy.ledger.budget import Budget, Schedule, cost
from discreet.privacy.ledger.debit import State, Tally
from discreet.privacy.ledger.debit_table import Ask, DebitTable, Header, cell_of
from discreet.privacy.ledger.ledger_errors import BudgetExhausted, LedgerError
from discreet.privacy.ledger.ledger_store import LedgerStore
from discreet.privacy.ledger.statement import Statement

Clock = Callable[[], float]


class Ledger:
    """A device's account of what its releases have cost, in a folder of its own.

    For every click, the sum of the ε of all releases computed from it is at most what the ledger says of its epoch,
    and that is at most the budget: also after a crash at any moment, with several processes at once, and whatever the
    clock shows. The first opening makes the folder; budget and schedule then hold for its life.

    Args:
        folder: Where the ledger lives. Readable by its owner only.
        budget: The most that one unit may cost over its life.
        schedule: When epochs begin; public, and the same for every device.
        clock: Seconds since 1970.
        timeout: For how many seconds to wait for another process.
    """

    def __init__(
        self, folder: Path, budget: Budget, schedule: Schedule, *, clock: Clock = time.time, timeout: float = 30.0
    ) -> None:
        self.budget = budget
        self.schedule = schedule
        self._clock = clock
        self._store = self._open_store(Path(folder), timeout)
        self._store.make_folder()
        with self._store.lock():
            if self._store.is_new():
                self._store.create(_new_header(budget, schedule, int(clock())))
            self._store.check_integrity()
            with self._store.reading() as book:
                header = book.header()
            if self._store.anchor() is None:
                with self._store.writing("no ledger was made"):
                    pass
        self._seen, self._forgotten = (header.created, header.latest), header.forgotten_through
        for name, ours, theirs in (("budget", budget, header.budget), ("schedule", schedule, header.schedule)):
            if ours != theirs:
                raise LedgerError(self._store.path, f"was started with another {name} ({theirs}), which holds for life")

    def current_epoch(self) -> int:
        """The epoch that a click of this moment belongs to, by the clock as it is now; 0 before the first.

        An epoch that the clock shows again is still paid for by the same debits.
        """
        now = int(self._clock())
        epoch = self._epoch_at(now)
        earliest, latest = map(self._epoch_at, self._seen)
        if not earliest <= epoch <= latest:
            with self._store.lock(), self._store.writing("the time could not be written down") as book:
                book.saw(now)
                self._seen = (book.header().created, book.header().latest)
        return epoch

    def first_epoch(self) -> int:
        """The first epoch that anything may be released from: that in which the ledger began, or was made to forget."""
        return max(self._epoch_at(self._seen[0]), self._forgotten + 1)

    def kept(self, purpose: str, epoch: int, *, part: str = "") -> LedgerAnswer | None:
        """The release that was made for a purpose and an epoch, as it was made, whatever it cost."""
        with self._store.lock(), self._store.reading() as book:
            kept = book.kept(purpose, cell_of(part), epoch)
        return None if kept is None else LedgerAnswer(*kept, Origin.KEPT)

    def is_paid(self, purpose: str, epoch: int, *, part: str = "") -> bool:
        """Whether anything was ever debited for this: then it was perhaps made."""
        paid = (purpose, epoch, cell_of(part))
        with self._store.lock(), self._store.reading() as book:
            return any((d.purpose, d.last_epoch, d.cell) == paid for d in book.debits())

    def release(
        self,
        purpose: str,
        epoch: int,
        guarantee: Guarantee,
        make: Callable[[], bytes],
        *,
        part: str = "",
        since: int | None = None,
        clicks: int | None = None,
        limit: float = math.inf,
        check: Callable[[], None] | None = None,
        fallback_to_old: bool = False,
    ) -> LedgerAnswer:
        """The release for a purpose and an epoch: the one that was made before, or a new one that is paid first.

        Nothing of `make` has run when the debit is on the disk, so whatever ends the process from then on, the debit
        stands. If no bytes were kept (the process was killed, or `make` failed), the next call pays once more.

        Args:
            purpose: What it is for. A click pays for each purpose separately.
            epoch: Whose clicks it is computed from.
            guarantee: What it costs each of these clicks.
            make: Computes the release, from clicks of this epoch (and part) only. Called at most once.
            part: Which part of the epoch it is computed from, if not all; such as one impression. Parts have no click
                in common, and which part a click is in must not depend on what was clicked.
            since: The first epoch whose clicks it is computed from, if not `epoch`.
            clicks: From how many clicks at most, for the sum over all clicks in the statement.
            limit: The most that one of these clicks may have cost afterwards, if that is less than the budget.
            check: Called before anything is paid; raises if the release cannot be made.
            fallback_to_old: When the budget is gone, answer with the newest release kept for this purpose and part.

        Raises:
            BudgetExhausted: The budget does not allow it, and there is no old release to answer with.
            LedgerError: The ledger cannot be used or written; no release was made, unless the line says so.
        """
        ask = Ask(purpose, epoch, guarantee, part, epoch if since is None else since, clicks)
        self.budget.require_same_terms(guarantee)
        with self._store.lock():
            with self._store.reading() as book:
                kept = book.kept(purpose, ask.cell, epoch)
                if kept is not None:
                    return LedgerAnswer(*kept, Origin.KEPT)
                now = int(self._clock())
                refusal = self._refusal(book, ask, now, limit)
                if refusal is not None:
                    old = book.kept(purpose, ask.cell, None) if fallback_to_old else None
                    if old is None:
                        raise refusal
                    return LedgerAnswer(*old, Origin.OLD)
            if check is not None:
                check()
            with self._store.writing("nothing was spent or released") as book:
                number = book.debit(ask, now, State.DEBITED)
                book.saw(now)
            payload = make()
            if not isinstance(payload, bytes):
                raise TypeError(f"make must return bytes, not {type(payload).__name__}; what it cost stays spent")
            with self._store.writing(
                "the release could not be kept and was not sent; what it cost stays spent"
            ) as book:
                book.keep(number, payload)
            return LedgerAnswer(payload, guarantee, epoch, Origin.FRESH)

    def forget(self) -> None:
        """Drop all kept releases and the names of parts. What was spent stays spent.

        Nothing is ever released again from the epochs up to the current one, whose clicks are being forgotten.
        """
        with self._store.lock(), self._store.writing("nothing was forgotten") as book:
            now = int(self._clock())
            book.saw(now)
            book.forget(self._epoch_at(now))
            self._forgotten = book.header().forgotten_through

    def statement(self) -> Statement:
        """What was spent, on what, since when."""
        with self._store.lock(), self._store.reading() as book:
            return Statement.of(book)

    @classmethod
    def recover(
        cls,
        folder: Path,
        budget: Budget,
        schedule: Schedule,
        *,
        clock: Clock = time.time,
        timeout: float = 30.0,
        through: int = 0,
    ) -> Ledger:
        """Go on with a ledger that is damaged, gone, or older than it should be (`LedgerUntrusted`).

        Nobody knows what was spent, so the whole budget of every click is written off: up to the current epoch, the
        latest that the anchor knows of, and `through`, the latest of which its owner has clicks. No release can have
        touched a later click, so later epochs begin with a full budget; for the unit `user` there is nothing left,
        ever. A damaged file is kept next to the new one.
        """
        store = LedgerStore(Path(folder), timeout)
        store.make_folder()
        with store.lock():
            store.write_off(_new_header(budget, schedule, int(clock())), through)
        return cls(folder, budget, schedule, clock=clock, timeout=timeout)

    def _open_store(self, folder: Path, timeout: float) -> LedgerStore:
        return LedgerStore(folder, timeout)

    def _epoch_at(self, now: int) -> int:
        return max(self.schedule.epoch_at(now), 0)

    def _refusal(self, book: DebitTable, ask: Ask, now: int, limit: float) -> BudgetExhausted | None:
        """Why this release may not be paid, if it may not; an epoch that has not begun is a programming error."""
        current = self._epoch_at(now)
        if ask.epoch > current:
            raise ValueError(f"epoch {ask.epoch} has not begun; it is epoch {current}")
        forgotten = book.header().forgotten_through
        if ask.since <= forgotten:
            reason = f"the history up to epoch {forgotten} was forgotten, nothing more is released from it"
            return BudgetExhausted(self._store.path, reason)
        unit, clicks = self.budget.unit, (ask.since, ask.epoch, ask.cell)
        debits = [d for d in book.debits() if unit is Unit.USER or d.touches(ask.since, ask.epoch)]
        spent = Tally.of(unit, debits).maximum(*clicks)
        after = Tally.of(unit, [*debits, ask.as_debit(0, now, State.DEBITED)]).maximum(*clicks)
        if after.epsilon <= min(self.budget.epsilon, limit) and after.delta <= self.budget.delta:
            return None
        wanted, gone = cost(ask.guarantee.epsilon, ask.guarantee.delta), cost(spent.epsilon, spent.delta)
        reason = f"'{ask.purpose}' of epoch {ask.epoch} would cost {wanted}, where {gone} of {self.budget} is spent"
        if limit < self.budget.epsilon:
            reason += f"; the limit is ε = {limit:g}"
        return BudgetExhausted(self._store.path, reason)


def _new_header(budget: Budget, schedule: Schedule, now: int) -> Header:
    return Header(secrets.token_hex(16), now, now, -1, budget, schedule)
