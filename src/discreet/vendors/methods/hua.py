"""Privacy of rating values by objective perturbation (Hua et al. 2015, "Differentially Private Matrix Factorization").

With users' vectors fixed, item j's objective Σ (r − ⟨x, v⟩)² + λ‖v‖² + ⟨η, v⟩ has its minimum at
(A_j + λ)v = b_j − η/2, with A_j = Σ x xᵀ and b_j = Σ r·x: random η on the objective is noise on b_j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds

from discreet.data.ratings import Ratings
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.vendors.methods.bounding import clipped
from discreet.vendors.methods.private_factors import PrivateFactors
from discreet.vendors.methods.shrinkage import shrunk_solutions
from discreet.vendors.methods.user_vectors import (
    USUAL_RIDGE,
    ItemFactors,
    fit_users,
    normal_equations,
    unpacked,
    with_ones,
)
from discreet.vendors.partition import Distribution, Level


@dataclass(frozen=True, kw_only=True)
class Hua(PrivateFactors):
    """ε-joint differential privacy (δ = 0) of rating **values**: who rated what is not protected at all.

    Sensitivity: replacing one value by another of the scale, R wide, moves b_j of one item by at most R·‖x‖ ≤ **R·X**
    in L2, and A_j not at all. Noise of density ∝ exp(−ε‖η‖/(R·X)) on each b_j is ε-DP for all items together, since
    neighbours differ in one item.

    What is claimed: the paper fixes the users' vectors after fitting them to the same values, and its theorem treats
    them as constants. They are not: one value moves its user's vector, hence A_j and b_j of everything that the user
    rated, which the theorem does not cover. No finite ε is proved here for it. `calibration="paper"` does that, with
    the claim, and an ε of infinity.

    Exact: no step uses values without noise. Users' vectors come first from **which** items each user rated (singular
    vectors of the 0/1 matrix, which this level does not protect), then items' from them by the theorem above; further
    sweeps fit users to the noised items and items to the noised users, perturbed alike. Each of the 2·`sweeps` − 1
    releases gets an equal part of ε, and they compose by addition.

    Settings were tuned on public ratings, outside of ε (`private_factors`).
    """

    name: ClassVar[str] = "hua"
    summary: ClassVar = "objective perturbation (Hua et al. 2015); protects rating values"

    dimension: int = 8
    sweeps: int = 1
    vector_bound: float = 0.7
    bias_prior: float = 0.6
    vector_prior: float = 0.35

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """Rating values, everywhere."""
        return Level.RATING_VALUE

    @property
    def releases(self) -> int:
        """How many parts ε is divided into."""
        return 1 if self.calibration is Calibration.PAPER else 2 * self.sweeps - 1

    def guarantee(self, vendors: int) -> Guarantee:
        """Pure ε; with the paper's users, its claim, and the true infinity."""
        text = "hua, joint DP: perturbed objectives on the vendors' secure sum"
        if self.calibration is Calibration.EXACT:
            return self.stated(text, epsilon=self.epsilon, delta=0.0)
        return self.stated(f"{text}, users' vectors taken as constants", epsilon=math.inf, claimed=self.epsilon)

    def factors(self, ratings: Ratings, generator: np.random.Generator) -> ItemFactors:
        """The private items' side."""
        middle = sum(ratings.scale) / 2
        paper = self.calibration is Calibration.PAPER
        users = fitted_users(ratings, self) if paper else pattern_vectors(ratings, self.dimension)
        users = clipped(users, self.vector_bound)
        offsets = np.zeros(len(ratings.users))
        rows = np.zeros((len(ratings.items), self.dimension + 1))
        for sweep in range(1 if paper else self.sweeps):
            if sweep:
                side = self.perturbed(
                    ratings.user,
                    ratings.item,
                    rows[ratings.item, 0],
                    rows[:, 1:],
                    len(ratings.users),
                    ratings,
                    generator,
                )
                offsets, users = side[:, 0], clipped(side[:, 1:], self.vector_bound)
            rows = self.perturbed(
                ratings.item, ratings.user, offsets[ratings.user], users, len(ratings.items), ratings, generator
            )
            rows[:, 1:] = clipped(rows[:, 1:], self.vector_bound)
        return ItemFactors(middle, rows)

    def perturbed(
        self,
        row: NDArray[np.int32],
        column: NDArray[np.int32],
        known: NDArray[np.float64],
        vectors: NDArray[np.float64],
        rows: int,
        ratings: Ratings,
        generator: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Each row's bias and vector from its values, less what is `known` of them, given the other side's vectors."""
        features = with_ones(vectors)
        lowest, highest = ratings.scale
        targets = np.clip(ratings.value, lowest, highest) - (lowest + highest) / 2 - known
        products, sums = normal_equations(row, column, None, targets, features, rows)
        reach = (highest - lowest) * math.sqrt(1 + self.vector_bound**2)
        scale = 0.0 if math.isinf(self.epsilon) else reach * self.releases / self.epsilon
        sums = sums + spherical_laplace(rows, features.shape[1], scale, generator)
        prior = np.array([self.bias_prior] + [self.vector_prior] * self.dimension) ** 2
        noise = scale**2 * (features.shape[1] + 1)
        return shrunk_solutions(unpacked(products, features.shape[1]), sums, noise, prior, 1.0)


def spherical_laplace(rows: int, width: int, scale: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Rows of density ∝ exp(−‖η‖/scale): a uniform direction, and a Gamma-distributed length of shape `width`."""
    directions = generator.standard_normal((rows, width))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions * generator.gamma(width, 1.0, size=(rows, 1)) * scale)


