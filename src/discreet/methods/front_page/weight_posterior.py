"""What the released sums of all days tell of the weights of a ranking: a normal posterior, and when it ranks.

**What the sums tell.** Let N readers clicked, and let a slate tell F of the weights (its Fisher information). The sum
of a day at weights w is then about normal, with mean N·F·(w* − w) around the best weights w*, and with covariance
N·F + V, where V is the noise's. With a normal prior around the weights that it began with the posterior of w* is
normal, too, and its mean is the candidate of the next day. F is that of generated worlds, and N comes from the sums of
popularity: no number of readers who clicked is ever told.

**The first weights rank until two tests speak against them.** There is a candidate only where first weights that are
right would hardly ever see such sums: s'I⁻¹s, for the summed evidence s of information I, would be chi-squared, and
must be beyond what one site in a hundred sees by chance. Where a head is learnt, what its directions add to s'I⁻¹s is
tested in the same way: if that is chance, the head stays, and only the weights of features may change. And the
candidate ranks only where its summed gain in AUC, on days that came after what it was learnt from, is beyond two
standard deviations of noise and chance: weights that make clicks more likely do not always order them better. All of it
is decided by released numbers, and by what is public.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from discreet.methods.front_page.weights import (
    FISHER,
    HEAD_DEVIATION,
    HEAD_FISHER,
    HEAD_UNCLIPPED,
    HEAD_WITH_FEATURES,
    PUBLIC_WEIGHTS,
)
from discreet.methods.method import State
from discreet.protocol.weight_cells import UNITS, ToldWeights

Floats = NDArray[np.float64]

WITH_POPULARITY = np.append(PUBLIC_WEIGHTS, 1.0)
"""The public weights of the features, and of popularity, which comes last."""

_SIZE = len(WITH_POPULARITY)
_DEVIATION = 0.5 * WITH_POPULARITY
_CHANCE = 0.99
_GAIN_VARIANCE, _DEVIATIONS = 0.25, 2.0
"""The variance of a gain between readers, in its unit (at most), and when it is beyond chance."""
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class WeightPrior:
    """What is known of the weights before any sum.

    Attributes:
        first: The weights that rank before any sum: the public ones, or those of a run. Those of a head come last.
        units: In which devices give their gradients.
        fisher: F.
        deviation: The prior's, of each weight.
        unclipped: What each released number is multiplied with, because clipping has made it smaller.
    """

    first: Floats = field(default_factory=lambda: WITH_POPULARITY)
    units: Floats = field(default_factory=lambda: np.array(UNITS))
    fisher: Floats = field(default_factory=lambda: FISHER)
    deviation: Floats = field(default_factory=lambda: _DEVIATION)
    unclipped: Floats = field(default_factory=lambda: np.ones(_SIZE))

    @classmethod
    def with_head(cls, first: Floats, head: Floats, units: Floats) -> WeightPrior:
        """With a head as well.

        Args:
            first: The weights of the features, and of popularity.
            head: The weights λ of the head's directions, 0 where nothing is known.
            units: Of its features z̄ₖzₖ: the variance of zₖ between articles.
        """
        scale = np.concatenate((np.ones(_SIZE), units))
        fisher = np.diag(np.full(len(scale), HEAD_FISHER))
        fisher[:_SIZE, :_SIZE] = FISHER
        fisher[:_SIZE, _SIZE:] = HEAD_WITH_FEATURES[:, None]
        fisher[_SIZE:, :_SIZE] = HEAD_WITH_FEATURES
        return cls(
            np.concatenate((first, head)),
            np.concatenate((UNITS, units)),
            fisher * np.outer(scale, scale),
            np.concatenate((_DEVIATION, np.hypot(HEAD_DEVIATION / units, head / 2))),
            np.repeat((1.0, HEAD_UNCLIPPED), (_SIZE, len(units))),
        )

    @property
    def directions(self) -> int:
        """How many of the weights are those of a head."""
        return len(self.first) - _SIZE

    def told(self, candidate: Floats) -> ToldWeights:
        """What devices are told for a day."""
        return ToldWeights(*(tuple(each.tolist()) for each in (candidate, self.first, self.units)))


@dataclass(eq=False)
class WeightPosterior:
    """What the released sums of all days so far tell of the weights: a normal posterior in its information form.

    Attributes:
        prior: What was known before them.
        information: I.
        evidence: s.
        gain: The summed gain of candidates.
        gain_variance: Its variance, noise and chance.
    """

    prior: WeightPrior = field(default_factory=WeightPrior)
    information: Floats = field(init=False)
    evidence: Floats = field(init=False)
    gain: float = 0.0
    gain_variance: float = 0.0

    def __post_init__(self) -> None:
        self.information, self.evidence = np.zeros_like(self.prior.fisher), np.zeros(len(self.prior.first))

    def update(self, pull: Floats, variance: float, at: Floats, readers: float) -> None:
        """Learn from the sum of one more day.

        Args:
            pull: The released sum, each feature in its unit; the last number is the candidate's gain.
            variance: Of the noise in each of its numbers.
            at: The candidate at which devices computed it; of the first weights only, where it tells of no others.
            readers: About how many readers clicked.
        """
        size = len(at)
        first, units = self.prior.first[:size], self.prior.units[:size]
        scale = units * self.prior.unclipped[:size]
        if not np.array_equal(at, first):
            self.gain += float(pull[-1])
            self.gain_variance += variance + readers * _GAIN_VARIANCE
        told = readers * self.prior.fisher[:size, :size]
        spread = told + np.diag(variance * scale**2 + _LEAST * units**2)
        weighed = np.linalg.solve(spread, told).T
        self.information[:size, :size] += weighed @ told
        self.evidence[:size] += weighed @ (pull[:-1] * scale + told @ (at - first))

    @property
    def weights(self) -> Floats:
        """The candidate, if it was seen to rank better; else the first weights."""
        return self.candidate if self.gain > self.least_gain else self.prior.first

    @property
    def candidate(self) -> Floats:
        """The posterior mean, or the first weights as long as the sums do not speak against them."""
        found = self.prior.first.copy()
        if self.prior.directions and self.head_chi_squared > self.max_head_chi_squared:
            learnt = len(found)
        elif self.chi_squared > MAX_CHI_SQUARED:
            learnt = _SIZE
        else:
            return found
        precision = np.diag(self.prior.deviation[:learnt] ** -2.0) + self.information[:learnt, :learnt]
        found[:learnt] += np.linalg.solve(precision, self.evidence[:learnt])
        return found

    @property
    def chi_squared(self) -> float:
        """How far the sums speak against the features' first weights: beyond `MAX_CHI_SQUARED` it is hardly chance."""
        return self._chi_squared(_SIZE)

    @property
    def head_chi_squared(self) -> float:
        """How much further they speak against the first head; `max_head_chi_squared` is the bound."""
        return self._chi_squared(len(self.evidence)) - self.chi_squared

    @property
    def max_head_chi_squared(self) -> float:
        """What a first head that is right exceeds one time in a hundred."""
        return float(chdtri(self.prior.directions, 1 - _CHANCE))

    @property
    def least_gain(self) -> float:
        """What the gain must be beyond, so that it is hardly chance."""
        return float(_DEVIATIONS * self.gain_variance**0.5)

    def state(self) -> State:
        """All that was learnt, as arrays; `of` takes them back."""
        gain = np.array([self.gain, self.gain_variance])
        return {"weights_information": self.information, "weights_evidence": self.evidence, "weights_gain": gain}

    @classmethod
    def of(cls, state: State, prior: WeightPrior) -> WeightPosterior:
        """Go on from a state, with those of its weights that the prior has; from nothing, where it has none."""
        found = cls(prior)
        if "weights_gain" in state:
            size = min(len(state["weights_evidence"]), len(prior.first))
            found.gain, found.gain_variance = state["weights_gain"].tolist()
            found.information[:size, :size] = state["weights_information"][:size, :size]
            found.evidence[:size] = state["weights_evidence"][:size]
        return found

    def _chi_squared(self, size: int) -> float:
        least = np.diag(_LEAST * self.prior.units[:size] ** 2)
        return float(
            self.evidence[:size] @ np.linalg.solve(self.information[:size, :size] + least, self.evidence[:size])
        )


MAX_CHI_SQUARED = float(chdtri(_SIZE, 1 - _CHANCE))
"""What public weights that are right exceed one time in a hundred."""
