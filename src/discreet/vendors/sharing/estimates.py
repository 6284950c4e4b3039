"""From noised sums and counts to what they say about each item.

Both are noisy, and their ratio is wild where counts are small. So the true weight W of an item is integrated out: its
distribution over the items is learnt from the released values themselves (maximum likelihood on a grid, by EM).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.vendors.sharing.contributions import COUNT_WEIGHT, Floats

RATING_VARIANCE = 0.85
"""Of a rating, in stars, around its item's bias."""
BIAS_VARIANCE = 0.25
"""Of items' biases, in stars."""
RATING_WEIGHT = 0.063
"""What one rating weighs in an opening without emphasis: 1/√(a user's ratings), more or less."""

_GRID = 60
_ITERATIONS = 60
_LEARNT_FROM = 4000
"""From so many items, evenly spread over the catalogue, the distribution of weights is learnt."""
_MIN_WEIGHT = 0.02
_MIN_PRECISION = 1e-3


@dataclass(frozen=True, eq=False)
class ItemEstimates:
    """What the opening says about each item.

    Attributes:
        bias: The expected bias given the release, shrunk to 0 where that says little.
        observed: An unshrunk observation of the bias, and
        deviation: its standard deviation; together they are worth as much as the release.
        weight: The expected weight of the item's ratings.
    """

    bias: Floats
    observed: Floats
    deviation: Floats
    weight: Floats


@dataclass(frozen=True, eq=False)
class Openings:
    """Two openings, or one, joined into what one without emphasis would have said with less noise.

    Attributes:
        sums: Weighted residuals of each item, with noise.
        counts: Weights of each item, times `COUNT_WEIGHT`, with noise.
        deviation: σ of the noise in both, of each item.
        relative: What a rating of each item weighs in the last opening, as a multiple of its weight in the first.
    """

    sums: Floats
    counts: Floats
    deviation: Floats
    relative: Floats

    @classmethod
    def of(cls, values: Floats, deviation: float) -> Openings:
        """The first opening: sums and counts, in units, with noise of this σ."""
        sums, counts = np.split(values, 2)
        return cls(sums, counts, np.full(len(sums), deviation), np.ones(len(sums)))

    def joined(self, values: Floats, deviation: float, emphasis: Floats) -> Openings:
        """With a second one. Sums and counts are combined alike: their ratio is right whatever `relative` is."""
        sums, counts = np.split(values, 2)
        scale = float(counts.sum()) / max(float((emphasis * self.counts).sum()), 1e-9)
        relative = np.maximum(scale, 0.0) * emphasis
        mine, theirs = self.deviation**-2, relative / deviation**2
        total = mine + relative * theirs
        return Openings(
            (mine * self.sums + theirs * sums) / total,
            (mine * self.counts + theirs * counts) / total,
            total**-0.5,
            relative,
        )


def item_estimates(known: Openings) -> ItemEstimates:
    """Posterior mean and an equivalent observation of each item's bias, from the openings.

    Model: sum = W·b + N(0, σ² + s²·w̄·W) and count = W + N(0, σ²), b ~ N(0, τ²), W from a distribution that is learnt.
    The posterior of b is a mixture of normals; its mean and variance, with the prior taken out, are the observation.
    """
    weights, sums, deviation = known.counts / COUNT_WEIGHT, known.sums[:, None], known.deviation[:, None]
    grid = np.geomspace(_MIN_WEIGHT, 1.2 * max(1.0, float(weights.max(initial=0.0))), _GRID)
    sampling = deviation**2 + RATING_VARIANCE * RATING_WEIGHT * grid
    total = sampling + BIAS_VARIANCE * grid**2
    log_likelihood = (
        -0.5 * np.square((weights[:, None] - grid) * COUNT_WEIGHT / deviation)
        - 0.5 * np.square(sums) / total
        - 0.5 * np.log(total)
    )
    posterior = _mixture(log_likelihood)
    variances = 1 / (1 / BIAS_VARIANCE + grid**2 / sampling)
    means = sums * (variances * grid / sampling)
    bias = (posterior * means).sum(axis=1)
    variance = (posterior * (variances + means**2)).sum(axis=1) - bias**2
    precision = np.maximum(1 / variance - 1 / BIAS_VARIANCE, _MIN_PRECISION)
    return ItemEstimates(bias, bias / variance / precision, precision**-0.5, posterior @ grid)


def _mixture(log_likelihood: Floats) -> Floats:
    """The posterior over the grid of each row, with the grid's weights at (nearly) their maximum likelihood."""
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    prior = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    some = likelihood[:: math.ceil(len(likelihood) / _LEARNT_FROM)]
    for _ in range(_ITERATIONS):
        prior = prior * (some / (some @ prior)[:, None]).mean(axis=0)
    posterior = likelihood * prior
    return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))
