"""What a fitted model answers: the mean over the samples of the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray


@njit(cache=True, parallel=True, fastmath=True, error_model="numpy")
def _mean_scores(
    users: NDArray[np.float32], items: NDArray[np.float32], user: NDArray[np.int32], item: NDArray[np.int32]
) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = np.zeros(len(user))
    samples, _, size = users.shape
    for pair in prange(len(user)):
        for sample in range(samples):
            left, right = users[sample, user[pair]], items[sample, item[pair]]
            score = left[0] + right[0]
            for k in range(1, size):
                score += left[k] * right[k]
            scores[pair] += score / samples
    return scores


@dataclass(frozen=True, eq=False)
class FittedGibbs:
    """Samples of the posterior of users' and items' rows (bias, factors), one matrix for each kept iteration.

    A user's row is the mean given that iteration's items, which has the same expectation as a draw and less variance.
    So is the row of an item without ratings; it comes from its features and pseudo-observations alone. Rows of items
    with neither are not stored: they are their features times the samples of W.
    """

    mean: float
    """The mean of the training ratings."""
    scale: tuple[float, float]
    users: NDArray[np.float32]
    items: NDArray[np.float32]
    weights: NDArray[np.float32]
    """W: from (1, features) to an item's expected row."""
    features: NDArray[np.float32]
    """(1, features) of all items."""
    item_place: NDArray[np.int32]
    """Which row of `items` is an item's; -1 where none is."""
    noise: float
    """α^-½, the standard deviation of a typical user's rating around its prediction, averaged over the samples."""
    rated_start: NDArray[np.int64]
    rated: NDArray[np.int32]
    """The items that a user rated are those from `rated_start[user]` up to `rated_start[user + 1]`."""

    def predict(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """The expected rating of each pair of a user and an item, within the scale."""
        user, item = np.asarray(user, np.int32), np.asarray(item, np.int32)
        if user.shape != item.shape or user.ndim != 1:
            raise ValueError("user and item must be two arrays of the same length")
        for name, numbers, count in (("user", user, self.users.shape[1]), ("item", item, len(self.item_place))):
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < count:
                raise ValueError(f"{name} must be from 0 to {count - 1}")
        return np.clip(self.mean + self._scores(user, item), *self.scale)

    def recommend(
        self, user: int, n: int = 10, exclude_rated: bool = True
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The `n` items of the highest expected rating for a user, best first, and these ratings."""
        items = np.arange(len(self.item_place), dtype=np.int32)
        if not 0 <= user < self.users.shape[1]:
            raise ValueError(f"user must be from 0 to {self.users.shape[1] - 1}")
        if exclude_rated:
            items = np.delete(items, self.rated[self.rated_start[user] : self.rated_start[user + 1]])
        scores = self._scores(np.full(len(items), user, np.int32), items)
        best = np.argsort(-scores, kind="stable")[:n]
        return items[best], np.clip(self.mean + scores[best], *self.scale)

    def similar_items(self, item: int, n: int = 10) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The `n` items that the same users like, nearest first, and the cosine of their mean factors with the item's.

        Factors are measured as users see them: by how much predictions differ between users.
        """
        if not 0 <= item < len(self.item_place):
            raise ValueError(f"item must be from 0 to {len(self.item_place) - 1}")
        tastes = self.item_tastes()
        lengths = np.maximum(np.linalg.norm(tastes, axis=1), 1e-12)
        cosine = tastes @ tastes[item] / (lengths * lengths[item])
        cosine[item] = -np.inf
        best = np.argsort(-cosine, kind="stable")[: min(n, len(cosine) - 1)].astype(np.int32)
        return best, cosine[best]

    def item_tastes(self) -> NDArray[np.float64]:
        """A row for each item, whose inner products are those of its deviations from its mean over the users.

        Samples of factors are rotated against each other, so they cannot be averaged. What a sample predicts can.
        """
        users = np.random.default_rng(0).permutation(self.users.shape[1])[:_PROBES]
        seen = np.zeros((len(self.item_place), len(users)))
        for rows, items, weights in zip(self.users, self.items, self.weights, strict=True):
            tastes = rows[users, 1:] - rows[users, 1:].mean(axis=0)
            seen += (_all_rows(items, weights, self.features, self.item_place)[:, 1:] @ tastes.T) / len(self.users)
        return seen

    def item_rows(self) -> NDArray[np.float32]:
        """Rows of all items, by sample."""
        pairs = zip(self.items, self.weights, strict=True)
        return np.stack([_all_rows(items, weights, self.features, self.item_place) for items, weights in pairs])

    def _scores(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """The mean of b_u + c_i + p_u · q_i over the samples."""
        places = self.item_place[item]
        stored = places >= 0
        scores = np.zeros(len(user))
        scores[stored] = _mean_scores(self.users, self.items, user[stored], places[stored])
        if not stored.all():
            known, number = np.unique(user[~stored], return_inverse=True)
            bias, link = self._linked(known)
            scores[~stored] = bias[number] + (self.features[item[~stored]] * link[number]).sum(axis=1)
        return scores

    def _linked(self, users: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """These users' mean biases, and what an item's features are multiplied with: the mean of W · (1, factors)."""
        bias, link = np.zeros(len(users)), np.zeros((len(users), self.weights.shape[1]))
        for rows, weights in zip(self.users[:, users], self.weights, strict=True):
            bias += rows[:, 0] / len(self.users)
            link += (weights[:, 0] + rows[:, 1:] @ weights[:, 1:].T) / len(self.users)
        return bias, link


_PROBES = 512
"""By so many users' tastes items are compared."""


def _all_rows(
    items: NDArray[np.float32], weights: NDArray[np.float32], features: NDArray[np.float32], place: NDArray[np.int32]
) -> NDArray[np.float32]:
    rows = features @ weights
    stored = place >= 0
    rows[stored] = items[place[stored]]
    return rows
