"""EASE: a linear item-item model in closed form (Steck 2019, "Embarrassingly Shallow Autoencoders").

    min_B ‖X − X·B‖² + ‖Λ^½·B‖²,  diag(B) = 0        ⇒   P = (XᵀX + Λ)⁻¹,   B = I − P/diag(P)

so the score of an item that a user x has not bought is −(x·P)_j / P_jj. Λ is a ridge for each item, the same for all in
the paper. Of a matrix of U users and I items, the smaller side is inverted: where U < I by Woodbury's identity

    P = Λ⁻¹ − Λ⁻¹·Xᵀ·(1 + X·Λ⁻¹·Xᵀ)⁻¹·X·Λ⁻¹

**Memory**: one matrix of min(U, I)² float64 and two of min(U, I)·I; so a few users with a wide catalogue cost little.
Beyond `MAX_SIDE` on both sides only the `MAX_SIDE` most bought items take part; the others rank last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_array

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.evaluation.recommendation import bought
from discreet.vendors.implicit.item_ranker import ItemRanker

Floats = NDArray[np.float64]
MAX_SIDE = 8000
"""The largest matrix that is inverted: 0.5 GB."""


@dataclass(frozen=True)
class EASE:
    """How to fit: the ridge, and how much a user of n items weighs.

    Attributes:
        ridge: λ, in users who bought the item.
        evenness: A user's row is divided by n^(evenness/2): 0 as published, 1 lets every user weigh the same in XᵀX.
    """

    ridge: float = 100.0
    evenness: float = 0.0

    def __post_init__(self) -> None:
        if not self.ridge > 0:
            raise DiscreetError(f"ridge must be above 0, not {self.ridge}")

    def fit(self, purchases: Ratings) -> FittedEASE:
        """The closed form."""
        rows = bought(purchases)
        return fit_rows(purchases, even(rows, self.evenness), np.full(rows.shape[1], self.ridge))


def even(rows: csr_array, evenness: float) -> csr_array:
    """Each user's row, divided by (number of items)^(evenness/2)."""
    count = np.maximum(np.diff(rows.indptr), 1)
    return csr_array(
        (rows.data * np.repeat(count ** (-evenness / 2), np.diff(rows.indptr)), rows.indices, rows.indptr),
        shape=rows.shape,
    )


def fit_rows(purchases: Ratings, rows: csr_array, ridge: Floats) -> FittedEASE:
    """EASE from rows that need not be those of users, with a ridge for each item; `purchases` are whom it serves."""
    history = bought(purchases)
    popularity = np.asarray(rows.power(2).sum(axis=0)).ravel()
    kept = np.arange(rows.shape[1])
    if min(rows.shape) > MAX_SIDE:
        kept = np.sort(np.argsort(-popularity, kind="stable")[:MAX_SIDE])
    inverse = _primal(rows, kept, ridge[kept]) if rows.shape[0] > len(kept) else _dual(rows, kept, ridge[kept])
    return FittedEASE(purchases.users, purchases.items.ids, history, kept, inverse, popularity)


@dataclass(frozen=True, eq=False)
class FittedEASE(ItemRanker):
    """The model: P, whole or in its factors, of the items that take part."""

    users: Sequence[str]
    items: Sequence[str]
    bought: csr_array
    kept: NDArray[np.int64]
    inverse: Inverse
    popularity: Floats

    def scores(self, users: NDArray[np.integer]) -> Floats:
        """−(x·P)/diag(P)."""
        found = -self.inverse.times(self.bought[users][:, self.kept]) / self.inverse.diagonal
        if len(self.kept) == len(self.items):
            return found
        last = self.popularity / (1 + self.popularity.max()) - 1
        whole = found.min(axis=1, keepdims=True) + last
        whole[:, self.kept] = found
        return np.asarray(whole)

    def similarities(self, item: int) -> Floats:
        """The row of B: how much having the item speaks for each other one."""
        one = csr_array(([1.0], ([0], [item])), shape=(1, len(self.items)))
        found = np.full(len(self.items), -np.inf)
        found[self.kept] = (-self.inverse.times(one[:, self.kept]) / self.inverse.diagonal)[0]
        return found


@dataclass(frozen=True, eq=False)
class Inverse:
    """P = diag(base) − halfᵀ·half, or base as a whole matrix where `half` is None."""

    base: Floats
    half: Floats | None
    diagonal: Floats

    def times(self, x: csr_array) -> Floats:
        """x·P."""
        if self.half is None:
            return np.asarray(x @ self.base)
        return np.asarray((x * self.base[None, :]).toarray() - (x @ self.half.T) @ self.half)


def _primal(rows: csr_array, kept: NDArray[np.int64], ridge: Floats) -> Inverse:
    part = rows[:, kept].astype(np.float64)
    gram = (part.T @ part).toarray()
    gram[np.diag_indices_from(gram)] += ridge
    inverse = cho_solve(cho_factor(gram, overwrite_a=True, check_finite=False), np.eye(len(gram)), overwrite_b=True)
    return Inverse(inverse, None, np.diag(inverse).copy())


def _dual(rows: csr_array, kept: NDArray[np.int64], ridge: Floats) -> Inverse:
    part = rows[:, kept].astype(np.float64)
    scaled = (part / ridge[None, :]).tocsr()
    kernel = (scaled @ part.T).toarray()
    kernel[np.diag_indices_from(kernel)] += 1.0
    lower = cho_factor(kernel, lower=True, overwrite_a=True, check_finite=False)[0]
    half = solve_triangular(lower, scaled.toarray(), lower=True, overwrite_b=True, check_finite=False)
    return Inverse(1 / ridge, half, 1 / ridge - np.einsum("ui,ui->i", half, half))
