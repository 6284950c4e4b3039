"""From noised topic counts to a reader's interest: the posterior mean under a prior learnt from the reports.

The server knows the noise exactly, so it knows how much to believe each count. A count n of H clicks has the prior
beta-binomial(H, s·m_k, s·(1 − m_k)): topic k has the share m_k in the mean reader, and readers differ the more the
smaller s is. Both are estimated from the sketches themselves, so all of this is post-processing and costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from discreet.methods.method import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MIN_SHARE = 0.002
_CONCENTRATIONS = np.geomspace(0.5, 200.0, 61)
_MAX_EXACT_LENGTH, _MAX_SUMMED_RELEASES, _AT_ONCE = 400, 16, 256
_BETWEEN_READERS = 0.005
"""A first guess of the variance of shares between readers, to weigh them; the result hardly depends on it."""


class ReaderPrior(Protocol):
    """What is known of readers in general, and how a sketch makes it particular."""

    @property
    def mean(self) -> Floats:
        """The mean reader's share of each topic."""
        ...

    def interest(self, values: Floats, clicks: Ints, releases: Ints) -> Floats:
        """How each reader differs from the mean one, from the sums of released vectors."""
        ...

    def to_state(self) -> State:
        """As arrays, to be kept with a run."""
        ...


@dataclass(frozen=True, eq=False)
class MeanReader:
    """Knows the mean of what was released, and takes it away."""

    mean: Floats

    @classmethod
    def learn(cls, values: Floats, releases: Ints) -> MeanReader:
        """The mean release."""
        return cls(values.sum(axis=0) / max(int(releases.sum()), 1))

    def interest(self, values: Floats, clicks: Ints, releases: Ints) -> Floats:
        """The reader's mean release, minus that of all."""
        return values / np.maximum(releases, 1)[:, None] - self.mean

    def to_state(self) -> State:
        """As arrays."""
        return {"prior_mean": self.mean}


@dataclass(frozen=True, eq=False)
class CodePrior:
    """How common each code is among readers; a reported set of codes then has a posterior over codes."""

    mean: Floats
    epsilon: float

    @classmethod
    def learn(cls, reported: Floats, epsilon: float) -> CodePrior:
        """Shares by expectation maximisation of the likelihood π·(1 + (e^ε − 1)·1[code reported])."""
        prior = cls(np.full(reported.shape[1], 1 / reported.shape[1]), epsilon)
        for _ in range(50):
            posterior = prior._posterior(reported)
            prior = cls(posterior.mean(axis=0) if len(reported) else prior.mean, epsilon)
        return prior

    def interest(self, values: Floats, clicks: Ints, releases: Ints) -> Floats:
        """The posterior probability of each code, minus its share among all."""
        return self._posterior(values) - self.mean

    def _posterior(self, reported: Floats) -> Floats:
        odds = np.maximum(self.mean, 1e-6) * np.where(reported > 0, 1.0, math.exp(-self.epsilon))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def to_state(self) -> State:
        """As arrays."""
        return {"prior_mean": self.mean}


