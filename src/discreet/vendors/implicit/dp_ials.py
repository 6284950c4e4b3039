"""Private weighted ALS for implicit feedback: Chien et al. 2021 on the loss of Hu et al. 2008.

    repeat:  u ← iALS of each user on V, shortened to norm 1                  (at the user's vendor, exact)
             A_j ← Σ w·u uᵀ + noise,  b_j ← Σ w·u + noise,  G ← Σ u uᵀ + noise
             V_j ← (A_j + α·G + λ)⁻¹·b_j,  A_j and G made positive semidefinite

G is the part of the loss that is about everything a user did not buy: one matrix for all items. This is our reading of
how the two papers go together; a later one on the cross-silo case ("DPIMF", ICML 2026: objective perturbation, another
loss, importance sampling) is known to us by its abstract only, and is not built.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.evaluation.recommendation import bought
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.gaussian import analytic_multiplier
from discreet.vendors.implicit.ials import IALS, FittedIALS
from discreet.vendors.implicit.ranking_method import RankingMethod
from discreet.vendors.methods.bounding import clipped, even_weights
from discreet.vendors.methods.user_vectors import normal_equations, unpacked
from discreet.vendors.partition import Distribution, Level, pooled

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class DPIALS(RankingMethod):
    """(ε, δ)-joint differential privacy of users, added or removed.

    Sensitivity. In each round a user with ‖u‖ ≤ 1 adds w·(κ·u uᵀ, u) to each item bought, with Σ w² = 1
    (`even_weights`), and κ·u uᵀ to G: at most √(1 + 2κ²) in L2 together. Symmetric matrices are noised in isometric
    coordinates, (a_ii, √2·a_ij). u depends on the user's own purchases and on what was released before.

    Proof: each round is a Gaussian mechanism of that sensitivity that may depend on earlier outputs; T of them with
    multiplier m·√T compose to one of multiplier m, and the analytic Gaussian gives the least m for (ε, δ). Noise is
    float64 from a seed, which serves simulation.
    """

    name: ClassVar[str] = "dp_ials"
    summary: ClassVar = "private weighted ALS (Chien et al. 2021) for implicit feedback; protects users"
    version: ClassVar[int] = 1

    epsilon: float
    delta: float = 1e-5
    rank: int = 8
    rounds: int = 3
    curvature_weight: float = 0.1
    """κ."""
    everything: float = 0.1
    """α, the weight of a pair that was not bought; one that was bought has weight w."""
    ridge: float = 5.0
    user_unobserved: float = 0.1
    user_ridge: float = 0.03
    """α₀ and λ of the users' own iALS."""

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """Users."""
        return Level.USER

    def share(self, vendors: Sequence[Ratings], seed: int) -> Floats:
        """Private item vectors of all vendors' purchases."""
        everything, generator = pooled(vendors), np.random.default_rng(seed)
        weights = even_weights(everything.user, len(everything.users))
        multiplier = 0.0 if math.isinf(self.epsilon) else analytic_multiplier(self.epsilon, self.delta)
        sigma = multiplier * math.sqrt(self.rounds) * math.sqrt(1 + 2 * self.curvature_weight**2)
        items = generator.standard_normal((len(everything.items), self.rank)) / math.sqrt(self.rank)
        for _ in range(self.rounds):
            users = clipped(self.user_vectors(everything, items), 1.0)
            products, sums = normal_equations(
                everything.item, everything.user, weights, np.ones(len(everything)), users, len(items)
            )
            curvature = self._noised(products, sigma, generator)
            whole = self._noised((users.T @ users)[np.triu_indices(self.rank)][None], sigma, generator)
            sums = sums + sigma * generator.standard_normal(sums.shape)
            matrices = curvature + self.everything * whole + (self.ridge + sigma) * np.eye(self.rank)
            items = np.asarray(np.linalg.solve(matrices, sums[..., None])[..., 0], np.float64)
        return items

    def predictor(self, shared: Floats, recipient: int, own: Ratings, seed: int) -> FittedIALS:
        """The recipient's users fitted to the shared vectors, without noise."""
        users = self.user_vectors(own, shared).astype(np.float32)
        return FittedIALS(own.users, own.items.ids, bought(own), users, shared.astype(np.float32))

    def user_vectors(self, purchases: Ratings, items: Floats) -> Floats:
        """Each user by iALS, exactly, on item vectors of mean norm 1."""
        size = max(float(np.sqrt(np.square(items).sum(axis=1).mean())), 1e-12)
        vectors = np.zeros((len(purchases.users), self.rank), np.float32)
        exact = IALS(rank=self.rank, unobserved=self.user_unobserved, ridge=self.user_ridge, steps=0)
        exact.solve(bought(purchases), vectors, (items / size).astype(np.float32))
        return vectors.astype(np.float64)

    def guarantee(self, vendors: int) -> Guarantee:
        """Proved: Gaussian rounds composed exactly."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=0.0 if math.isinf(self.epsilon) else self.delta,
            unit=Unit.USER,
            adjacency=Adjacency.ADD_REMOVE,
            adversary=Adversary.OTHER_VENDORS,
            scope=Scope.LIFETIME,
            status=Status.PROVED,
            mechanism=f"dp_ials, joint DP: {self.rounds} Gaussian rounds on the vendors' secure sum",
            version=self.version,
        )

    def _noised(self, packed: Floats, sigma: float, generator: np.random.Generator) -> Floats:
        """Symmetric matrices with noise in isometric coordinates, made positive semidefinite."""
        first, second = np.triu_indices(self.rank)
        isometry = np.where(first == second, 1.0, math.sqrt(2))
        noise = sigma / self.curvature_weight * generator.standard_normal(packed.shape) / isometry
        values, vectors = np.linalg.eigh(unpacked(packed + noise, self.rank))
        return np.asarray(np.einsum("nij,nj,nkj->nik", vectors, np.maximum(values, 0.0), vectors))
