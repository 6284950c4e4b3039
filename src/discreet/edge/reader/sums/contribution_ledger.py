"""The ledger of contributions: a budget a day and a cap for life, kept by a filter over all tasks ever."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from discreet.aggregation.task import DAY, Task
from discreet.edge.reader.sums.floors import Floors, is_one_party
from discreet.privacy.filter import Spent
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Unit, shown_epsilon
from discreet.privacy.ledger import BudgetExhausted, Ledger, LedgerMissing, LedgerUntrusted, read_statement
from discreet.privacy.ledger.budget import Budget, Schedule
from discreet.privacy.ledger.debit import Debit, State
from discreet.privacy.ledger.debit_table import Ask, DebitTable
from discreet.privacy.ledger.in_memory import LedgerInMemory
from discreet.privacy.ledger.ledger import Clock

_ON_ONE_MACHINE = ", both on one machine"
"""Ends the mechanism of a debit whose two aggregators were one party."""

DAYS = Schedule(datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=DAY))


@dataclass(frozen=True)
class SumsStatement:
    """What contributions have cost, with whom and for how long it was agreed.

    Attributes:
        today: The ε of the latest day on which anything was paid.
        life: The ε of all days together.
        budget: The most for life, with its δ.
        max_day_epsilon: The most a day.
        debits: All payments, the oldest first.
    """

    today: float
    life: float
    budget: Budget
    max_day_epsilon: float
    debits: tuple[Debit, ...]

    @property
    def is_trial(self) -> bool:
        """Whether anything was ever given to two aggregators on one machine: no ε holds against who runs that."""
        return any(debit.mechanism.endswith(_ON_ONE_MACHINE) for debit in self.debits)

    def __str__(self) -> str:
        trial = "both aggregators were on one machine, and whoever runs it sees all (ε = ∞). Else " * self.is_trial
        return (
            f"Sums over all readers: {trial}the latest day cost ε = {shown_epsilon(self.today)} of at most"
            f" {shown_epsilon(self.max_day_epsilon)}, all days together ε = {shown_epsilon(self.life)} of at most"
            f" {shown_epsilon(self.budget.epsilon)} (δ = {self.budget.delta:.3g}, per reader, zero out, against the"
            f" {self.budget.adversary})"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "today": self.today,
            "life": self.life,
            "budget": self.budget.to_json(),
            "max_day_epsilon": self.max_day_epsilon,
            "is_trial": self.is_trial,
            "debits": [debit.to_json() for debit in self.debits],
        }


class SumsLedger(Ledger):
    """A ledger whose unit is the reader: all contributions count together, by the filter of `privacy.filter`."""

    max_day_epsilon: float

    def pay(self, task: Task, window: int) -> bool:
        """Pay for a window's contribution, once in its period; False if the budget does not allow it."""
        try:
            self.release(_purpose(task), _day(task, window), _guarantee(task), bytes, part=_part(task, window))
        except BudgetExhausted:
            return False
        return True

    def has_paid(self, task: Task, window: int) -> bool:
        """Whether the period of a window was ever paid for."""
        return self.is_paid(_purpose(task), _day(task, window), part=_part(task, window))

    def spent(self) -> SumsStatement:
        """What was paid."""
        debits = self.statement().debits
        last = max((debit.last_epoch for debit in debits), default=0)
        delta = self.budget.delta
        today = _spent(debit for debit in debits if debit.last_epoch == last).at(delta)
        return SumsStatement(today, _spent(debits).at(delta), self.budget, self.max_day_epsilon, debits)

    def _refusal(self, book: DebitTable, ask: Ask, now: int, limit: float) -> BudgetExhausted | None:
        new = ask.as_debit(0, now, State.DEBITED)
        debits, delta = [*book.debits(), new], self.budget.delta
        day = _spent(debit for debit in debits if debit.last_epoch == ask.epoch).at(delta)
        if day <= self.max_day_epsilon and _spent(debits).at(delta) <= self.budget.epsilon:
            return None
        return BudgetExhausted(self._store.path, "the reader's budget for sums is used up, for the day or for life")


class SumsLedgerInMemory(SumsLedger, LedgerInMemory):
    """The same without a disk, for audits."""


def open_sums_ledger(folder: Path, floors: Floors, clock: Callable[[], float], *, was_used: bool) -> SumsLedger:
    """The ledger in a folder. The life's ε and δ are those of the first opening.

    A ledger that cannot be trusted, or is gone though it was used, is written off. A reader is one unit, so there is
    nothing left then: the device contributes no more.
    """
    budget = sums_budget(floors)
    try:
        budget = read_statement(folder).budget
        ledger = SumsLedger(folder, budget, DAYS, clock=clock)
    except LedgerMissing:
        if was_used:
            ledger = SumsLedger.recover(folder, budget, DAYS, clock=clock)  # type: ignore[assignment]
        else:
            ledger = SumsLedger(folder, budget, DAYS, clock=clock)
    except LedgerUntrusted:
        SumsLedger.recover(folder, budget, DAYS, clock=clock)
        ledger = SumsLedger(folder, read_statement(folder).budget, DAYS, clock=clock)
    ledger.max_day_epsilon = floors.max_day_epsilon
    return ledger


def ledger_in_memory(floors: Floors, clock: Clock) -> SumsLedger:
    """A ledger without a disk."""
    ledger = SumsLedgerInMemory(sums_budget(floors), DAYS, clock=clock)
    ledger.max_day_epsilon = floors.max_day_epsilon
    return ledger


def sums_budget(floors: Floors) -> Budget:
    """What a device promises its reader for life."""
    terms = (Unit.USER, Adjacency.ZERO_OUT, Adversary.PUBLISHER_AND_AGGREGATOR)
    return Budget(floors.max_life_epsilon, floors.delta, *terms)


def _spent(debits: Iterable[Debit]) -> Spent:
    return Spent.of((debit.epsilon, debit.delta) for debit in debits)


def _guarantee(task: Task) -> Guarantee:
    """What is paid; a debit remembers that the aggregators were one party."""
    paid = task.guarantee()
    return replace(paid, mechanism=paid.mechanism + _ON_ONE_MACHINE) if is_one_party(task) else paid


def _purpose(task: Task) -> str:
    return f"sum {task.id.hex()}"


def _part(task: Task, window: int) -> str:
    return f"{task.per} {task.period(window)}"


def _day(task: Task, window: int) -> int:
    """The day on which a window begins."""
    return DAYS.epoch_at(task.begins(window))
