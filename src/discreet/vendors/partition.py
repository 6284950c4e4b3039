"""How ratings are spread over vendors, which part of them is tested, and which privacy can be had for it.

Thesis 3.3.1 knows three distributions: horizontal (vendors share items, each user is one vendor's), vertical (vendors
share users, each item is one vendor's), arbitrary (any rating may be anywhere). Users are numbered again at each
vendor; `Ratings.users` keeps their names. The catalogue of items is public and the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency, Unit
from discreet.progress import counted
from discreet.vendors.dealing import Dealing, PartitionKind, by_genre, by_taste, sold

RANDOM = Dealing()
TEST_SHARE = 0.1
"""The share of a vendor's ratings that a single fold tests on."""

_GEOMETRIC_RATIO = 0.75


class Distribution(StrEnum):
    """What vendors have in common."""

    HORIZONTAL = "horizontal"
    VERTICAL = "vertical"
    ARBITRARY = "arbitrary"


class Sizes(StrEnum):
    """How large vendors are: all alike, each three quarters of the one before, or the k-th as 1/k of the first."""

    EQUAL = "equal"
    GEOMETRIC = "geometric"
    ZIPF = "zipf"


class Level(StrEnum):
    """The thesis' levels of privacy (3.2.2), from the weakest to the strongest."""

    RATING_VALUE = "rating value"
    RATING = "rating existence"
    USER = "user"

    @property
    def unit(self) -> Unit:
        """What is protected."""
        return {Level.RATING_VALUE: Unit.RATING_VALUE, Level.RATING: Unit.RATING, Level.USER: Unit.USER}[self]

    @property
    def adjacency(self) -> Adjacency:
        """A value is replaced; a rating or a user is there or not."""
        return Adjacency.SUBSTITUTE if self is Level.RATING_VALUE else Adjacency.ADD_REMOVE


@dataclass(frozen=True)
class Fold:
    """One vendor's ratings to train on and to test on. Both number the vendor's users alike."""

    train: Ratings
    test: Ratings


def check_level(distribution: Distribution, level: Level) -> None:
    """Refuse privacy of users where vendors share users (thesis 3.3.1).

    Matching the users' names already tells who is a customer where, and what a vendor may not infer about a user of
    another it cannot use to serve that user better.
    """
    if level is Level.USER and distribution is not Distribution.HORIZONTAL:
        raise DiscreetError(
            f"user-level privacy cannot be had in the {distribution} distribution: vendors share users there, matching"
            " their names tells who is a customer where; use a horizontal distribution or protect ratings"
        )


def partition(
    ratings: Ratings,
    vendors: int,
    *,
    distribution: Distribution = Distribution.HORIZONTAL,
    sizes: Sizes | Sequence[float] = Sizes.EQUAL,
    dealing: Dealing = RANDOM,
    seed: int = 0,
) -> list[Ratings]:
    """Spread users, items or single ratings over so many vendors: at random, or as `dealing` says.

    Args:
        ratings: all of them.
        vendors: how many vendors there are.
        distribution: whether users, items or single ratings are dealt out.
        sizes: the vendors' sizes, or their shares of all users (items, ratings), in any unit.
        dealing: how vendors differ. By genre and in the vertical distribution, items go by their first genre.
        seed: of the deal.

    Raises:
        DiscreetError: there are too few users, items or ratings, or a vendor would have no rating.
    """
    if dealing.kind is PartitionKind.SIZE:
        sizes = Sizes.ZIPF
    counts = _counts(ratings, vendors, distribution, sizes)
    dealt = np.repeat(np.arange(vendors), counts)
    np.random.default_rng(seed).shuffle(dealt)
    match distribution:
        case Distribution.HORIZONTAL:
            if dealing.kind in (PartitionKind.GENRE, PartitionKind.TASTE):
                dealt = (by_genre if dealing.kind is PartitionKind.GENRE else by_taste)(ratings, vendors, seed)
            owner = dealt[ratings.user]
        case Distribution.VERTICAL:
            owner = (_first_genre(ratings, vendors) if dealing.kind is PartitionKind.GENRE else dealt)[ratings.item]
        case Distribution.ARBITRARY:
            owner = dealt
    if dealing.kind in (PartitionKind.TASTE, PartitionKind.OVERLAP) and distribution is not Distribution.HORIZONTAL:
        raise DiscreetError(f"vendors by {dealing.kind} need a horizontal distribution, not a {distribution} one")
    if dealing.kind is PartitionKind.OVERLAP:
        owner = np.where(sold(ratings, owner, vendors, dealing.overlap, seed), owner, -1)
    parts = [_of_vendor(ratings, owner == number, number) for number in range(vendors)]
    empty = next((number for number, part in enumerate(parts) if not len(part)), None)
    if empty is not None:
        raise DiscreetError(f"{ratings.name}: vendor {empty + 1} of {vendors} has no rating; use fewer vendors")
    return parts


