"""What any way to collaborate must be compared with: averages, with privacy and without, and the best model alone.

The averages without noise and `full` pool ratings: they say how good sharing could be, not how to share. Noise comes
from a seed here, because a comparison must be repeatable; nothing that these classes share could be sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Unit
from discreet.privacy.mechanisms.averages import DPItemAverages
from discreet.privacy.noise import SimulatedNoise
from discreet.privacy.release import SimulatedRelease
from discreet.vendors.gibbs import FittedGibbs, GibbsMF
from discreet.vendors.item_features import local_prior, rating_counts
from discreet.vendors.methods.bounding import at_most
from discreet.vendors.methods.matched import MatchedUsers, matched_users
from discreet.vendors.partition import Distribution, Level, pooled, selected
from discreet.vendors.vendor_method import Predictor, VendorMethod

Array = NDArray[np.float64]
ITEM_DAMPING, USER_DAMPING = 10.0, 15.0
"""How many ratings without deviation are added to each item's and each user's own."""


@dataclass(frozen=True, eq=False)
class Means:
    """Predicts an item's value and the user's deviation, within the scale."""

    item: Array
    user: Array
    scale: tuple[float, float]

    def predict(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> Array:
        """The expected rating of each pair."""
        return np.clip(self.item[item] + self.user[user], *self.scale)


@dataclass(frozen=True)
class GlobalMean(VendorMethod):
    """Every rating is the mean of all vendors' ratings."""

    name: ClassVar[str] = "global_mean"
    summary: ClassVar = "the mean of all vendors' ratings, without noise"

    def share(self, vendors: Sequence[Ratings], seed: int) -> float:
        """The mean."""
        return float(pooled(vendors).value.mean(dtype=np.float64))

    def predictor(self, shared: float, recipient: int, own: Ratings, seed: int) -> Means:
        """The mean for everything."""
        return _of_items(np.full(len(own.items), shared), own)


@dataclass(frozen=True)
class ItemMeans(VendorMethod):
    """A rating is the mean of all vendors' ratings of the item, or of all items where it has none."""

    name: ClassVar[str] = "item_means"
    summary: ClassVar = "the item's mean over all vendors, without noise"

    def share(self, vendors: Sequence[Ratings], seed: int) -> Array:
        """The items' means."""
        everything = pooled(vendors)
        counts, overall = rating_counts(everything), everything.value.mean(dtype=np.float64)
        return np.asarray(overall + _deviations(everything, overall) / np.maximum(counts, 1))

    def predictor(self, shared: Array, recipient: int, own: Ratings, seed: int) -> Means:
        """The items' means, for every user."""
        return _of_items(shared, own)


