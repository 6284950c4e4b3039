"""How likely a released count is, if so many clicks were expected: Poisson clicks and the noise of two aggregators.

The noise of each aggregator is discrete Laplace, P(k) ∝ a^|k| with a = e^{−1/scale}. The sum of two has

    P(z) = ((1 − a)/(1 + a))² · a^|z| · (|z| + (1 + a²)/(1 − a²)),

since in Σ_k a^{|k| + |z − k|} each of the |z| + 1 whole numbers from 0 to z gives a^|z|, and the two at distance
j = 1, 2, … outside give 2·a^{|z| + 2j}.

If the noise of each aggregator is discrete Gaussian, P(k) ∝ e^{−k²/2σ²}, the sum of two has

    P(z) ∝ e^{−z²/4σ²} · Σ_k e^{−(k − z/2)²/σ²},

since k² + (z − k)² = z²/2 + 2(k − z/2)². The sum over k depends on whether z is even or odd, and on nothing else.

A released count is y = copies · k + z with k Poisson.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from discreet.aggregation.task import NoiseKind, Task

Floats = NDArray[np.float64]

_MAX_LOG, _STEP, _ROWS = math.log(32.0), 0.05, 271
"""The table ends at this ln(expected clicks). Above it, clicks are taken as normal."""
_MIN_LOG = _MAX_LOG - _STEP * (_ROWS - 1)

_CLICKS = 100
_TAIL = 16


@dataclass(frozen=True)
class CountLikelihood:
    """ln P(released count | expected clicks), up to what does not depend on the expectation.

    Attributes:
        scale: Of each aggregator's discrete Laplace noise, or σ of its discrete Gaussian noise; 0 for no noise.
        copies: How many readers each reader of a sample stands for.
        noise: Which of the two.
    """

    scale: float
    copies: int = 1
    noise: NoiseKind = NoiseKind.LAPLACE

    @classmethod
    def of(cls, task: Task, copies: int = 1) -> CountLikelihood:
        """Of the counts that a task releases."""
        return cls(float(task.noise_scale), copies, task.noise)

    @cached_property
    def variance(self) -> float:
        """Of the noise in one released count."""
        if not self.scale:
            return 0.0
        if self.noise is NoiseKind.GAUSSIAN:
            away = np.arange(math.ceil(_TAIL * self.scale), dtype=np.float64)
            masses = np.exp(-0.5 * (away / self.scale) ** 2)
            return float(4 * masses @ away**2 / (2 * masses.sum() - 1))
        a = math.exp(-1 / self.scale)
        return 4 * a / (1 - a) ** 2

    def __call__(self, released: NDArray[np.int64], log_expected: Floats) -> Floats:
        """A row for each released count, with its log-likelihood for each expectation in the row of `log_expected`."""
        expected = np.exp(log_expected)
        if not self.scale:
            return released[:, None] / self.copies * log_expected - expected
        table = _table(self.noise, self.scale, self.copies)
        tail = math.ceil(_TAIL * self.scale)
        column = np.clip(released + tail, 0, table.shape[1] - 1)[:, None]
        place = np.clip((log_expected - _MIN_LOG) / _STEP, 0, table.shape[0] - 1.000001)
        low = place.astype(np.int64)
        found = table[low, column]
        found += (place - low) * (table[low + 1, column] - found)
        many = log_expected > _MAX_LOG
        if many.any():
            row = np.nonzero(many)[0]
            end = table[-1, column[row, 0]] - self._normal(released[row], np.full(len(row), math.exp(_MAX_LOG)))
            found[many] = end + self._normal(released[row], expected[many])
        return found

    def _normal(self, released: NDArray[np.int64], expected: Floats) -> Floats:
        """The log-density of Poisson clicks as normal, with the noise's variance, in clicks."""
        variance = expected + self.variance / self.copies**2
        return -0.5 * (np.log(variance) + (released / self.copies - expected) ** 2 / variance)


@lru_cache(maxsize=16)
def _table(kind: NoiseKind, scale: float, copies: int) -> Floats:
    """The log-likelihoods: a row for each ln(expected clicks), a column for each released count."""
    tail = math.ceil(_TAIL * scale)
    log_expected = np.linspace(_MIN_LOG, _MAX_LOG, _ROWS)
    clicks = np.arange(_CLICKS + 1)
    poisson = np.exp(clicks * log_expected[:, None] - np.exp(log_expected)[:, None] - gammaln(clicks + 1))
    away = np.abs(np.arange(-tail, _CLICKS * copies + tail + 1) - copies * clicks[:, None])
    noise = _two_gaussians(scale, away) if kind is NoiseKind.GAUSSIAN else _two_laplaces(scale, away)
    return np.asarray(np.log(np.maximum(poisson @ noise, 1e-300)))


def _two_laplaces(scale: float, away: NDArray[np.int64]) -> Floats:
    """P(z) of two discrete Laplace noises at each |z|."""
    a = math.exp(-1 / scale)
    return np.asarray(a**away * (away + (1 + a * a) / (1 - a * a)) * ((1 - a) / (1 + a)) ** 2)


def _two_gaussians(scale: float, away: NDArray[np.int64]) -> Floats:
    """P(z) of two discrete Gaussian noises at each |z|."""
    places = np.arange(-math.ceil(_TAIL * scale) - 1, math.ceil(_TAIL * scale) + 2)
    whole = np.exp(-0.5 * (places / scale) ** 2).sum()
    even, odd = (np.exp(-(((places - half) / scale) ** 2)).sum() for half in (0.0, 0.5))
    return np.asarray(np.exp(-0.25 * (away / scale) ** 2) * np.where(away % 2, odd, even) / whole**2)
