"""The weights of the features, learnt from one more sum a day: how far clicks are from what the weights expected.

At the end of a day each device contributes how its clicks pull the weights, and by how much the candidate would have
ranked its slates better than the weights that it began with (`edge.reader.sums.weight_pull`). The sum over readers has
discrete Laplace noise of each aggregator.

**What the sums tell.** Let N readers clicked, and let a slate tell F of the weights (its Fisher information). The sum
of a day at weights w is then about normal, with mean N·F·(w* − w) around the best weights w*, and with covariance
N·F + V, where V is the noise's. With a normal prior around the weights that it began with, each give or take half of
it, the posterior of w* is normal, too, and its mean is the candidate of the next day. F is that of generated worlds,
and N comes from the sums of popularity: no number of readers who clicked is ever told.

**The first weights rank until two tests speak against them.** There is a candidate only where first weights that are
right would hardly ever see such sums: s'I⁻¹s, for the summed evidence s of information I, would be chi-squared, and
must be beyond what one site in a hundred sees by chance. And the candidate ranks only where its summed gain in AUC, on
days that came after what it was learnt from, is beyond two standard deviations of noise and chance: weights that make
clicks more likely do not always order them better. All of it is decided by released numbers, and by what is public.
The simulator and a server call the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from discreet.aggregation.aggregator_noise import AGGREGATORS, noise_deviation, share_noise
from discreet.aggregation.task import DAY, OF_EACH_WINDOW, Kind, Per, Task
from discreet.data.news import Impressions
from discreet.edge.reader.sums.weight_pull import reader_pulls
from discreet.methods.front_page.weights import FISHER, PUBLIC_WEIGHTS
from discreet.methods.method import State
from discreet.privacy.noise import Noise
from discreet.protocol.weight_cells import LATTICE, LENGTH, MAX_PULL, MAX_TOTAL, MEASURE, UNITS

Floats = NDArray[np.float64]

SENSITIVITY = MAX_TOTAL * LATTICE
"""The greatest length of a contribution in L1, on the lattice."""
WITH_POPULARITY = np.append(PUBLIC_WEIGHTS, 1.0)
"""The public weights of the features, and of popularity, which comes last."""

_UNITS = np.array(UNITS)
_PRIOR = 0.5
_CHANCE = 0.99
_GAIN_VARIANCE, _DEVIATIONS = 0.25, 2.0
"""The variance of a gain between readers, in its unit (at most), and when it is beyond chance."""
_LEAST = 1e-6


def weights_task(
    epsilon: float, *, start: int = 0, windows: int = 1, name: str = MEASURE, leader: str = "", helper: str = ""
) -> Task:
    """The terms of the sums, in which a window is a day.

    Args:
        epsilon: What a reader's day costs.
        start: When the first day begins.
        windows: How many days there are.
        name: How people call it.
        leader: Address of the aggregator that takes reports; empty where aggregators are simulated.
        helper: Address of the other one.
    """
    return Task(
        name=name,
        purpose="Learns how much each thing should count that your device ranks by, such as what you read before and"
        " how new an article is, from how far what you opened stood from what was expected.",
        kind=Kind.SIGNEDVEC,
        length=LENGTH,
        max_value=MAX_PULL * LATTICE,
        max_total=SENSITIVITY,
        start=start,
        window_seconds=DAY,
        windows=windows,
        per=Per.DAY,
        epsilon=epsilon,
        measure=MEASURE,
        cells=OF_EACH_WINDOW,
        leader=leader,
        helper=helper,
    )


def learn_weights(
    train: Impressions,
    features: Floats,
    epsilon: float,
    slate_clicks: Callable[[int], float],
    copies: int,
    noise: Noise,
) -> Floats:
    """Learn from the days of the train split, one after the other.

    Args:
        train: What was shown and clicked.
        features: A row for each shown article: the features, and the log rate that devices knew then.
        epsilon: What the sum of a day costs a reader; infinity for no noise.
        slate_clicks: How many clicks a slate gives, by what was known when a day had ended.
        copies: How many readers each reader stands for.
        noise: Of both aggregators.
    """
    task = None if np.isinf(epsilon) else weights_task(epsilon)
    known = WeightPosterior()
    day = train.time // DAY
    for today in np.unique(day).tolist():
        slates = train.select(day == today)
        shown = features[np.repeat(day == today, train.slate_sizes)]
        candidate = known.candidate
        total = copies * weight_contributions(slates, shown, candidate).sum(axis=0)
        if task is not None:
            total += sum(share_noise(task, noise) for _ in range(AGGREGATORS))
        clicking = clicking_readers(len(np.unique(slates.reader)), slate_clicks(today), len(slates))
        known.update(total / (LATTICE * copies), pull_variance(task) / copies**2, candidate, clicking)
    return known.weights


def weight_contributions(slates: Impressions, features: Floats, weights: Floats) -> NDArray[np.int64]:
    """What each reader who comes contributes for a day, one in a row; each from her own slates alone."""
    row = np.unique(slates.reader, return_inverse=True)[1]
    return reader_pulls(features, slates.clicked, slates.slate, row, weights, WITH_POPULARITY, LATTICE)


def pull_variance(task: Task | None) -> float:
    """Of the noise in each number of a collected sum, in units; without a task there is none."""
    return 0.0 if task is None else (noise_deviation(task) * MAX_PULL / task.max_value) ** 2


def clicking_readers(readers: float, slate_clicks: float, slates: float) -> float:
    """About how many of a day's readers clicked: as many as there were clicks, but not more than there were readers."""
    return min(readers, slate_clicks * slates)