def pattern_vectors(ratings: Ratings, dimension: int) -> NDArray[np.float64]:
    """Users' vectors from which items they rated: left singular vectors of the centred, degree-normalised 0/1 matrix.

    They have root mean square 1/√dimension in each coordinate. Small data have fewer; the rest is 0.
    """
    shape = len(ratings.users), len(ratings.items)
    of_user = np.maximum(np.bincount(ratings.user, minlength=shape[0]), 1)
    of_item = np.maximum(np.bincount(ratings.item, minlength=shape[1]), 1)
    normal = 1 / np.sqrt(of_user[ratings.user] * of_item[ratings.item].astype(np.float64))
    matrix = csr_matrix((normal, (ratings.user, ratings.item)), shape=shape)
    count = min(dimension, min(shape) - 2)
    vectors = np.zeros((shape[0], dimension))
    if count > 0:
        left, _, _ = svds(matrix, k=count + 1, random_state=0)
        vectors[:, :count] = left[:, ::-1][:, 1:] / np.sqrt(of_user)[:, None]
        spread = np.sqrt(np.mean(vectors**2, axis=0))
        vectors /= np.maximum(spread, 1e-12) * math.sqrt(dimension)
    return vectors


def fitted_users(ratings: Ratings, settings: Hua) -> NDArray[np.float64]:
    """Users' vectors by alternating least squares on the values themselves, as the paper has them: not private."""
    middle = sum(ratings.scale) / 2
    users = np.column_stack((np.zeros(len(ratings.users)), pattern_vectors(ratings, settings.dimension)))
    prior = np.array([settings.bias_prior] + [settings.vector_prior] * settings.dimension) ** 2
    for _ in range(5):
        features = with_ones(users[:, 1:])
        targets = ratings.value - middle - users[ratings.user, 0]
        products, sums = normal_equations(ratings.item, ratings.user, None, targets, features, len(ratings.items))
        rows = shrunk_solutions(unpacked(products, features.shape[1]), sums, 0.0, prior, 1.0)
        users = fit_users(ratings, ItemFactors(middle, rows), USUAL_RIDGE)
    return users[:, 1:]
