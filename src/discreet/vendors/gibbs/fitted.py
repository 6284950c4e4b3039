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
    So is the row of an item without ratings; it comes from its features and pseudo-observations alone.
    """

    mean: float
    """The mean of the training ratings."""
    scale: tuple[float, float]
    users: NDArray[np.float32]
    items: NDArray[np.float32]
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
        for name, numbers, count in (("user", user, self.users.shape[1]), ("item", item, self.items.shape[1])):
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < count:
                raise ValueError(f"{name} must be from 0 to {count - 1}")
        return np.clip(self.mean + _mean_scores(self.users, self.items, user, item), *self.scale)

    def recommend(
        self, user: int, n: int = 10, exclude_rated: bool = True
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The `n` items of the highest expected rating for a user, best first, and these ratings."""
        items = np.arange(self.items.shape[1], dtype=np.int32)
        if not 0 <= user < self.users.shape[1]:
            raise ValueError(f"user must be from 0 to {self.users.shape[1] - 1}")
        if exclude_rated:
            items = np.delete(items, self.rated[self.rated_start[user] : self.rated_start[user + 1]])
        scores = _mean_scores(self.users, self.items, np.full(len(items), user, np.int32), items)
        best = np.argsort(-scores, kind="stable")[:n]
        return items[best], np.clip(self.mean + scores[best], *self.scale)