@dataclass(eq=False)
class WeightPosterior:
    """What the released sums of all days so far tell of the weights: a normal posterior in its information form.

    Attributes:
        first: The weights that rank before any sum: the public ones, or those of a run.
        information: I.
        evidence: s.
        gain: The summed gain of candidates.
        gain_variance: Its variance, noise and chance.
    """

    first: Floats = field(default_factory=lambda: WITH_POPULARITY)
    information: Floats = field(default_factory=lambda: np.zeros_like(FISHER))
    evidence: Floats = field(default_factory=lambda: np.zeros(len(FISHER)))
    gain: float = 0.0
    gain_variance: float = 0.0

    def update(self, pull: Floats, variance: float, at: Floats, readers: float) -> None:
        """Learn from the sum of one more day.

        Args:
            pull: The released sum, each feature in its unit; the last number is the candidate's gain.
            variance: Of the noise in each of its numbers.
            at: The candidate at which devices computed it.
            readers: About how many readers clicked.
        """
        if not np.array_equal(at, self.first):
            self.gain += float(pull[-1])
            self.gain_variance += variance + readers * _GAIN_VARIANCE
        told = readers * FISHER
        spread = told + np.diag(variance * _UNITS**2 + _LEAST)
        weighed = np.linalg.solve(spread, told).T
        self.information += weighed @ told
        self.evidence += weighed @ (pull[:-1] * _UNITS + told @ (at - self.first))

    @property
    def weights(self) -> Floats:
        """The candidate, if it was seen to rank better; else the first weights."""
        return self.candidate if self.gain > self.least_gain else self.first

    @property
    def candidate(self) -> Floats:
        """The posterior mean, or the first weights as long as the sums do not speak against them."""
        if self.chi_squared <= MAX_CHI_SQUARED:
            return self.first
        prior = np.diag((_PRIOR * WITH_POPULARITY) ** -2.0)
        return np.asarray(self.first + np.linalg.solve(prior + self.information, self.evidence))

    @property
    def chi_squared(self) -> float:
        """How far the sums speak against the first weights: beyond `MAX_CHI_SQUARED` it is hardly chance."""
        least = _LEAST * np.eye(len(FISHER))
        return float(self.evidence @ np.linalg.solve(self.information + least, self.evidence))

    @property
    def least_gain(self) -> float:
        """What the gain must be beyond, so that it is hardly chance."""
        return float(_DEVIATIONS * self.gain_variance**0.5)

    def state(self) -> State:
        """All that was learnt, as arrays; `of` takes them back."""
        gain = np.array([self.gain, self.gain_variance])
        return {"weights_information": self.information, "weights_evidence": self.evidence, "weights_gain": gain}

    @classmethod
    def of(cls, state: State, first: Floats = WITH_POPULARITY) -> WeightPosterior:
        """Go on from a state; from nothing, where it has none."""
        if "weights_gain" not in state:
            return cls(first)
        gain, variance = state["weights_gain"].tolist()
        return cls(first, state["weights_information"].copy(), state["weights_evidence"].copy(), gain, variance)


MAX_CHI_SQUARED = float(chdtri(len(FISHER), 1 - _CHANCE))
"""What public weights that are right exceed one time in a hundred."""
