"""Audits of what vendors share, registered when this module is imported.

The adversary is a vendor that reads the sum, takes off its own contribution and noise and those of its colluders, and
knows all users of the others but one. Whether that user is there must be as hard to tell as (ε, δ) says: μ is compared
with what it allows a Gaussian mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.audits.audit_registry import Audit, register
from discreet.audits.black_box import BlackBox
from discreet.audits.noninterference import NonInterference
from discreet.audits.sampling import AHEAD
from discreet.audits.scores import Nearness, Outputs
from discreet.data.ratings import Items, Ratings
from discreet.privacy.guarantee import Status
from discreet.privacy.mechanisms.gaussian import analytic_multiplier
from discreet.privacy.noise import SecureNoise, SimulatedNoise
from discreet.vendors.sharing.contributions import Directions, Integers
from discreet.vendors.sharing.plan import converse
from discreet.vendors.sharing.sharing_budget import SharingBudget
from discreet.vendors.sharing.sharing_rounds import Opening, Pairs, Projections, Round, Vendor

_ITEMS = 10
_DELTA = 1e-5
_READER, _COLLUDER, _HOME, _FOURTH = range(4)

_ITEM = np.arange(_ITEMS)
_DIRECTIONS = Directions(
    np.zeros(_ITEMS), _ITEM.astype(np.int64), np.where(_ITEM % 2, 1.0, -1.0)[:, None], np.ones(_ITEMS)
)
_ALL_ROUNDS: tuple[Round, ...] = (
    Opening.even(0.4, _ITEMS),
    Pairs(0.2, _DIRECTIONS.offset, _DIRECTIONS.popular),
    Projections(0.4, _DIRECTIONS),
)


def vendor_of(users: Sequence[Sequence[float]], number: int = 0) -> Ratings:
    """A vendor whose users rated the first items so; 0 is no rating."""
    table = np.zeros((len(users), _ITEMS), np.float32)
    for row, values in zip(table, users, strict=True):
        row[: len(values)] = values
    user, item = np.nonzero(table)
    none: list[tuple[str, ...]] = [()] * _ITEMS
    names = [str(name) for name in range(_ITEMS)]
    return Ratings(
        name=f"vendor {number}",
        user=user.astype(np.int32),
        item=item.astype(np.int32),
        value=table[user, item],
        time=np.full(len(user), -1, np.int64),
        users=[f"{number}:{name}" for name in range(len(users))],
        items=Items(names, names, none, np.full(_ITEMS, -1, np.int32)),
        scale=(1.0, 5.0),
    )


_OTHERS = ((5, 3, 4, 1), (2, 2, 0, 5, 5, 1))
_TARGET = tuple(1 + 4 * (item % 2) for item in range(_ITEMS))


@dataclass(frozen=True)
class _Repeated:
    """A round that is asked so many times at once: the noise of each is fresh, as in any long vector."""

    asked: Round
    runs: int

    @property
    def share(self) -> float:
        return self.asked.share

    @property
    def sensitivity(self) -> float:
        return self.asked.sensitivity

    def contribution(self, ratings: Ratings) -> Integers:
        return np.tile(self.asked.contribution(ratings), self.runs)

    def length(self, items: int) -> int:
        return self.runs * self.asked.length(items)


@dataclass(frozen=True)
class ReaderView:
    """What is left of four vendors' sums to a reader and its colluder, in units of the noise that should hide users.

    One row for each run of all rounds. The sums come from `Vendor.answer` with secure noise, the shipped path.
    """

    rounds: tuple[Round, ...]
    epsilon: float
    target: bool

    def __call__(self, runs: int, seed: int) -> Outputs:
        """One row for each run. Secure noise has no seed."""
        home = (*_OTHERS, _TARGET) if self.target else _OTHERS
        vendors = [vendor_of(home if number == _HOME else _OTHERS, number) for number in range(4)]
        parties = [Vendor(vendor, self.budget, SecureNoise(AHEAD)) for vendor in vendors]
        columns = []
        for asked in self.rounds:
            answers = [party.answer(_Repeated(asked, runs)).values for party in parties]
            known = answers[_READER] + answers[_COLLUDER]
            columns.append(self._scaled(np.sum(answers, axis=0) - known, asked).reshape(runs, -1))
        return np.column_stack(columns)

    @property
    def budget(self) -> SharingBudget:
        """Four vendors, one of which colludes with the reader."""
        return SharingBudget(self.epsilon, _DELTA, vendors=4, colluders=1)

    def noiseless(self) -> list[float]:
        """What all runs would give without noise."""
        home = vendor_of((*_OTHERS, _TARGET) if self.target else _OTHERS)
        fourth = vendor_of(_OTHERS)
        sums = (self._scaled(a.contribution(home) + a.contribution(fourth), a) for a in self.rounds)
        return [float(value) for part in sums for value in part]

    def _scaled(self, sums: Integers, asked: Round) -> NDArray[np.float64]:
        return np.asarray(sums / self.budget.hidden_deviation(asked.sensitivity, asked.share))


def user_added(rounds: tuple[Round, ...], epsilon: float, setting: str, runs: int, mechanism: str = "sharing") -> Audit:
    """Whether a user is there, judged from all that a reader and its colluder see of these rounds."""
    there, away = ReaderView(rounds, epsilon, True), ReaderView(rounds, epsilon, False)
    score = Nearness(2, (there.noiseless(), away.noiseless()))
    allowed = 1 / analytic_multiplier(epsilon, _DELTA)
    examination = BlackBox(there, away, runs=runs, delta=_DELTA, gaussian=True, scores=(score,))
    return Audit(mechanism, setting, Status.PROVED, allowed, examination)


def questions_and_answers(reader: Ratings, releases: tuple[int, ...]) -> bytes:
    """All that the others do when the releases are given: which questions are asked, and what they answer."""
    budget = SharingBudget(10.0, _DELTA, vendors=3)
    others = [
        Vendor(vendor_of(_OTHERS, 1), budget, SimulatedNoise(1)),
        Vendor(vendor_of(_OTHERS, 2), budget, SimulatedNoise(2)),
    ]
    return _transcript([*others], reader, budget, releases, answers=True)


def questions(home: Ratings, releases: tuple[int, ...]) -> bytes:
    """Which questions are asked when the releases are given, whatever the ratings are."""
    budget = SharingBudget(10.0, _DELTA, vendors=3)
    others = [Vendor(vendor_of(_OTHERS, 1), budget, SimulatedNoise(1)), Vendor(home, budget, SimulatedNoise(2))]
    return _transcript(others, vendor_of(_OTHERS), budget, releases, answers=False)


def _transcript(
    others: list[Vendor], reader: Ratings, budget: SharingBudget, releases: tuple[int, ...], *, answers: bool
) -> bytes:
    own = Vendor(reader, budget, SimulatedNoise(3))
    sent: list[bytes] = []

    def ask(asked: Round) -> Integers:
        sent.append(_question(asked))
        given = [party.answer(asked).values for party in others]
        size = len(own.answer(asked).values)
        sent.extend(part.tobytes() if answers else str(len(part)).encode() for part in given)
        return np.resize(np.array(releases, np.int64), size)

    converse(ask, budget, _ITEMS)
    return b"\n".join(sent)


def _question(asked: Round) -> bytes:
    parts: list[bytes] = [type(asked).__name__.encode(), repr(asked.share).encode()]
    if isinstance(asked, Opening):
        parts += [asked.emphasis.tobytes(), asked.offset.tobytes()]
    if isinstance(asked, Pairs):
        parts += [asked.offset.tobytes(), asked.popular.tobytes()]
    if isinstance(asked, Projections):
        parts += [part.tobytes() for part in vars(asked.directions).values()]
    return b"|".join(parts)


_READERS = (vendor_of(_OTHERS), vendor_of(((1, 1, 1),)), vendor_of((_TARGET,) * 9), vendor_of(((0, 5), (4,), (3, 3))))
_SILENT, _LOUD = (2**36, -(2**37), 2**35, 3 * 2**36), (2**52, -(2**51), 2**53, 2**50, 3 * 2**51)

register(user_added((Opening.even(1.0, _ITEMS),), 1.0, "a user added, the opening alone, ε=1", 40_000))
register(user_added(_ALL_ROUNDS, 1.0, "a user added, all rounds, one colluder, ε=1", 20_000))
register(user_added(_ALL_ROUNDS, 10.0, "a user added, all rounds, one colluder, ε=10", 20_000))
for _releases, _which in ((_SILENT, "biases"), (_LOUD, "biases and directions")):
    for _device, _what in ((questions_and_answers, "others beside a reader's ratings"), (questions, "questions asked")):
        _examination = NonInterference(_device, _READERS, _releases)
        register(Audit("sharing", f"{_what}, {_which}", Status.PROVED, 0.0, _examination))
