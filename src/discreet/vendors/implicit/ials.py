"""iALS: weighted alternating least squares (Hu et al. 2008), as tuned by Rendle et al. 2021 ("Revisiting …").

    min  Σ_{(u,i) bought} (1 − w_u·h_i)²  +  α₀·Σ_{all u,i} (w_u·h_i)²  +  λ·Σ_u g_u^ν·‖w_u‖²  +  λ·Σ_i g_i^ν·‖h_i‖²

with g_u = (items bought) + α₀·(all items), g_i likewise: the regularisation grows with what a row weighs in the loss,
which is what makes iALS strong. The starting vectors are N(0, σ²/d). Each row is solved by a few steps of conjugate
gradients from where it stands (Takács et al. 2011), or exactly by Cholesky (`steps` = 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.evaluation.recommendation import bought
from discreet.progress import track
from discreet.vendors.implicit.ials_rows import cg_rows, cholesky_rows
from discreet.vendors.implicit.item_ranker import ItemRanker

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class IALS:
    """How to factorize.

    Attributes:
        rank: d, the number of factors.
        iterations: How often all users and all items are solved.
        unobserved: α₀, what a pair weighs that was not bought.
        ridge: λ.
        exponent: ν.
        spread: σ of the starting vectors.
        steps: Of conjugate gradients for each row; 0 solves exactly.
    """

    rank: int = 64
    iterations: int = 16
    unobserved: float = 0.1
    ridge: float = 0.003
    exponent: float = 1.0
    spread: float = 0.1
    steps: int = 3

    def __post_init__(self) -> None:
        if self.rank < 1 or self.iterations < 1 or self.steps < 0:
            raise DiscreetError("rank and iterations must be at least 1, and steps at least 0")
        if not (self.unobserved > 0 and self.ridge > 0):
            raise DiscreetError("unobserved and ridge must be above 0")

    def fit(self, purchases: Ratings, *, seed: int = 0) -> FittedIALS:
        """Alternate. The same seed gives the same model."""
        rows = bought(purchases)
        rng = np.random.default_rng(seed)
        scale = self.spread / np.sqrt(self.rank)
        users = (scale * rng.standard_normal((rows.shape[0], self.rank))).astype(np.float32)
        items = (scale * rng.standard_normal((rows.shape[1], self.rank))).astype(np.float32)
        columns = rows.T.tocsr()
        for _ in track(range(self.iterations), "fitting factors"):
            self.solve(rows, users, items)
            self.solve(columns, items, users)
        self.solve(rows, users, items)
        return FittedIALS(purchases.users, purchases.items.ids, rows, users, items)

    def solve(self, rows: csr_array, mine: Vectors, others: Vectors) -> None:
        """Compute every row's vector again, in place, with the other side fixed."""
        weight = np.diff(rows.indptr) + self.unobserved * rows.shape[1]
        ridge = (self.ridge * weight**self.exponent).astype(np.float32)
        gram = (self.unobserved * (others.T @ others)).astype(np.float32)
        if self.steps:
            cg_rows(rows.indptr, rows.indices, mine, others, gram, ridge, self.steps)
        else:
            cholesky_rows(rows.indptr, rows.indices, mine, others, gram, ridge)


@dataclass(frozen=True, eq=False)
class FittedIALS(ItemRanker):
    """Vectors of users and items."""

    users: Sequence[str]
    items: Sequence[str]
    bought: csr_array
    user_vectors: Vectors
    item_vectors: Vectors

    def scores(self, users: NDArray[np.integer]) -> NDArray[np.float32]:
        """Inner products."""
        return np.asarray(self.user_vectors[users] @ self.item_vectors.T)

    def similarities(self, item: int) -> NDArray[np.float32]:
        """Cosines of item vectors."""
        norms = np.linalg.norm(self.item_vectors, axis=1)
        product = self.item_vectors @ self.item_vectors[item]
        return np.asarray(product / np.maximum(norms * norms[item], 1e-12))
