"""What every fitted model of implicit feedback can do: score, recommend to a user, and name similar items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.errors import DiscreetError

Floats = NDArray[np.floating]


class ItemRanker(ABC):
    """A model of purchases.

    Attributes:
        users: The names of the users.
        items: The names of the items.
        bought: A row for each user, with a one for each item.
    """

    users: Sequence[str]
    items: Sequence[str]
    bought: csr_array

    @abstractmethod
    def scores(self, users: NDArray[np.integer]) -> Floats:
        """A row for each user (by number), with a score of every item; those bought are scored, too."""

    @abstractmethod
    def similarities(self, item: int) -> Floats:
        """How similar each item is to this one."""

    def predict(self, user: NDArray[np.integer], item: NDArray[np.integer]) -> NDArray[np.float64]:
        """The score of each pair of a user and an item; it means nothing but an order."""
        known, row = np.unique(user, return_inverse=True)
        return np.asarray(self.scores(known)[row, item], np.float64)

    def recommend(self, user: str, k: int = 10) -> list[tuple[str, float]]:
        """The `k` best items that a user (by name) did not buy yet, with their scores."""
        return self._named(self.open_scores(np.array([_place(self.users, user, "user")]))[0], k)

    def similar_items(self, item: str, k: int = 10) -> list[tuple[str, float]]:
        """The `k` items that are most similar to one (by name), with their similarities."""
        number = _place(self.items, item, "item")
        similar = np.array(self.similarities(number), np.float64)
        similar[number] = -np.inf
        return self._named(similar, k)

    def open_scores(self, users: NDArray[np.integer]) -> NDArray[np.float64]:
        """The scores of what users (by number) did not buy yet; what they bought has −∞."""
        scores, rows = np.array(self.scores(users), np.float64), self.bought[users]
        scores[np.repeat(np.arange(len(users)), np.diff(rows.indptr)), rows.indices] = -np.inf
        return scores

    def best(self, scores: NDArray[np.float64], k: int) -> list[int]:
        """The numbers of the `k` items with the highest scores, best first, without those that have −∞."""
        order = np.argsort(-scores, kind="stable")[: max(0, k)]
        return [place for place in order.tolist() if np.isfinite(scores[place])]

    def save(self, path: Path | str) -> None:
        """Write the model to a file (safetensors)."""
        from discreet.vendors.implicit.ranker_file import save_ranker

        save_ranker(self, Path(path))

    @staticmethod
    def load(path: Path | str) -> ItemRanker:
        """The inverse of `save`.

        Raises:
            InputError: the file is not there, or not as `save` writes it.
        """
        from discreet.vendors.implicit.ranker_file import load_ranker

        return load_ranker(Path(path))

    def _named(self, scores: NDArray[np.float64], k: int) -> list[tuple[str, float]]:
        return [(self.items[place], float(scores[place])) for place in self.best(scores, k)]


def _place(names: Sequence[str], name: str, kind: str) -> int:
    try:
        return list(names).index(str(name))
    except ValueError:
        raise DiscreetError(f"there is no {kind} '{name}'; there are {len(names)}, such as '{names[0]}'") from None