def folds(ratings: Ratings, count: int = 1, *, test_share: float = TEST_SHARE, seed: int = 0) -> list[Fold]:
    """One vendor's train and test parts: one random tenth (`test_share`) is tested, or each of `count` parts in turn.

    With `count` = 10 this is the thesis' protocol. Every user stays in the numbering, rated or not.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    if len(ratings) < max(2, count):
        raise DiscreetError(
            f"{ratings.name}: {counted(len(ratings), 'rating')} cannot be cut into {max(2, count)} parts to"
            " train on and to test; use fewer vendors, or leave this one out"
        )
    shuffled = np.random.default_rng(seed).permutation(len(ratings))
    single = [shuffled[: max(1, round(test_share * len(ratings)))]]
    tests = single if count == 1 else np.array_split(shuffled, count)
    made = []
    for test in tests:
        tested = np.zeros(len(ratings), dtype=np.bool_)
        tested[test] = True
        made.append(Fold(selected(ratings, ~tested), selected(ratings, tested)))
    return made


def selected(ratings: Ratings, mask: NDArray[np.bool_]) -> Ratings:
    """Some of the ratings, users numbered as before."""
    return replace(
        ratings, user=ratings.user[mask], item=ratings.item[mask], value=ratings.value[mask], time=ratings.time[mask]
    )


def pooled(vendors: Sequence[Ratings]) -> Ratings:
    """All vendors' ratings as one data set, in which every vendor's users are different people."""
    if not vendors:
        raise DiscreetError("there is no vendor whose ratings could be used")
    first = vendors[0]
    if any(len(vendor.items) != len(first.items) for vendor in vendors):
        raise ValueError("vendors must share one catalogue of items")
    starts = np.cumsum([0, *(len(vendor.users) for vendor in vendors)])
    return replace(
        first,
        user=np.concatenate([vendor.user + start for vendor, start in zip(vendors, starts[:-1], strict=True)]).astype(
            np.int32
        ),
        item=np.concatenate([vendor.item for vendor in vendors]),
        value=np.concatenate([vendor.value for vendor in vendors]),
        time=np.concatenate([vendor.time for vendor in vendors]),
        users=[f"{number}:{user}" for number, vendor in enumerate(vendors) for user in vendor.users],
        scale=(min(vendor.scale[0] for vendor in vendors), max(vendor.scale[1] for vendor in vendors)),
    )


def _first_genre(ratings: Ratings, vendors: int) -> NDArray[np.int64]:
    """Each item's vendor: the genres, largest first, go to the vendors in turn, and items with their first genre."""
    first = [of_item[0] if of_item else "" for of_item in ratings.items.genres]
    names, number = np.unique(first, return_inverse=True)
    if len(names) < vendors:
        genres = counted(len(names), "genre")
        raise DiscreetError(f"{ratings.name}: {genres} cannot be dealt out to {vendors} vendors; use fewer vendors")
    rank = np.empty(len(names), np.int64)
    rank[np.argsort(-np.bincount(number[ratings.item], minlength=len(names)), kind="stable")] = np.arange(len(names))
    return np.asarray(rank[number] % vendors)


def _counts(
    ratings: Ratings, vendors: int, distribution: Distribution, sizes: Sizes | Sequence[float]
) -> NDArray[np.int64]:
    """How many users (items, ratings) each vendor gets: at least one, and all in all every one."""
    name = ratings.name
    if vendors < 2:
        raise DiscreetError(f"{name}: give at least 2 vendors, not {vendors}; one alone has nobody to share with")
    dealt, available = {
        Distribution.HORIZONTAL: ("user", len(ratings.users)),
        Distribution.VERTICAL: ("item", len(ratings.items)),
        Distribution.ARBITRARY: ("rating", len(ratings)),
    }[distribution]
    if available < 2:
        raise DiscreetError(f"{name}: {counted(available, dealt)} cannot be split over vendors")
    if available < vendors:
        raise DiscreetError(
            f"{name}: {counted(available, dealt)} cannot be dealt out to {vendors} vendors; use fewer vendors"
        )
    shares = _shares(vendors, sizes)
    counts = 1 + np.floor(shares * (available - vendors)).astype(np.int64)
    remainders = shares * (available - vendors) % 1
    counts[np.argsort(-remainders, kind="stable")[: available - int(counts.sum())]] += 1
    return counts


def _shares(vendors: int, sizes: Sizes | Sequence[float]) -> NDArray[np.float64]:
    ranks = np.arange(vendors, dtype=np.float64)
    match sizes:
        case Sizes.EQUAL:
            weights = np.ones(vendors)
        case Sizes.GEOMETRIC:
            weights = _GEOMETRIC_RATIO**ranks
        case Sizes.ZIPF:
            weights = 1 / (ranks + 1)
        case _:
            weights = np.asarray([float(size) for size in sizes])
            if len(weights) != vendors or not (np.isfinite(weights) & (weights > 0)).all():
                raise DiscreetError(f"give {vendors} sizes above 0, one for each vendor")
    return np.asarray(weights / weights.sum())


def _of_vendor(ratings: Ratings, mask: NDArray[np.bool_], number: int) -> Ratings:
    """The vendor's ratings, with its own users numbered from 0 in their old order."""
    part = selected(ratings, mask)
    known, user = np.unique(part.user, return_inverse=True)
    return replace(
        part,
        name=f"{ratings.name}, vendor {number + 1}",
        user=user.astype(np.int32),
        users=[ratings.users[index] for index in known],
    )
