"""Differentially private averages of ratings: of all, and of each item (the thesis' Algorithms 1 and 2)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.privacy.guarantee import Adjacency, Guarantee, Unit
from discreet.privacy.mechanisms.checks import check_count, check_epsilon, checked_matrix
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.noise import Noise, rounded_up
from discreet.privacy.release import LatticePayload, Release, SimulatedRelease

if TYPE_CHECKING:
    from dp_accounting import DpEvent

GLOBAL_SHARE = Fraction(1, 100)
"""The share of ε that Algorithm 2 gives to the global average."""


@dataclass(frozen=True, kw_only=True)
class _RatingAverages(Mechanism):
    """What both algorithms share: ratings as integers around the middle of their range, and the noise of an average."""

    unit: Unit = Unit.RATING
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    epsilon: float
    lowest: float
    highest: float
    ratings_per_user: int | None = None
    """How many ratings of one user count, the first; needed for guarantees per user."""
    step: float = 2.0**-8
    """Ratings are rounded to multiples of this from the middle of their range."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not (np.isfinite([self.lowest, self.highest]).all() and self.lowest < self.highest):
            raise ValueError(f"lowest must be below highest, not {self.lowest} and {self.highest}")
        if not 0 < self.step <= (self.highest - self.lowest) / 2:
            raise ValueError(f"step must be above 0 and at most half the range of ratings, not {self.step}")
        if self.unit in (Unit.CLICK, Unit.CLICKS):
            raise ValueError("the unit of an average of ratings is a rating value, a rating or a user, not a click")
        if self.unit is Unit.RATING_VALUE and self.adjacency is Adjacency.ADD_REMOVE:
            raise ValueError("a rating value is substituted; to add or remove a rating, the unit is a rating")
        if self.unit is Unit.USER:
            check_count("ratings_per_user (needed for the unit user)", self.ratings_per_user or 0)

    @property
    def middle(self) -> float:
        """The middle of the range of ratings."""
        return (self.lowest + self.highest) / 2

    @property
    def reach(self) -> int:
        """How many steps a rating can be from the middle."""
        return int((self.highest - self.lowest) / 2 / self.step)

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one rating value can move a sum."""
        return Sensitivity(l1=2 * self.reach * self.step)

    def centred(self, ratings: ArrayLike) -> NDArray[np.int64]:
        """Ratings as steps from the middle, within the reach."""
        steps = np.rint((np.asarray(ratings, dtype=np.float64) - self.middle) / self.step)
        return np.clip(steps, -self.reach, self.reach).astype(np.int64)

    def noised(
        self, sums: NDArray[np.int64], counts: NDArray[np.int64], epsilon: Fraction, noise: Noise
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sum and count with discrete Laplace noise of scales range/ε and 2/ε (Algorithm 1, lines 2 and 3)."""
        sum_noise = noise.discrete_laplace(rounded_up(2 * self.reach / epsilon), len(sums))
        count_noise = noise.discrete_laplace(rounded_up(2 / epsilon), len(counts))
        return sums + sum_noise, counts + count_noise

    def averages(self, sums: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
        """The quotients, or the middle where the count is at most 1 (Algorithm 1, lines 4 to 8)."""
        totals, numbers = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
        return self.middle + np.where(numbers <= 1, 0.0, totals * self.step / np.maximum(numbers, 1.0))

    @property
    @abstractmethod
    def unit_epsilon(self) -> float:
        """ε for the chosen unit."""

    def event(self) -> DpEvent:
        """Pure ε for the chosen unit."""
        from discreet.privacy.accounting.events import ApproximateDpEvent

        return ApproximateDpEvent(self.unit_epsilon)

    def guarantee(self) -> Guarantee:
        """Pure ε for the chosen unit."""
        return self.proved(self.unit_epsilon)

    def counted(self, users: Any, size: int) -> NDArray[np.bool_]:
        """Which of `size` ratings count: for guarantees per user, of each user the first `ratings_per_user`.

        The others are left out and not refused: a refusal would tell that somebody has so many.
        """
        if self.unit is not Unit.USER:
            return np.ones(size, np.bool_)
        if users is None or len(users) != size:
            raise ValueError("the unit user needs the user of each rating")
        _, number, counts = np.unique(np.asarray(users), return_inverse=True, return_counts=True)
        order = np.argsort(number, kind="stable")
        place = np.empty(size, np.int64)
        place[order] = np.arange(size) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.asarray(place < (self.ratings_per_user or 0))


@dataclass(frozen=True, kw_only=True)
class DPAverage(_RatingAverages):
    """The average of ratings (Algorithm 1): noised sum over noised count.

    Proof: ratings are at most R steps from the middle, the sum has noise of scale 2R/ε and the count of 2/ε. Adding or
    removing a rating moves the sum by R and the count by 1: ε/2 + ε/2. Replacing one moves the sum by 2R and the count
    not at all: ε. Of a user L ratings count: L·ε.

    A release takes the ratings, or a pair of ratings and users for the unit user; its payload is the noised sum and
    count, and `average` makes the average of them.
    """

    name: ClassVar[str] = "dp average"
    summary: ClassVar[str] = "average of bounded ratings by noised sum and count"

    @property
    def unit_epsilon(self) -> float:
        """ε, or L·ε for a user."""
        return self.epsilon * (self.ratings_per_user or 1 if self.unit is Unit.USER else 1)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        return (
            f"sum and count with noise of scales range/{self.epsilon} and 2/{self.epsilon} are {self.unit_epsilon}-DP"
        )

    def checked(self, value: Any) -> NDArray[np.int64]:
        """Finite ratings, centred."""
        ratings, users = value if isinstance(value, tuple) else (value, None)
        ratings = np.asarray(ratings, dtype=np.float64)
        checked_matrix(ratings[None], 1, len(ratings))
        return self.centred(ratings[self.counted(users, len(ratings))])

    def sample(self, value: NDArray[np.int64], noise: Noise) -> LatticePayload:
        """Noised sum (in steps) and count."""
        sums, counts = self.noised(
            np.array([value.sum()]), np.array([len(value)], np.int64), Fraction(self.epsilon), noise
        )
        return LatticePayload(np.concatenate((sums, counts)))

    def average(self, release: Release | SimulatedRelease) -> float:
        """The average of a release; as the algorithm has it, it may lie outside the range of ratings."""
        total, number = release.values
        return float(self.averages(total, number))


@dataclass(frozen=True, kw_only=True)
class DPItemAverages(_RatingAverages):
    """The global average with 1 % of ε and each item's average with 99 % (Algorithm 2), items numbered from 0.

    An item without ratings gets one, the released global average, so its count is never 0. That average must be
    clamped to the range of ratings first, which the published algorithm omits: otherwise the sum of an item with one
    rating and that of an item with none can differ by more than the range.

    Proof, with ε₁ = ε/100 and ε₂ = ε − ε₁. Adding or removing a rating: the global average costs ε₁, its item costs ε₂
    by Algorithm 1's proof, and if the item is then empty the imputed rating replaces it, a substitution, which costs ε₂
    as well. Other items do not change. So ε in all; a rating *value* that changes costs ε, too. A rating that moves to
    another item touches two items: ε₁ + 2ε₂ = 1.99ε. A user, of whom L ratings count: L times as much.

    A release takes a pair (items, ratings), or (items, ratings, users) for the unit user.
    """

    name: ClassVar[str] = "dp item averages"
    summary: ClassVar[str] = "average rating of each item, empty ones filled with the private global average"

    items: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("items", self.items)

    @property
    def unit_epsilon(self) -> float:
        """ε, 1.99ε for a rating that may move to another item, and L times as much for a user."""
        moves = self.unit is not Unit.RATING_VALUE and self.adjacency is Adjacency.SUBSTITUTE
        per_rating = self.epsilon * (float(2 - GLOBAL_SHARE) if moves else 1.0)
        return per_rating * (self.ratings_per_user or 1 if self.unit is Unit.USER else 1)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        return f"the averages of {self.items} items and of all ratings together are {self.unit_epsilon}-DP"

    def checked(self, value: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Items in range and finite ratings: centred sums and counts per item."""
        if not isinstance(value, tuple) or len(value) not in (2, 3):
            raise ValueError("give a pair (items, ratings), or (items, ratings, users) for the unit user")
        items, ratings = np.asarray(value[0]), np.asarray(value[1], dtype=np.float64)
        checked_matrix(ratings[None], 1, len(items))
        if len(items) and not (items.dtype.kind in "iu" and items.min() >= 0 and items.max() < self.items):
            raise ValueError(f"items must be whole numbers from 0 to {self.items - 1}")
        counted = self.counted(value[2] if len(value) == 3 else None, len(items))
        items, ratings = items[counted].astype(np.int64), ratings[counted]
        sums = np.zeros(self.items, np.int64)
        np.add.at(sums, items, self.centred(ratings))
        return sums, np.bincount(items, minlength=self.items).astype(np.int64)

    def sample(self, value: tuple[NDArray[np.int64], NDArray[np.int64]], noise: Noise) -> LatticePayload:
        """Noised global sum and count, then the items' sums, then their counts."""
        sums, counts = value
        epsilon = Fraction(self.epsilon)
        overall = self.noised(np.array([sums.sum()]), np.array([counts.sum()]), epsilon * GLOBAL_SHARE, noise)
        imputed = self.centred(self.averages(*overall))
        filled = np.where(counts == 0, imputed, sums), np.maximum(counts, 1)
        each = self.noised(*filled, epsilon * (1 - GLOBAL_SHARE), noise)
        return LatticePayload(np.concatenate((*overall, *each)))

    def item_averages(self, release: Release | SimulatedRelease) -> NDArray[np.float64]:
        """The items' averages of a release, clamped to the range of ratings (line 10)."""
        sums, counts = release.values[2 : 2 + self.items], release.values[2 + self.items :]
        return np.clip(self.averages(sums, counts), self.lowest, self.highest)

    def global_average(self, release: Release | SimulatedRelease) -> float:
        """The global average of a release, clamped to the range of ratings."""
        average = self.averages(release.values[0], release.values[1])
        return float(np.clip(average, self.lowest, self.highest))
