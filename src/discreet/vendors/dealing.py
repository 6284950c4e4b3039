"""Vendors that differ: by the genres or the tastes that they serve, by size, or by what they sell.

Vendors that are random samples of one population have most in common. Real ones do not, so a comparison can deal users
out otherwise. What follows looks at ratings to decide who is whose customer, as the world does; a method never sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError

Integers = NDArray[np.int64]
_DIRECTIONS = 6
_ROUNDS = 20
_STRENGTH = 5.0
"""So many ratings spread as everybody's are added to each user's before genres or tastes are compared."""


class PartitionKind(StrEnum):
    """How users come to vendors, or (the last) what vendors sell."""

    RANDOM = "random"
    GENRE = "genre"
    TASTE = "taste"
    SIZE = "size"
    OVERLAP = "overlap"


@dataclass(frozen=True)
class Dealing:
    """A kind, and for `overlap` the share of items that all vendors sell; each other item is one vendor's."""

    kind: PartitionKind = PartitionKind.RANDOM
    overlap: float = 1.0

    @classmethod
    def parse(cls, words: str) -> Dealing:
        """From words such as genre, or overlap=0.3.

        Raises:
            DiscreetError: they mean nothing here.
        """
        name, _, number = words.partition("=")
        try:
            kind = PartitionKind(name)
            overlap = float(number) if kind is PartitionKind.OVERLAP else 1.0
            if (number and kind is not PartitionKind.OVERLAP) or not 0 <= overlap <= 1:
                raise ValueError
        except ValueError:
            raise DiscreetError(
                f"a partition is random, genre, taste, size, or overlap=SHARE (from 0 to 1), not '{words}'"
            ) from None
        return cls(kind, overlap)

    def __str__(self) -> str:
        return f"overlap={self.overlap:g}" if self.kind is PartitionKind.OVERLAP else str(self.kind)

    def in_words(self) -> str:
        """How vendors differ."""
        return {
            PartitionKind.RANDOM: "users dealt out at random",
            PartitionKind.GENRE: "each vendor's users rate some genres more than others do",
            PartitionKind.TASTE: "users of like taste at one vendor",
            PartitionKind.SIZE: "the k-th vendor has 1/k of the first one's users",
            PartitionKind.OVERLAP: f"{self.overlap:.0%} of the items sold by all, each other by one vendor",
        }[self.kind]


def by_genre(ratings: Ratings, vendors: int, seed: int) -> Integers:
    """Each user's vendor: vendors stand for genres, and take those who rate these most above average, in turns."""
    genres = sorted({genre for of_item in ratings.items.genres for genre in of_item})
    if len(genres) < 2:
        raise DiscreetError(f"{ratings.name}: its items have no genres to divide vendors by; use another partition")
    flags = np.array([[genre in of_item for genre in genres] for of_item in ratings.items.genres], np.float64)
    seen = csr_array((np.ones(len(ratings)), (ratings.user, ratings.item)), shape=(len(ratings.users), len(flags)))
    counts = seen @ flags
    usual = counts.sum(axis=0) / counts.sum()
    lift = (counts + _STRENGTH * usual) / ((counts.sum(axis=1, keepdims=True) + _STRENGTH) * np.maximum(usual, 1e-12))
    largest = np.argsort(-usual, kind="stable")
    affinity = np.stack([lift[:, largest[place::vendors]].max(axis=1, initial=0.0) for place in range(vendors)], axis=1)
    if vendors > len(genres):
        affinity[:, len(genres) :] = affinity[:, np.arange(len(genres), vendors) % len(genres)]
    return _in_turns(affinity, seed)


def by_taste(ratings: Ratings, vendors: int, seed: int) -> Integers:
    """Each user's vendor: k-means, with clusters of one size, of users' leanings to the main directions of taste."""
    users, items = len(ratings.users), len(ratings.items)
    rank = min(_DIRECTIONS, users - 1, items - 1)
    if rank < 1:
        raise DiscreetError(f"{ratings.name}: has too few users or items to find tastes")
    value = ratings.value - ratings.value.mean(dtype=np.float64)
    for index, count in ((ratings.item, items), (ratings.user, users)):
        value = value - (np.bincount(index, value, count) / (np.bincount(index, minlength=count) + _STRENGTH))[index]
    rng = np.random.default_rng(seed)
    left, scale, _ = svds(csr_array((value, (ratings.user, ratings.item)), shape=(users, items)), k=rank, rng=rng)
    rows = left * scale
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    centres = rows[rng.choice(users, vendors, replace=False)]
    owner = np.zeros(users, np.int64)
    for _ in range(_ROUNDS):
        before, owner = owner, _in_turns(rows @ centres.T, seed)
        if np.array_equal(before, owner):
            break
        centres = np.stack([rows[owner == vendor].mean(axis=0) for vendor in range(vendors)])
    return owner


def sold(ratings: Ratings, owner: NDArray[np.int64], vendors: int, overlap: float, seed: int) -> NDArray[np.bool_]:
    """Which ratings remain where a share `overlap` of the items is everybody's and each other is one vendor's."""
    rng = np.random.default_rng((seed, 1))
    seller = rng.integers(vendors, size=len(ratings.items))
    seller[rng.random(len(ratings.items)) < overlap] = -1
    return np.asarray((seller[ratings.item] < 0) | (seller[ratings.item] == owner))


def _in_turns(affinity: NDArray[np.float64], seed: int) -> Integers:
    """Each user's vendor: those surest of their place choose first, of the vendors that have room left."""
    users, vendors = affinity.shape
    room = np.full(vendors, users // vendors)
    room[: users % vendors] += 1
    ordered = np.sort(affinity, axis=1)
    tie = np.random.default_rng(seed).permutation(users)
    surest = np.lexsort((tie, -(ordered[:, -1] - ordered[:, 0])))
    owner = np.empty(users, np.int64)
    for user in surest.tolist():
        choice = int(np.argmax(np.where(room > 0, affinity[user], -np.inf)))
        owner[user] = choice
        room[choice] -= 1
    return owner
