"""The two sides of a factorization: item factors that may be shared, and user vectors that a vendor fits by itself.

    rating ≈ mean + item bias + user bias + ⟨user vector, item vector⟩        (thesis, equation 2)

Under joint differential privacy (thesis 3.1.2) the items' side is private, and a user's own vector is not: only the
user's own vendor ever has it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from discreet.data.ratings import Ratings

_PAIRS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class ItemFactors:
    """What vendors share: the mean rating, and a row for each item with its bias first and its vector behind."""

    mean: float
    rows: NDArray[np.float64]

    @property
    def dimension(self) -> int:
        """Of the vectors, without the bias."""
        return int(self.rows.shape[1]) - 1


@dataclass(frozen=True)
class UserRidge:
    """How strongly a user's bias and vector are drawn to zero, in ratings of residual variance over prior variance."""

    bias: float = 3.0
    vector: float = 10.0


USUAL_RIDGE = UserRidge()


@dataclass(frozen=True)
class FactorPredictor:
    """A vendor's users, fitted to shared item factors. Predictions are kept within the scale."""

    items: ItemFactors
    users: NDArray[np.float64]
    scale: tuple[float, float]

    def predict(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """The mean + biases + ⟨vectors⟩, within the scale."""
        expected = self.items.mean + self.items.rows[item, 0] + self.users[user, 0]
        expected += pair_products(self.users[:, 1:], self.items.rows[:, 1:], user, item)
        return np.asarray(np.clip(expected, *self.scale))


def fit_users(ratings: Ratings, items: ItemFactors, ridge: UserRidge) -> NDArray[np.float64]:
    """Each user's bias and vector by ridge regression on the user's own ratings: a row for each user, bias first."""
    residual = ratings.value - items.mean - items.rows[ratings.item, 0]
    features = with_ones(items.rows[:, 1:])
    products, sums = normal_equations(ratings.user, ratings.item, None, residual, features, len(ratings.users))
    width = features.shape[1]
    matrices = unpacked(products, width) + np.diag([ridge.bias] + [ridge.vector] * (width - 1))
    return np.asarray(np.linalg.solve(matrices, sums[..., None])[..., 0])


def normal_equations(
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    target: NDArray[np.float64],
    features: NDArray[np.float64],
    rows: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each row r, Σ w·x xᵀ (upper triangles, packed) and Σ w·target·x over its pairs, x the column's features."""
    weights = np.ones(len(row)) if weight is None else weight
    first, second = np.triu_indices(features.shape[1])
    shape = (rows, len(features))
    products = csr_matrix((weights, (row, column)), shape=shape) @ (features[:, first] * features[:, second])
    return np.asarray(products), weighted_sums(row, column, weights * target, features, rows)


def weighted_sums(
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    weight: NDArray[np.float64],
    features: NDArray[np.float64],
    rows: int,
) -> NDArray[np.float64]:
    """For each row, Σ w·x over its pairs."""
    return np.asarray(csr_matrix((weight, (row, column)), shape=(rows, len(features))) @ features)


def unpacked(packed: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Symmetric matrices from their packed upper triangles."""
    first, second = np.triu_indices(width)
    whole = np.empty((len(packed), width, width))
    whole[:, first, second] = packed
    whole[:, second, first] = packed
    return whole


def pair_products(
    left: NDArray[np.float64], right: NDArray[np.float64], row: NDArray[np.int32], column: NDArray[np.int32]
) -> NDArray[np.float64]:
    """⟨left[row], right[column]⟩ for each pair, a block at a time."""
    out = np.empty(len(row))
    for start in range(0, len(row), _PAIRS_AT_ONCE):
        block = slice(start, start + _PAIRS_AT_ONCE)
        out[block] = np.einsum("nd,nd->n", left[row[block]], right[column[block]])
    return out


def with_ones(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vectors with a one in front, which carries a bias."""
    return np.column_stack((np.ones(len(vectors)), vectors))
