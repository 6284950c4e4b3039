"""Rows without ratings of which one noisy measurement is known: drawn from the prior, then moved to what was measured.

With x ~ N(m, Σ) and y = a · x + N(0, 1), and a draw (x₀, y₀) of both, x₀ + Σa (y − y₀)/(1 + aᵀΣa) is a draw of x given
y (Matheron's rule). It costs one factorisation for each group instead of one for each row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class MeasuredRows(NamedTuple):
    """Rows with one measurement each, in units of its standard deviation, by group of the prior.

    Attributes:
        rows: The rows of each group.
        direction: For each group, a row's `a`.
        value: For each group, a row's `y`.
    """

    rows: list[NDArray[np.int64]]
    direction: list[Matrix]
    value: list[NDArray[np.float64]]


def draw_measured(
    rng: np.random.Generator, measured: MeasuredRows, mean: Matrix, precision: Matrix, draws: Matrix, means: Matrix
) -> None:
    """Draw these rows of `draws` given their prior, and put their means into `means`."""
    for rows, direction, value, inverse in zip(*measured, precision, strict=True):
        if not len(rows):
            continue
        covariance = np.linalg.inv(inverse)
        root = np.linalg.cholesky((covariance + covariance.T) / 2)
        along = direction @ covariance
        gain = along / (1 + (along * direction).sum(axis=1))[:, None]
        prior = mean[rows]
        means[rows] = prior + gain * (value - (direction * prior).sum(axis=1))[:, None]
        drawn = prior + rng.standard_normal(prior.shape) @ root.T
        missed = value - (direction * drawn).sum(axis=1) - rng.standard_normal(len(rows))
        draws[rows] = drawn + gain * missed[:, None]
