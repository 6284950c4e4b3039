"""A debit, and how debits add up for a click: the ledger's arithmetic, without any file."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from discreet.privacy.guarantee import Unit
from discreet.protocol.infinity import to_plain


class State(StrEnum):
    """What became of a debit's release."""

    DEBITED = "never finished"
    RELEASED = "released"
    FORGOTTEN = "forgotten"
    WRITTEN_OFF = "written off"


@dataclass(frozen=True)
class Debit:
    """One payment: what was released at most, computed from which clicks, at which cost.

    Attributes:
        number: 1, 2, 3, … in the order of payment; never used twice.
        time: Seconds since 1970, by the device's clock.
        purpose: What the release is for, such as "sketch" or "label".
        part: The part of the epoch it is computed from, such as one impression; empty for all of it.
        first_epoch: The first epoch whose clicks it is computed from.
        last_epoch: The last one.
        epsilon: What each of these clicks pays.
        delta: The same, in δ.
        clicks: From how many clicks at most it is computed, for the sum of all clicks; None where nobody said.
        state: What became of the release.
        mechanism: Which mechanism, and `version` which one of it.
        version: The mechanism's version.
        cell: What stands for the part in sums: a digest of its name, which stays when the name is forgotten.
    """

    number: int
    time: int
    purpose: str
    part: str
    first_epoch: int
    last_epoch: int
    epsilon: float
    delta: float
    clicks: int | None
    state: State
    mechanism: str
    version: int
    cell: str = ""

    def touches(self, first: int, last: int) -> bool:
        """Whether it concerns any epoch from `first` to `last`."""
        return self.last_epoch >= first and self.first_epoch <= last

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values; the time in ISO form."""
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__ if name != "cell"},
            "time": datetime.fromtimestamp(self.time, UTC).isoformat(),
            "epsilon": to_plain(self.epsilon),
            "state": str(self.state),
        }


@dataclass(frozen=True)
class Spend:
    """A sum of (ε, δ) by basic composition. Each sum is exact, then rounded once to the nearest float."""

    epsilon: float = 0.0
    delta: float = 0.0


@dataclass
class Tally:
    """What each click has paid, from the debits that may have read it.

    A click of epoch k and part p pays for every debit whose epochs include k and whose part is p or empty. For the
    unit `user` there is nothing disjoint: every debit is paid by the same one.
    """

    unit: Unit
    _of_many_epochs: list[Debit] = field(default_factory=list)
    _of_epoch: dict[int, dict[str, list[Debit]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    @classmethod
    def of(cls, unit: Unit, debits: Iterable[Debit]) -> Tally:
        """Sort the debits by what they touch."""
        tally = cls(unit)
        for debit in debits:
            if unit is Unit.USER or debit.first_epoch != debit.last_epoch:
                tally._of_many_epochs.append(debit)
            else:
                tally._of_epoch[debit.first_epoch][debit.cell or debit.part].append(debit)
        return tally

    def at(self, epoch: int, part: str = "") -> Spend:
        """The most that a click of this epoch has paid, in ε and in δ; of one part of it, if a part is named."""
        parts = self._of_epoch.get(epoch, {})
        whole = [d for d in self._of_many_epochs if self._covers(d, epoch)] + parts.get("", [])
        cells = [parts.get(part, [])] if part else [paid for name, paid in parts.items() if name]
        sums = [_add(whole + cell) for cell in cells] or [_add(whole)]
        return Spend(max(s.epsilon for s in sums), max(s.delta for s in sums))

    def maximum(self, first: int, last: int, part: str = "") -> Spend:
        """The most that a click of any epoch from `first` to `last` has paid, in one part of each if it is named.

        The sum over the covering debits can rise only where one of them begins, so these epochs are enough.
        """
        begins = {first, *self._of_epoch, *(d.first_epoch for d in self._of_many_epochs)}
        spends = [self.at(epoch, part) for epoch in begins if first <= epoch <= last]
        return Spend(max(s.epsilon for s in spends), max(s.delta for s in spends))

    def _covers(self, debit: Debit, epoch: int) -> bool:
        return self.unit is Unit.USER or debit.first_epoch <= epoch <= debit.last_epoch


def all_clicks(unit: Unit, debits: Iterable[Debit]) -> Spend | None:
    """What all clicks together have paid at most, by group privacy; None where a number of clicks is not known.

    A release that is (ε, δ)-private for one click is (nε, n·e^{(n−1)ε}·δ)-private for all the n it is computed from.
    """
    epsilons, deltas = [], []
    for debit in debits:
        if unit is Unit.USER:
            clicks = 1
        elif debit.clicks is None:
            return None
        else:
            clicks = debit.clicks
        if clicks and debit.epsilon:
            epsilons.append(clicks * debit.epsilon)
        if clicks and debit.delta:
            growth = (clicks - 1) * debit.epsilon if clicks > 1 else 0.0
            deltas.append(min(1.0, clicks * debit.delta * math.exp(growth)) if growth < 700 else 1.0)
    return Spend(math.fsum(epsilons), min(1.0, math.fsum(deltas)))


def _add(debits: list[Debit]) -> Spend:
    return Spend(math.fsum(d.epsilon for d in debits), math.fsum(d.delta for d in debits))
