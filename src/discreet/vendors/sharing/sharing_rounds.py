"""The questions that all vendors answer together, and one vendor's side of it.

A round is public: it says what every vendor has to add up over its users. Its answer is one sum over all vendors, which
only a secure sum may form: a single vendor's answer has too little noise to be seen by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from discreet.aggregation.contribution import Contribution
from discreet.data.ratings import Ratings
from discreet.privacy.noise import Noise
from discreet.vendors.sharing import contributions
from discreet.vendors.sharing.contributions import UNIT, Directions, Floats, Integers
from discreet.vendors.sharing.sharing_budget import SharingBudget


class Round(Protocol):
    """One question: what to add up, which part of the budget it spends, how far one user moves the sum."""

    @property
    def share(self) -> float:
        """The share of the budget."""
        ...

    @property
    def sensitivity(self) -> float:
        """The largest L2 norm of one user's contribution, in lattice steps."""
        ...

    def contribution(self, ratings: Ratings) -> Integers:
        """The sum over one vendor's users."""
        ...

    def length(self, items: int) -> int:
        """How many values the sum has, for a catalogue of so many items."""
        ...


@dataclass(frozen=True, eq=False)
class Opening:
    """How high above a public offset, and how often, items are rated, with a public emphasis on some of them."""

    share: float
    emphasis: Floats
    offset: Floats
    sensitivity: float = field(default=float(UNIT), init=False)

    @classmethod
    def even(cls, share: float, items: int) -> Opening:
        """While nothing is known: no offset, and no item before another."""
        return cls(share, np.ones(items), np.zeros(items))

    def contribution(self, ratings: Ratings) -> Integers:
        """Sums, then counts."""
        return contributions.opening(ratings, self.emphasis, self.offset)

    def length(self, items: int) -> int:
        """Two for each item."""
        return 2 * items


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which popular items are liked by the same users."""

    share: float
    offset: Floats
    popular: Integers
    sensitivity: float = field(default=UNIT / math.sqrt(2), init=False)

    def contribution(self, ratings: Ratings) -> Integers:
        """The strict upper triangle of the covariance of popular items."""
        return contributions.pairs(ratings, self.offset, self.popular)

    def length(self, items: int) -> int:
        """One for each pair of popular items."""
        return len(self.popular) * (len(self.popular) - 1) // 2


@dataclass(frozen=True, eq=False)
class Projections:
    """How all items are liked by the users who lean to each public direction."""

    share: float
    directions: Directions
    sensitivity: float = field(default=float(UNIT), init=False)

    def contribution(self, ratings: Ratings) -> Integers:
        """A row of sums for each item."""
        return contributions.projections(ratings, self.directions)

    def length(self, items: int) -> int:
        """One for each item and direction."""
        return items * self.directions.rank


@dataclass(frozen=True, eq=False)
class Answered:
    """A round with the sum of all vendors' answers, noise included. Public among the vendors."""

    round: Round
    total: Integers


Ask = Callable[[Round], Integers]
"""Has a round answered by all vendors and gives back the sum of the answers."""
Course = Callable[[Ask, SharingBudget, int], list[Answered]]
"""Asks one round after the other, within a budget, about so many items."""


class Vendor:
    """One vendor's side: it answers rounds, each once, and remembers the noise that it added."""

    def __init__(self, ratings: Ratings, budget: SharingBudget, noise: Noise) -> None:
        self.ratings = ratings
        self._budget = budget
        self._noise = noise
        self._spent = 0.0
        self.added: list[Integers] = []

    def answer(self, asked: Round) -> Contribution:
        """What it adds up over its users, with its part of the noise, for the secure sum.

        Raises:
            ValueError: rounds would spend more than the budget. Nothing is answered then.
        """
        self._spend(asked)
        values = asked.contribution(self.ratings)
        return Contribution(values + self._add(asked, len(values)), self._budget.guarantee())

    def answered_before(self, asked: Round, length: int) -> None:
        """After a restart: the budget, and a simulated noise, are as they were after a round with so many values."""
        self._spend(asked)
        self._add(asked, length)

    def _spend(self, asked: Round) -> None:
        if not (asked.share > 0 and self._spent + asked.share <= 1 + 1e-9):
            raise ValueError(f"a round that spends {asked.share} of the budget is too much after {self._spent:.3g}")
        self._spent += asked.share

    def _add(self, asked: Round, length: int) -> Integers:
        sigma = self._budget.vendor_deviation(asked.sensitivity, asked.share)
        self.added.append(self._noise.discrete_gaussian(sigma, length))
        return self.added[-1]


def others(answered: Answered, own: Ratings, added: Integers) -> Floats:
    """What the others alone contributed, with their noise, in units: the reader's own share is taken off exactly."""
    return (answered.total - answered.round.contribution(own) - added) / UNIT