@dataclass(frozen=True, eq=False)
class TopicPrior:
    """What topic counts look like before any is seen.

    Attributes:
        mean: m, the share of each topic in the mean reader.
        concentration: s, how alike readers are.
        epsilon: ε of each sketch, which fixes its noise (P(z) ∝ e^{−ε|z|/2}); infinity for none.
    """

    mean: Floats
    concentration: float
    epsilon: float
    _priors: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def learn(cls, counts: Floats, clicks: Ints, releases: Ints, epsilon: float) -> TopicPrior:
        """Moments of the noised counts, with the noise's own variance taken away."""
        heard = clicks > 0
        counts, length = counts[heard], clicks[heard].astype(np.float64)
        noise = releases[heard] * noise_variance(epsilon)
        if not len(length):
            return cls(np.full(counts.shape[1], 1 / counts.shape[1]), float(_CONCENTRATIONS[-1]), epsilon)
        weight = 1 / (_BETWEEN_READERS * length**2 + noise + length / counts.shape[1])
        mean = np.maximum((weight * length) @ counts / (weight @ length**2), _MIN_SHARE)
        mean /= mean.sum()
        spread = ((counts - length[:, None] * mean) ** 2).sum(axis=1) - counts.shape[1] * noise
        unlike = float((mean * (1 - mean)).sum())
        weight = 1 / (length**2 + counts.shape[1] * noise)
        expected = length[:, None] * unlike * (length[:, None] + _CONCENTRATIONS) / (1 + _CONCENTRATIONS)
        misfit = weight @ (spread[:, None] - expected)
        return cls(mean, float(_CONCENTRATIONS[np.abs(misfit).argmin()]), epsilon)

    def interest(self, counts: Floats, clicks: Ints, releases: Ints) -> Floats:
        """E[n/H | noised counts] − m for each reader: how much more than others they read of each topic."""
        interest = np.zeros(counts.shape)
        for length, times in {(int(h), int(r)) for h, r in zip(clicks, releases, strict=True) if h > 0}:
            readers = np.flatnonzero((clicks == length) & (releases == times))
            interest[readers] = self._expected(counts[readers], length, times) / length - self.mean
        return interest

    def to_state(self) -> State:
        """As arrays."""
        return {"prior_mean": self.mean, "prior_concentration": np.array([self.concentration])}

    def _expected(self, counts: Floats, length: int, releases: int) -> Floats:
        """E[n | noised counts] of readers with the same number of clicks and releases.

        Exact up to some hundred clicks; beyond, noise is small compared with them, and the best linear estimate is as
        good.
        """
        if math.isinf(self.epsilon):
            return counts
        if length > _MAX_EXACT_LENGTH or releases > _MAX_SUMMED_RELEASES:
            s, prior = self.concentration, length * self.mean
            variance = prior * (1 - self.mean) * (length + s) / (1 + s)
            trust = variance / (variance + releases * noise_variance(self.epsilon))
            return np.asarray(prior + trust * (counts - prior))
        possible = np.arange(length + 1)
        seen, which = np.unique(counts, return_inverse=True)
        log_noise = _log_noise(seen[:, None] - possible, self.epsilon, releases)
        which = which.reshape(counts.shape)
        log_prior = self._log_prior(length)
        expected = np.empty(counts.shape)
        for start in range(0, len(counts), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            log_odds = log_prior + log_noise[which[some]]
            odds = np.exp(log_odds - log_odds.max(axis=2, keepdims=True))
            expected[some] = odds @ possible / odds.sum(axis=2)
        return expected

    def _log_prior(self, length: int) -> Floats:
        """The log-probability of each number of clicks on each topic, up to a constant; a row for each topic."""
        if length not in self._priors:
            possible = np.arange(length + 1)
            a, b = self.concentration * self.mean[:, None], self.concentration * (1 - self.mean[:, None])
            ways = gammaln(length + 1) - gammaln(possible + 1) - gammaln(length - possible + 1)
            self._priors[length] = ways + betaln(possible + a, length - possible + b)
        return self._priors[length]


def noise_variance(epsilon: float) -> float:
    """The variance of one discrete Laplace draw with P(z) ∝ α^|z|, α = e^{−ε/2}: 2α/(1 − α)²."""
    if math.isinf(epsilon):
        return 0.0
    alpha = math.exp(-epsilon / 2)
    return 2 * alpha / (1 - alpha) ** 2


def _log_noise(sums: Floats, epsilon: float, releases: int) -> Floats:
    """The log-probability of each sum of r draws, up to a constant.

    A draw is the difference of two geometric variables, so a sum of r draws is that of two negative binomial ones:
    P(z) ∝ α^z Σ_j C(j + r − 1, r − 1) C(j + z + r − 1, r − 1) α^{2j} for z ≥ 0, which is C(z + r − 1, r − 1) times the
    hypergeometric series 2F1(r, z + r; z + 1; α²). By the transformations of Euler and Pfaff the series is, up to a
    factor without z, the finite sum Σ_{k<r} C(r − 1, k) (r)_k / (z + 1)_k · (α²/(1 − α²))^k, where (x)_k = x(x + 1)…
    (x + k − 1). All its terms are positive, so it is exact for every z; Horner's scheme adds it up.
    """
    z = np.abs(sums)
    ways, series, odds = np.ones(z.shape), np.ones(z.shape), math.exp(-epsilon) / -math.expm1(-epsilon)
    for k in reversed(range(releases - 1)):
        series = 1 + series * odds * ((releases - 1 - k) * (releases + k) / (k + 1)) / (z + 1 + k)
        ways *= 1 + z / (k + 1)
    return np.asarray(np.log(ways * series) - epsilon / 2 * z)
