"""From noised projections to how far each item leans to each direction of taste.

Most items have so few ratings that noise hides their leanings. So these are drawn to what items with the same features
have on average, and by how much is learnt from the released sums themselves.
"""

from __future__ import annotations

import numpy as np

from discreet.vendors.item_features import standardised
from discreet.vendors.sharing.contributions import Floats
from discreet.vendors.sharing.estimates import RATING_VARIANCE, RATING_WEIGHT, ItemEstimates

_MIN_VARIANCE = 1e-6
_MIN_MASS = 1e-9
_ITERATIONS = 5
_RIDGE = 1e-3


def expected_leanings(sums: Floats, weight: Floats, relative: Floats, deviation: float, features: Floats) -> Floats:
    """Expected leaning of each item (row) to each direction, in units of the leanings' deviation over the items.

    Model: sum = W·θ + N(0, σ² + sampling), θ ~ N((1, features)·β, t²), with β and t² of each direction by weighted
    least squares and the variance that is left. A rating weighs `relative` times what it does in `weight`.
    """
    mass = np.maximum(weight * relative, _MIN_MASS)
    noise = deviation**2 + RATING_VARIANCE * RATING_WEIGHT * relative * mass / sums.shape[1]
    observed, variance = sums / mass[:, None], noise / mass**2
    design = np.column_stack((np.ones(len(features)), features))
    found = np.empty_like(sums)
    for k in range(sums.shape[1]):
        spread = max(_MIN_VARIANCE, float((np.square(sums[:, k]) - noise).sum() / np.square(mass).sum()))
        mean = np.zeros(len(sums))
        for _ in range(_ITERATIONS):
            precision = 1 / (spread + variance)
            gram = (design * precision[:, None]).T @ design
            gram += np.eye(len(gram)) * _RIDGE * np.trace(gram) / len(gram)
            mean = design @ np.linalg.solve(gram, design.T @ (precision * observed[:, k]))
            left = np.square(observed[:, k] - mean) - variance
            spread = max(_MIN_VARIANCE, float(np.average(left, weights=precision**2)))
        scale = np.sqrt(spread + np.average(np.square(mean), weights=1 / (spread + variance)))
        found[:, k] = (mean + spread / (spread + variance) * (observed[:, k] - mean)) / scale
    return found


def released_features(estimates: ItemEstimates) -> Floats:
    """What the openings say of each item, as features: how often and how high it is rated."""
    popularity = np.log1p(estimates.weight / RATING_WEIGHT)
    return standardised(np.column_stack((popularity, estimates.bias)))
