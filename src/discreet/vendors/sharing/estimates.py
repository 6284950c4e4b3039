"""From noised sums and counts to what they say about each item.

Both are noisy, and their ratio is wild where counts are small. So the true weight W of an item is integrated out: its
distribution over the items is learnt from the released values themselves (maximum likelihood on a grid, by EM).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from discreet.vendors.sharing.contributions import COUNT_WEIGHT, Floats, Integers

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
_AT_ONCE = 4096
_SPREADS = (0.01, 0.1, 0.5, 2.0)
"""φ: how much vendors may differ in what their users rate."""
_MIN_OTHERS = 0.1
"""The others have at least so many ratings for each of the reader's own, whatever the noise makes of their counts."""
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
        shift: The bias from which these residuals are counted.
        counts: Weights of each item, times `COUNT_WEIGHT`, with noise.
        deviation: σ of the noise in both, of each item.
        relative: What a rating of each item weighs in the last opening, as a multiple of its weight in the first.
    """

    sums: Floats
    shift: Floats
    counts: Floats
    deviation: Floats
    relative: Floats

    @classmethod
    def of(cls, values: Floats, deviation: float) -> Openings:
        """The first opening: sums and counts, in units, with noise of this σ."""
        sums, counts = np.split(values, 2)
        return cls(sums, np.zeros(len(sums)), counts, np.full(len(sums), deviation), np.ones(len(sums)))

    def joined(self, values: Floats, deviation: float, emphasis: Floats, offset: Floats) -> Openings:
        """With a second one. Sums and counts are combined alike: their ratio is right whatever `relative` is."""
        sums, counts = np.split(values, 2)
        scale = float(counts.sum()) / max(float((emphasis * self.counts).sum()), 1e-9)
        relative = np.maximum(scale, 0.0) * emphasis
        mine, theirs = self.deviation**-2, relative / deviation**2
        total = mine + relative * theirs
        return Openings(
            (mine * self.sums + theirs * sums) / total,
            (mine * self.shift + relative * theirs * offset) / total,
            (mine * self.counts + theirs * counts) / total,
            total**-0.5,
            relative,
        )


@dataclass(frozen=True, eq=False)
class OwnCounts:
    """How often a vendor's own users rated each item: with the others' noised counts, they tell its popularity.

    Vendors are not samples of one population, so the counts vary more than by chance: as a negative binomial of mean
    κ·W and variance κ·W + φ·(κ·W)², with κ from the totals and φ the most likely of a few. Where it is likelier, by
    Schwarz's criterion, that they have nothing to do with the others', they are not used.
    """

    counts: Integers

    def log_likelihood(self, grid: Floats, total: float, spread: float) -> Floats:
        """Of each distinct count (a row) at each weight of `grid`, where all others' weights sum to `total`."""
        own = float(self.counts.sum())
        mean = grid * (own / max(total, _MIN_OTHERS * RATING_WEIGHT * own))
        shape, distinct = 1 / spread, self.distinct[0][:, None]
        pieces = gammaln(distinct + shape) - gammaln(shape) - gammaln(distinct + 1)
        return np.asarray(pieces - shape * np.log1p(mean / shape) + distinct * (np.log(mean) - np.log(mean + shape)))

    def unrelated(self, items: Integers) -> float:
        """The log-likelihood of some items' counts if the others' users rate other things, for as many parameters."""
        often = np.bincount(self.distinct[1][items])
        often = often[often > 0]
        return float((often * np.log(often / len(items))).sum() - (len(often) - 1) / 2 * math.log(len(items)))

    @cached_property
    def distinct(self) -> tuple[Integers, Integers]:
        """The different counts, and which of them each item has."""
        return np.unique(self.counts, return_inverse=True)


def item_estimates(known: Openings, own: OwnCounts | None = None) -> ItemEstimates:
    """Posterior mean and an equivalent observation of each item's bias, from the openings (and one's own counts).

    Model: sum = W·(b − shift) + N(0, σ² + s²·w̄·W) and count = W + N(0, σ²), b ~ N(0, τ²), W from a distribution that
    is learnt. The posterior of b is a mixture of normals; its mean and variance, with the prior taken out, are the
    observation.
    """
    weights = known.counts / COUNT_WEIGHT
    grid = np.geomspace(_MIN_WEIGHT, 1.2 * max(1.0, float(weights.max(initial=0.0))), _GRID)
    some = np.arange(0, len(weights), max(1, math.ceil(len(weights) / _LEARNT_FROM)))
    released = _of_release(known, grid, some)
    prior, likely = _learnt(released)
    chosen: float | None = None
    if own is not None:
        likely += own.unrelated(some)
        for spread in _SPREADS:
            other, found = _learnt(released + _of_own(own, grid, weights, spread, some))
            if found > likely:
                prior, likely, chosen = other, found, spread
    made = [np.empty(len(weights)) for _ in range(3)]
    for begin in range(0, len(weights), _AT_ONCE):
        part = np.arange(begin, min(begin + _AT_ONCE, len(weights)))
        posterior = (
            np.exp(_relative(_of_release(known, grid, part) + _of_own(own, grid, weights, chosen, part))) * prior
        )
        posterior /= posterior.sum(axis=1, keepdims=True)
        sampling = known.deviation[part, None] ** 2 + RATING_VARIANCE * RATING_WEIGHT * grid
        variances = 1 / (1 / BIAS_VARIANCE + grid**2 / sampling)
        means = (known.sums[part, None] + known.shift[part, None] * grid) * (variances * grid / sampling)
        bias = (posterior * means).sum(axis=1)
        variance = (posterior * (variances + means**2)).sum(axis=1) - bias**2
        for whole, values in zip(made, (bias, variance, posterior @ grid), strict=True):
            whole[part] = values
    bias, variance, weight = made
    precision = np.maximum(1 / variance - 1 / BIAS_VARIANCE, _MIN_PRECISION)
    return ItemEstimates(bias, bias / variance / precision, precision**-0.5, weight)


def _of_release(known: Openings, grid: Floats, items: Integers) -> Floats:
    """The log-likelihood of some items' released sums and counts at each weight."""
    deviation = known.deviation[items, None]
    total = deviation**2 + RATING_VARIANCE * RATING_WEIGHT * grid + BIAS_VARIANCE * grid**2
    return np.asarray(
        -0.5 * np.square((known.counts[items, None] - COUNT_WEIGHT * grid) / deviation)
        - 0.5 * np.square(known.sums[items, None] + known.shift[items, None] * grid) / total
        - 0.5 * np.log(total)
    )


def _of_own(own: OwnCounts | None, grid: Floats, weights: Floats, spread: float | None, items: Integers) -> Floats:
    """The log-likelihood of some items' own counts at each weight."""
    if own is None or spread is None:
        return np.zeros((1, len(grid)))
    return np.asarray(own.log_likelihood(grid, float(weights.sum()), spread)[own.distinct[1][items]])


def _learnt(log_likelihood: Floats) -> tuple[Floats, float]:
    """The weights of the grid at (nearly) their maximum likelihood, and its logarithm."""
    likelihood = np.exp(_relative(log_likelihood))
    prior = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_ITERATIONS):
        prior = prior * (likelihood / (likelihood @ prior)[:, None]).mean(axis=0)
    return prior, float((np.log(likelihood @ prior) + log_likelihood.max(axis=1)).sum())


def _relative(log_likelihood: Floats) -> Floats:
    return np.asarray(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
