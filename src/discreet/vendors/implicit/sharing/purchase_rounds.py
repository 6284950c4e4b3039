"""The questions that all vendors answer together about purchases. A round is public; its answer is a noised sum."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from discreet.data.ratings import Ratings
from discreet.vendors.implicit.sharing import purchase_contributions as contributions
from discreet.vendors.sharing.contributions import UNIT, Floats, Integers

_MAX_LOADING = 1e3


@dataclass(frozen=True, eq=False)
class Sales:
    """How many users buy each item."""

    share: float
    sensitivity: float = field(default=float(UNIT), init=False)

    def contribution(self, ratings: Ratings) -> Integers:
        """A sum for each item."""
        return contributions.sales(ratings)

    def length(self, items: int) -> int:
        """One for each item."""
        return items


@dataclass(frozen=True, eq=False)
class SalesPairs:
    """Which popular items are bought by the same users."""

    share: float
    popular: Integers
    sensitivity: float = field(default=UNIT / math.sqrt(2), init=False)

    def contribution(self, ratings: Ratings) -> Integers:
        """The strict upper triangle of the popular items' Gram matrix."""
        return contributions.pairs(ratings, self.popular)

    def length(self, items: int) -> int:
        """One for each pair of popular items."""
        return len(self.popular) * (len(self.popular) - 1) // 2


@dataclass(frozen=True, eq=False)
class SalesProjections:
    """How items are bought by the users who lean to each public direction.

    Attributes:
        share: Of the budget.
        popular: The items that directions are about.
        basis: For each of them a row with its part in each direction.
        kept: The items that are asked for.
    """

    share: float
    popular: Integers
    basis: Floats
    kept: Integers
    sensitivity: float = field(default=float(UNIT), init=False)

    def __post_init__(self) -> None:
        if not (np.abs(self.basis) <= _MAX_LOADING).all():
            raise ValueError("a direction has numbers outside of what is allowed")

    def contribution(self, ratings: Ratings) -> Integers:
        """A row for each kept item."""
        return contributions.projections(ratings, self.popular, self.basis, self.kept)

    def length(self, items: int) -> int:
        """One for each kept item and direction."""
        return len(self.kept) * int(self.basis.shape[1])
