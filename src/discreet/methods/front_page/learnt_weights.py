"""The weights of the features, learnt from one more sum a day: how far clicks are from what the weights expected.

A slate whose clicked article has features x_c, and whose articles have features x_j, pulls the weights by

    g = x_c − Σ_j p_j x_j,   p the soft-max of the scores that the device gave:

the gradient of the click's log-likelihood. At the end of a day each device contributes the mean of g over its slates
with a click, each feature in its public unit, clipped to length `MAX_LENGTH` in L1, on a lattice. One more number says
by how much the learnt weights would have ranked these slates better than the public ones, in AUC, from −1 to 1 in units
of a tenth. A device without clicks contributes zeros. The sum over readers has discrete Laplace noise of each
aggregator.

**What the sums tell.** Let N readers clicked, and let a slate tell F of the weights (its Fisher information). The sum
of a day at weights w is then about normal, with mean N·F·(w* − w) around the best weights w*, and with covariance
N·F + V, where V is the noise's. With a normal prior around the public weights, each give or take half of it, the
posterior of w* is normal, too, and its mean is the candidate of the next day.

**The public weights rank until two tests speak against them.** There is a candidate only where public weights that are
right would hardly ever see such sums: s'I⁻¹s, for the summed evidence s of information I, would be chi-squared, and
must be beyond what one site in a hundred sees by chance. And the candidate ranks only where its summed gain in AUC, on
days that came after what it was learnt from, is beyond two standard deviations of noise and chance: weights that make
clicks more likely do not always order them better. All of it is decided by released numbers, and by what is public.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.front_page.history_features import FEATURES
from discreet.methods.front_page.weights import FISHER, PUBLIC_WEIGHTS
from discreet.methods.method import Scores
from discreet.privacy.noise import Noise, rounded_up

Floats = NDArray[np.float64]

UNIT = 2**16
"""Steps of the lattice in the length 1."""
MAX_LENGTH = 4
"""The most, in L1, that a reader pulls in a day. About half of all slates pull less."""
SENSITIVITY = (MAX_LENGTH + 1) * UNIT
"""The greatest length of a contribution in L1, on the lattice: it is rounded towards zero."""
WITH_POPULARITY = np.append(PUBLIC_WEIGHTS, 1.0)
"""The public weights of the features, and of popularity, which comes last."""

_PUBLIC = [FEATURES.index("recency"), len(FEATURES)]
"""Features that depend on no history. What slates tell of their weights is public."""
_UNITS = np.sqrt(np.diag(FISHER))
_PRIOR = 0.5
_CHANCE = 0.99
_TENTH, _GAIN_VARIANCE, _DEVIATIONS = 0.1, 0.25, 2.0
"""The unit of a gain in AUC, its variance between readers in this unit (at most), and when it is beyond chance."""
_LEAST = 1e-6
_DAY = 86400


def learn_weights(
    train: Impressions, features: Floats, epsilon: float, readers_clicking: float, copies: int, noise: Noise
) -> Floats:
    """Learn from the days of the train split, one after the other.

    Args:
        train: What was shown and clicked.
        features: A row for each shown article: the features, and the log rate that devices knew then.
        epsilon: What the sum of a day costs a reader; infinity for no noise.
        readers_clicking: The share of the readers of a day who click, from released sums.
        copies: How many readers each reader stands for.
        noise: Of both aggregators.
    """
    scale = None if np.isinf(epsilon) else rounded_up(Fraction(SENSITIVITY) / Fraction(epsilon))
    known = WeightPosterior()
    day = train.time // _DAY
    for today in np.unique(day).tolist():
        slates = train.select(day == today)
        shown = features[np.repeat(day == today, train.slate_sizes)]
        candidate = known.candidate
        total = copies * weight_contributions(slates, shown, candidate).sum(axis=0)
        if scale is not None:
            total += sum(noise.discrete_laplace(scale, len(total)) for _ in range(2))
        clicking = readers_clicking * len(np.unique(slates.reader))
        variance = 0.0 if scale is None else 4 * (float(scale) / UNIT / copies) ** 2
        known.update(total / (UNIT * copies), variance, candidate, fisher(slates, shown), clicking)
    return known.weights


def weight_contributions(slates: Impressions, features: Floats, weights: Floats) -> NDArray[np.int64]:
    """What each reader who comes contributes for a day, one in a row; each from her own slates alone."""
    clicks = np.add.reduceat(slates.clicked.astype(np.float64), slates.slate[:-1])
    each = slates.impression_of_shown
    surprise = slates.clicked / np.maximum(clicks, 1)[each] - _chances(slates, features @ weights)
    pull = np.add.reduceat(features * surprise[:, None], slates.slate[:-1], axis=0) / _UNITS
    pull[clicks == 0] = 0.0
    pull = np.column_stack((pull, _auc_gains(slates, features, weights) / _TENTH))
    row = np.unique(slates.reader, return_inverse=True)[1]
    mean = np.zeros((int(row.max(initial=-1)) + 1, pull.shape[1]))
    np.add.at(mean, row, pull)
    mean /= np.maximum(np.bincount(row, clicks > 0), 1)[:, None]
    length = np.abs(mean[:, :-1]).sum(axis=1, keepdims=True)
    mean[:, :-1] *= MAX_LENGTH / np.maximum(length, MAX_LENGTH)
    mean[:, -1] = np.clip(mean[:, -1], -1, 1)
    return np.trunc(mean * (UNIT * (1 - 2.0**-40))).astype(np.int64)


def _auc_gains(slates: Impressions, features: Floats, weights: Floats) -> Floats:
    """By how much the weights rank each slate better than the public ones; 0 for a slate that has no AUC."""
    found = np.zeros(len(slates))
    if not np.array_equal(weights, WITH_POPULARITY):
        with suppress(DiscreetError):  # no slate has an AUC
            learnt, public = (ranking_metrics(features @ each, slates) for each in (weights, WITH_POPULARITY))
            found[learnt.impression] = learnt["auc"] - public["auc"]
    return found


def fisher(slates: Impressions, features: Floats) -> Floats:
    """What a slate tells of the weights: of recency's and popularity's by public slates, of the others' by worlds."""
    found = FISHER.copy()
    public = features[:, _PUBLIC]
    chance = _chances(slates, public @ WITH_POPULARITY[_PUBLIC])[:, None]
    apart = public - np.add.reduceat(public * chance, slates.slate[:-1], axis=0)[slates.impression_of_shown]
    found[np.ix_(_PUBLIC, _PUBLIC)] = (apart * chance).T @ apart / len(slates)
    return found


