"""A vertical distribution seen from its side: what is an item elsewhere is a user here, known to all by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Items, Ratings
from discreet.vendors.methods.user_vectors import ItemFactors, UserRidge, fit_users, pair_products
from discreet.vendors.partition import pooled


@dataclass(frozen=True)
class SharedUsers:
    """What vendors share: the users' names and the private rows of the users, bias first."""

    names: Sequence[str]
    factors: ItemFactors


@dataclass(frozen=True)
class VerticalPredictor:
    """A vendor's items, fitted to the shared rows of its users."""

    mean: float
    users: NDArray[np.float64]
    items: NDArray[np.float64]
    scale: tuple[float, float]

    @classmethod
    def fitted(cls, shared: SharedUsers, own: Ratings, ridge: UserRidge) -> VerticalPredictor:
        """Fit the vendor's items on its own ratings, without noise."""
        place = {name: number for number, name in enumerate(shared.names)}
        known = np.array([place[name] for name in own.users], dtype=np.int64)
        rows = ItemFactors(shared.factors.mean, shared.factors.rows[known])
        items = fit_users(_turned(own), rows, ridge)
        return cls(rows.mean, rows.rows, items, own.scale)

    def predict(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """The mean + biases + ⟨vectors⟩, within the scale."""
        expected = self.mean + self.users[user, 0] + self.items[item, 0]
        expected += pair_products(self.users[:, 1:], self.items[:, 1:], user, item)
        return np.asarray(np.clip(expected, *self.scale))


def transposed(vendors: Sequence[Ratings]) -> Ratings:
    """All vendors' ratings with users as items, matched by name, and items as users."""
    names = sorted({name for vendor in vendors for name in vendor.users})
    place = {name: number for number, name in enumerate(names)}
    matched = [
        replace(vendor, users=names, user=np.array([place[name] for name in vendor.users], np.int32)[vendor.user])
        for vendor in vendors
    ]
    everything = pooled(matched)
    return _turned(replace(everything, users=names, user=everything.user % len(names)))


def _turned(ratings: Ratings) -> Ratings:
    count = len(ratings.users)
    named = Items(ratings.users, [""] * count, [()] * count, np.full(count, -1, np.int32))
    return replace(ratings, user=ratings.item, item=ratings.user.astype(np.int32), users=ratings.items.ids, items=named)
