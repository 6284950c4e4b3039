"""The most bought items, for everybody: what every model must beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.data.ratings import Ratings
from discreet.evaluation.recommendation import bought
from discreet.vendors.implicit.item_ranker import ItemRanker


@dataclass(frozen=True)
class PopularItems:
    """By the number of users who bought the item."""

    def fit(self, purchases: Ratings) -> FittedPopularity:
        """Count."""
        counts = np.bincount(purchases.item, minlength=len(purchases.items)).astype(np.float64)
        return FittedPopularity(purchases.users, purchases.items.ids, bought(purchases), counts)


@dataclass(frozen=True, eq=False)
class FittedPopularity(ItemRanker):
    """One score for each item."""

    users: Sequence[str]
    items: Sequence[str]
    bought: csr_array
    counts: NDArray[np.float64]

    def scores(self, users: NDArray[np.integer]) -> NDArray[np.float64]:
        """The same for everybody."""
        return np.tile(self.counts, (len(users), 1))

    def similarities(self, item: int) -> NDArray[np.float64]:
        """How many users bought both."""
        buyers = self.bought[:, [item]]
        return np.asarray((self.bought.T @ buyers).toarray()[:, 0], np.float64)
