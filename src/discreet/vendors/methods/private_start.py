"""The first private release of every method here: how many ratings each item has, and by how much they deviate.

Counts and sums together are one Gaussian release. Means are then shrunk by what is known of the noise, which costs no
privacy: with count n, sum s, noise of variance ν on the sum and prior variance τ², the mean is n·s/(n² + ν/τ²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RATING_SPREAD = 0.9
"""About the standard deviation of a rating, in stars, once biases are known. Used for shrinkage only."""

TYPICAL_WEIGHT = 0.12
"""About the mean of `even_weights` by weight: that of a user with 70 ratings. Used for shrinkage only."""


@dataclass(frozen=True)
class PrivateMeans:
    """Noised counts (at least 0), the mean of everything, and each row's shrunk deviation from it."""

    counts: NDArray[np.float64]
    mean: float
    deviations: NDArray[np.float64]


def count_and_sum(
    row: NDArray[np.int32], rows: int, weight: NDArray[np.float64], residual: NDArray[np.float64], bound: float
) -> NDArray[np.float64]:
    """Σ w and Σ w·e/bound of each row's pairs, e the residual clipped to ±bound: an array (rows, 2).

    A single pair of weight w adds w·(1, e/bound), of L2 norm at most w·√2. So one rating moves it by √2·w, and one user
    whose squared weights sum to at most 1, with ratings in different rows, by √2.
    """
    limited = np.clip(residual, -bound, bound) / bound
    return np.column_stack(
        (np.bincount(row, weight, minlength=rows), np.bincount(row, weight * limited, minlength=rows))
    )


def private_means(
    row: NDArray[np.int32],
    rows: int,
    weight: NDArray[np.float64],
    residual: NDArray[np.float64],
    bound: float,
    sigma: float,
    prior: float,
    generator: np.random.Generator,
) -> PrivateMeans:
    """Release `count_and_sum` with Gaussian noise of standard deviation `sigma`, and make means of it.

    `prior` is the standard deviation of the rows' true deviations that the shrinkage assumes.
    """
    noised = count_and_sum(row, rows, weight, residual, bound)
    noised = noised + sigma * generator.standard_normal(noised.shape)
    counts, sums = noised[:, 0], noised[:, 1] * bound
    mean = float(np.clip(sums.sum() / max(counts.sum(), 1.0), -bound, bound))
    positive = np.maximum(counts, 0.0)
    noise = sigma**2 * (bound**2 + mean**2) + RATING_SPREAD**2 * TYPICAL_WEIGHT * positive
    centred = sums - mean * counts
    deviations = positive * centred / np.maximum(positive**2 + noise / prior**2, 1e-12)
    return PrivateMeans(positive, mean, np.clip(deviations, -2 * bound, 2 * bound))


def shares(multiplier: float, start_share: float, rounds: int) -> tuple[float, float]:
    """Noise multipliers of the first release and of each later round that compose to `multiplier`.

    Gaussian releases add up in 1/σ², exactly: 1/m² = 1/m₀² + rounds/m₁², of which the first takes `start_share`.
    """
    if rounds == 0:
        return multiplier, math.inf
    if not 0 < start_share < 1:
        raise ValueError(f"start_share must lie between 0 and 1, not {start_share}")
    return multiplier / math.sqrt(start_share), multiplier * math.sqrt(rounds / (1 - start_share))