def _chances(slates: Impressions, scores: Scores) -> Floats:
    """The soft-max of each slate's scores."""
    each = slates.impression_of_shown
    chance = np.exp(scores - np.maximum.reduceat(scores, slates.slate[:-1])[each])
    return np.asarray(chance / np.add.reduceat(chance, slates.slate[:-1])[each])


@dataclass(eq=False)
class WeightPosterior:
    """What the released sums of all days so far tell of the weights: a normal posterior in its information form."""

    information: Floats = field(default_factory=lambda: np.zeros_like(FISHER))
    evidence: Floats = field(default_factory=lambda: np.zeros(len(FISHER)))
    gain: float = 0.0
    gain_variance: float = 0.0

    def update(self, pull: Floats, variance: float, at: Floats, told: Floats, readers: float) -> None:
        """Learn from the sum of one more day.

        Args:
            pull: The released sum, each feature in its unit; the last number is the candidate's gain.
            variance: Of the noise in each of its numbers.
            at: The candidate at which devices computed it.
            told: What one slate tells of the weights.
            readers: About how many readers clicked.
        """
        if not np.array_equal(at, WITH_POPULARITY):
            self.gain += float(pull[-1])
            self.gain_variance += variance + readers * _GAIN_VARIANCE
        told = readers * told
        spread = told + np.diag(variance * _UNITS**2 + _LEAST)
        weighed = np.linalg.solve(spread, told).T
        self.information += weighed @ told
        self.evidence += weighed @ (pull[:-1] * _UNITS + told @ (at - WITH_POPULARITY))

    @property
    def weights(self) -> Floats:
        """The candidate, if it was seen to rank better; else the public weights."""
        is_better = self.gain > _DEVIATIONS * self.gain_variance**0.5
        return self.candidate if is_better else WITH_POPULARITY

    @property
    def candidate(self) -> Floats:
        """The posterior mean, or the public weights as long as the sums do not speak against them."""
        if not self.is_beyond_chance:
            return WITH_POPULARITY
        prior = np.diag((_PRIOR * WITH_POPULARITY) ** -2.0)
        return np.asarray(WITH_POPULARITY + np.linalg.solve(prior + self.information, self.evidence))

    @property
    def is_beyond_chance(self) -> bool:
        """Whether public weights, if they were right, would hardly ever see such sums."""
        least = _LEAST * np.eye(len(FISHER))
        found = float(self.evidence @ np.linalg.solve(self.information + least, self.evidence))
        return found > float(chdtri(len(FISHER), 1 - _CHANCE))
