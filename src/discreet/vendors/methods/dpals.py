"""DPALS: alternating least squares with privacy of users (Chien et al. 2021, "Private Alternating Least Squares").

    repeat:  u ← ridge regression of each user on V            (at the user's vendor, exact)
             A_j ← Σ w·x xᵀ + noise,  g_j ← Σ w·e·x + noise    (x = (1, u) clipped, e the clipped error of V)
             V_j ← V_j + solution of A_j s = g_j, A_j made positive semidefinite

The paper sums b_j = Σ w·r·x and solves A_j v = b_j. Since b_j − A_j·V_j = g_j where nothing is clipped, this is the
same iteration; but errors are smaller than ratings and need less noise, and noise in A_j no longer multiplies V_j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Items, Ratings
from discreet.privacy.guarantee import Guarantee
from discreet.vendors.methods.bounding import clipped, even_weights, own_deviation
from discreet.vendors.methods.private_factors import PrivateFactors
from discreet.vendors.methods.private_start import RATING_SPREAD, TYPICAL_WEIGHT, private_means, shares
from discreet.vendors.methods.shrinkage import shrunk_solutions
from discreet.vendors.methods.user_vectors import (
    ItemFactors,
    fit_users,
    normal_equations,
    pair_products,
    unpacked,
    with_ones,
)
from discreet.vendors.partition import Distribution, Level


@dataclass(frozen=True, kw_only=True)
class DPALS(PrivateFactors):
    """(ε, δ)-joint differential privacy of users, added or removed.

    Sensitivity. In each round a user adds to item j of those rated w·(κ·x xᵀ/X², e·x/(E·X)), where X = √(1 + Γ²)
    bounds ‖x‖, E bounds |e| and κ is `curvature_weight`. The halves have norms of at most κ·w and w. The user's items
    are different coordinates and Σ w² = 1 (`even_weights`), so a user moves the whole by at most **√(1 + κ²)** in L2. A
    symmetric matrix is noised in the isometric coordinates (a_ii, √2·a_ij), so an entry off the diagonal gets noise
    σ/√2, which is all that the norm needs. User vectors and biases depend on the user's own ratings and on what was
    released before, so clipping bounds what they add. The first round has counts and sums around the middle of the
    scale, less the user's own mean, with sensitivity √2 (`count_and_sum`). The mean rating and V are functions of what
    was released.

    Proof: each round is a Gaussian mechanism of that sensitivity that may depend on earlier outputs; such mechanisms
    compose like one Gaussian with 1/m² = Σ 1/m_t², and the analytic Gaussian gives the least m for (ε, δ).

    The paper samples k ratings of each user with weight 1, and noises all entries of the upper triangle alike; weights
    and isometric coordinates serve the same proof with less noise. Its claim holds, so both calibrations are one. V is
    solved with what is known of the noise (`shrunk_solutions`), and each item's bias is carried from round to round.

    Settings were tuned on public ratings, outside of ε (`private_factors`).
    """

    name: ClassVar[str] = "dpals"
    summary: ClassVar = "private alternating least squares (Chien et al. 2021); protects users"

    dimension: int = 3
    rounds: int = 8
    """Rounds after the first, which is for biases alone."""
    start_share: float = 0.2
    """The share of the budget (in 1/σ²) that the first round gets."""
    vector_bound: float = 0.4
    curvature_weight: float = 0.5
    start_bound: float = 1.5
    error_bound: float = 0.6
    user_shrinkage: float = 30.0
    bias_prior: float = 0.6
    later_bias_prior: float = 0.2
    vector_prior: float = 0.35
    guess: float = 0.6
    """The length of the random vectors to start from."""

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """Users, everywhere."""
        return Level.USER

    def guarantee(self, vendors: int) -> Guarantee:
        """Proved: Gaussian rounds composed exactly."""
        return self.stated(
            f"dpals, joint DP: {self.rounds + 1} Gaussian rounds on the vendors' secure sum", epsilon=self.epsilon
        )

    def factors(self, ratings: Ratings, generator: np.random.Generator) -> ItemFactors:
        """The private items' side."""
        weights = even_weights(ratings.user, len(ratings.users))
        first, later = shares(self.gaussian_multiplier(), self.start_share, self.rounds)
        middle = sum(ratings.scale) / 2
        start = private_means(
            ratings.item,
            len(ratings.items),
            weights,
            ratings.value - middle - own_deviation(ratings, self.user_shrinkage)[ratings.user],
            self.start_bound,
            math.sqrt(2) * first,
            self.bias_prior,
            generator,
        )
        items = ItemFactors(middle + start.mean, start.deviations[:, None])
        weights = self.later_weights(ratings, start.counts, math.sqrt(2) * first)
        if self.rounds and self.dimension:
            guess = generator.standard_normal((len(ratings.items), self.dimension)) / math.sqrt(self.dimension)
            items = ItemFactors(items.mean, np.column_stack((items.rows, self.guess * guess)))
        for number in range(self.rounds):
            users = fit_users(ratings, items, self.ridge)
            if number == 0:
                items = ItemFactors(items.mean, np.column_stack((items.rows[:, :1], np.zeros_like(items.rows[:, 1:]))))
            products, sums = self.statistics(ratings, weights, items, users)
            sigma = math.sqrt(1 + self.curvature_weight**2) * later
            products = products + sigma * generator.standard_normal(products.shape)
            sums = sums + sigma * generator.standard_normal(sums.shape)
            items = self.solved(products, sums, sigma, items, self.drawn_to(ratings.items, items))
        return items

    def later_weights(self, ratings: Ratings, counts: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
        """What each rating weighs after the first round, which gave `counts` with noise of this σ.

        Each user's squared weights must sum to at most 1, and depend on her own ratings and on what is public alone.
        """
        return even_weights(ratings.user, len(ratings.users))

    def drawn_to(self, items: Items, before: ItemFactors) -> NDArray[np.float64]:
        """The rows that the ridge draws V to, from public numbers alone: 0."""
        return np.zeros_like(before.rows)

    def statistics(
        self, ratings: Ratings, weights: NDArray[np.float64], items: ItemFactors, users: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """κ·Σ w·x xᵀ/X² in isometric packed coordinates and Σ w·e·x/(E·X) of each item: what a round puts noise on."""
        features = with_ones(clipped(users[:, 1:], self.vector_bound))
        fitted = items.mean + users[ratings.user, 0] + pair_products(features, items.rows, ratings.user, ratings.item)
        errors = np.clip((ratings.value - fitted) / self.error_bound, -1.0, 1.0)
        products, sums = normal_equations(
            ratings.item, ratings.user, weights, errors, features / self._size, len(ratings.items)
        )
        return self.curvature_weight * products * _isometry(features.shape[1]), sums

    def solved(
        self,
        products: NDArray[np.float64],
        sums: NDArray[np.float64],
        sigma: float,
        before: ItemFactors,
        centre: NDArray[np.float64],
    ) -> ItemFactors:
        """V moved by the solutions of the noised normal equations, with a ridge that draws V to `centre`."""
        width = before.rows.shape[1]
        matrices = unpacked(products / _isometry(width), width) * (self._size**2 / self.curvature_weight)
        unit = self.error_bound * self._size
        prior = np.array([self.later_bias_prior] + [self.vector_prior] * (width - 1)) ** 2
        ridge = RATING_SPREAD**2 * TYPICAL_WEIGHT / prior
        ridge[0] = RATING_SPREAD**2 * TYPICAL_WEIGHT / self.bias_prior**2
        targets = sums * unit - ridge * (before.rows - centre)
        step = shrunk_solutions(matrices, targets, (sigma * unit) ** 2, prior, TYPICAL_WEIGHT)
        return ItemFactors(before.mean, before.rows + step)

    @property
    def _size(self) -> float:
        """X, the bound on ‖(1, u)‖."""
        return math.sqrt(1 + self.vector_bound**2)


def _isometry(width: int) -> NDArray[np.float64]:
    first, second = np.triu_indices(width)
    return np.where(first == second, 1.0, math.sqrt(2))
