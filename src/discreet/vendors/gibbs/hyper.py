"""Draws of what rows of factors have in common: their prior's mean, precision, and its link to features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

Matrix = NDArray[np.float64]

PRIOR_SCATTER = 2.0
"""What a Wishart prior adds to the scatter of the rows in each direction: with much less, factors that few ratings need
die out and never come back; with much more, they overfit. Chosen from 0.1 to 5 by the error on three of ten folds of
MovieLens 100K and on one of ten vendors of MovieLens 1M."""
_INTERCEPT_PRECISION = 0.1


def draw_precision(rng: np.random.Generator, residuals: Matrix) -> Matrix:
    """Λ ~ Wishart of scale I / `PRIOR_SCATTER` and ν₀ = size, given rows of N(0, Λ⁻¹).

    The conditional of Salakhutdinov and Mnih (2008, eq. 14), with the mean known.
    """
    rows, size = residuals.shape
    root = cholesky(PRIOR_SCATTER * np.eye(size) + residuals.T @ residuals, lower=True)
    bartlett = np.tril(rng.standard_normal((size, size)), -1)
    bartlett[np.diag_indices(size)] = np.sqrt(rng.chisquare(size + rows - np.arange(size)))
    half = solve_triangular(root, bartlett, lower=True, trans=1)
    return np.asarray(half @ half.T)


class ItemHyper:
    """W, of one row for the intercept and one for each feature, and Λ of each group.

    W has independent entries N(0, 1/τ), with one τ for biases and one for factors, both Gamma(1, 1); the intercept's
    entries have a fixed small precision.
    """

    def __init__(self, features: Matrix, groups: NDArray[np.int32], size: int) -> None:
        self.features = np.column_stack((np.ones(len(features)), features))
        self.groups = groups
        self.count = int(groups.max(initial=0)) + 1
        self.members = [np.flatnonzero(groups == group) for group in range(self.count)]
        self.grams = [self.features[rows].T @ self.features[rows] for rows in self.members]
        self.weights = np.zeros((self.features.shape[1], size))
        self.precision = np.tile(np.eye(size) * size, (self.count, 1, 1))

    @property
    def mean(self) -> Matrix:
        """The prior mean of each item."""
        return np.asarray(self.features @ self.weights)

    def draw(self, rng: np.random.Generator, items: Matrix) -> None:
        """Draw each Λ given W and the items, then W given both."""
        residuals = items - self.mean
        for group, rows in enumerate(self.members):
            self.precision[group] = draw_precision(rng, residuals[rows])
        self._draw_weights(rng, items)

    def _draw_weights(self, rng: np.random.Generator, items: Matrix) -> None:
        """W is normal with precision Σ_g (F_gᵀF_g) ⊗ Λ_g + diag(τ), in row-major order."""
        columns, size = self.weights.shape
        prior = np.full((columns, size), _INTERCEPT_PRECISION)
        for part in (slice(0, 1), slice(1, size)):
            learnt = self.weights[1:, part]
            prior[1:, part] = rng.gamma(1 + learnt.size / 2, 1 / (1 + np.square(learnt).sum() / 2))
        total = np.zeros((columns, size, columns, size))
        moment = np.zeros((columns, size))
        for rows, gram, precision in zip(self.members, self.grams, self.precision, strict=True):
            total += gram[:, None, :, None] * precision[None, :, None, :]
            moment += self.features[rows].T @ items[rows] @ precision
        joint = total.reshape(columns * size, -1)
        joint[np.diag_indices(len(joint))] += prior.ravel()
        root = cholesky(joint, lower=True, overwrite_a=True, check_finite=False)
        half = solve_triangular(root, moment.ravel(), lower=True, check_finite=False)
        half += rng.standard_normal(len(half))
        drawn = solve_triangular(root, half, lower=True, trans=1, check_finite=False)
        self.weights = drawn.reshape(columns, size)