@dataclass(frozen=True)
class DPAverages(VendorMethod):
    """A rating is the private mean of the item over all vendors (the thesis' Algorithm 2 at each vendor).

    Each vendor releases noised sums and counts once; a recipient adds its own without noise.

    With the unit rating, ε holds for adding or removing one rating of a user, and a user with n ratings has n·ε. With
    the unit user, each user contributes at most `ratings_per_user` ratings, drawn at random, each noised for
    ε / `ratings_per_user`: ε holds for adding or removing a user with all ratings. Users of different vendors are
    different people, so a user is in one release only, however many vendors take part.
    """

    name: ClassVar[str] = "dp_averages"
    summary: ClassVar = "private item averages (thesis, Algorithm 2); protects ratings"
    epsilon: float
    unit: Unit = Unit.RATING
    ratings_per_user: int = 20
    """How many ratings of a user count with the unit user."""

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """Ratings, everywhere."""
        return Level.RATING

    def __post_init__(self) -> None:
        if self.unit not in (Unit.RATING, Unit.USER):
            raise ValueError(f"the unit must be a rating or a user, not a {self.unit}")
        if self.ratings_per_user < 1:
            raise ValueError(f"ratings_per_user must be at least 1, not {self.ratings_per_user}")

    @property
    def per_rating(self) -> float:
        """ε of one rating."""
        return self.epsilon / (self.ratings_per_user if self.unit is Unit.USER else 1)

    def contributed(self, ratings: Ratings, rng: np.random.Generator) -> Ratings:
        """The ratings that count: all, or for the unit user a few of each user's, drawn at random."""
        if self.unit is Unit.RATING:
            return ratings
        return selected(ratings, at_most(ratings.user, self.ratings_per_user, rng))

    def mechanism(self, scale: tuple[float, float], items: int) -> DPItemAverages:
        """What each vendor applies to its ratings."""
        return DPItemAverages(
            epsilon=self.per_rating,
            lowest=scale[0],
            highest=scale[1],
            items=items,
            unit=self.unit,
            adjacency=Adjacency.ADD_REMOVE,
            adversary=Adversary.OTHER_VENDORS,
            ratings_per_user=self.ratings_per_user if self.unit is Unit.USER else None,
        )

    def share(self, vendors: Sequence[Ratings], seed: int) -> list[SimulatedRelease]:
        """A release of each vendor."""
        releases = []
        for ratings, stream in zip(vendors, np.random.SeedSequence(seed).spawn(len(vendors)), strict=True):
            choice, noise = stream.spawn(2)
            part = self.contributed(ratings, np.random.default_rng(choice))
            mechanism = self.mechanism(ratings.scale, len(ratings.items))
            releases.append(mechanism.release((part.item, part.value, part.user), SimulatedNoise(noise)))
        return releases

    def predictor(self, shared: list[SimulatedRelease], recipient: int, own: Ratings, seed: int) -> Means:
        """The quotients of all sums and counts, the own ones exact, clamped to the scale."""
        items = len(own.items)
        mechanism = self.mechanism(own.scale, items)
        sums = np.bincount(own.item, mechanism.centred(own.value), items).astype(np.float64)
        counts = rating_counts(own).astype(np.float64)
        for vendor, release in enumerate(shared):
            if vendor != recipient:
                sums, counts = sums + release.values[2 : 2 + items], counts + release.values[2 + items :]
        return _of_items(np.clip(mechanism.averages(sums, counts), *own.scale), own)

    def guarantee(self, vendors: int) -> Guarantee:
        """That of one release, whatever the number of vendors, of items and the scale of ratings."""
        return self.mechanism((0.0, 1.0), 1).guarantee()


@dataclass(frozen=True)
class Local(VendorMethod):
    """Each vendor alone, with the best model: Bayesian factorization with public features and own popularity."""

    name: ClassVar[str] = "local"
    summary: ClassVar = "each vendor alone, with the best model: Bayesian factorization with public features"
    model: GibbsMF | None = None

    def share(self, vendors: Sequence[Ratings], seed: int) -> None:
        """Nothing leaves."""

    def predictor(self, shared: None, recipient: int, own: Ratings, seed: int) -> FittedGibbs:
        """The model of own ratings."""
        model = self.model or GibbsMF.for_size(len(own))
        return model.fit(own, prior=local_prior(own), seed=seed)


@dataclass(frozen=True, eq=False)
class PooledUsers:
    """A model of all vendors' users, asked for those of one vendor."""

    model: FittedGibbs
    first: int

    def predict(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> Array:
        """The expected rating of each pair of one of the vendor's users and an item."""
        return self.model.predict(np.asarray(user) + self.first, item)


@dataclass(frozen=True)
class Full(VendorMethod):
    """All ratings in one place, with the same model as `local`: what sharing can reach at best."""

    name: ClassVar[str] = "full"
    summary: ClassVar = "all ratings in one place, the same model: what sharing can reach at best"
    model: GibbsMF | None = None

    def share(self, vendors: Sequence[Ratings], seed: int) -> Sequence[PooledUsers | MatchedUsers]:
        """One model, as seen by each vendor; where vendors share users, a user is the same person at all of them."""
        everything = pooled(vendors)
        model = self.model or GibbsMF.for_size(len(everything))
        if len({name for vendor in vendors for name in vendor.users}) < len(everything.users):
            return matched_users(model, vendors, seed)
        fitted = model.fit(everything, prior=local_prior(everything), seed=seed)
        return [PooledUsers(fitted, first) for first in _first_users(vendors)]

    def predictor(self, shared: Sequence[Predictor], recipient: int, own: Ratings, seed: int) -> Predictor:
        """The model, asked for the recipient's users."""
        return shared[recipient]


def _first_users(vendors: Sequence[Ratings]) -> list[int]:
    return [0, *np.cumsum([len(ratings.users) for ratings in vendors])[:-1].tolist()]


def _deviations(ratings: Ratings, mean: float) -> Array:
    """The sum of each item's ratings less the mean."""
    return np.bincount(ratings.item, ratings.value - mean, len(ratings.items)).astype(np.float64)


def _of_items(values: Array, own: Ratings) -> Means:
    return Means(values, np.zeros(len(own.users)), own.scale)
