"""`front_page`: the device ranks with its exact history; popularity comes from noised sums."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.front_page.click_rates import ClickRates, known_rates
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.head import head_scores, learn_head
from discreet.methods.front_page.history_features import Floats, device_features
from discreet.methods.front_page.learnt_weights import WITH_POPULARITY, learn_weights
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.weights import PUBLIC_WEIGHTS
from discreet.methods.front_page.windows import DAY, Log, Window, noise_scale, released_windows
from discreet.methods.method import Method, Scores, State, TrainingTask
from discreet.privacy import accounting
from discreet.privacy.accounting.zcdp import gaussian_rho, zcdp_epsilon
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.lattice import zcdp_multiplier
from discreet.privacy.noise import SimulatedNoise

SHORT = 15
"""Minutes of a window."""

_MAX_EPSILON = 100.0
_MAX_CLICKS = 10
_HEAD, _WEIGHTS = 5, 6


@dataclass(frozen=True, kw_only=True)
class FrontPage(Method):
    """Ranks on the device by its exact history, and by a popularity that is learnt from noised sums over all readers.

    **Theorem.** Let ε = ε₁ + ε₂ + ε₃. Let at most k clicks of a reader count a day, each 1 in one cell of one window,
    and let each aggregator add discrete Laplace noise of scale k/ε₁ to every cell. Let a reader's contribution to the
    weights' sum of a day have length at most Δ₂ in L1, and let each aggregator add discrete Laplace noise of scale
    Δ₂/ε₂ to every entry. Let a reader's contribution to the head's sum of a day have length at most Δ₃, and let each
    aggregator add discrete Gaussian noise of σ ≥ z·Δ₃ to every entry, where zCDP with ρ = 1/2z² implies (ε₃, δ). Then
    all that the publisher and one aggregator see of a day is (ε, δ)-differentially private, and (ε, 0) where there is
    no head: unit a reader, neighbours in which all that the reader contributes that day is there or counts as zero.
    Over at most D days it is private with the ε of D such releases composed. That readers come, when, and which slates
    they are sent is public.

    **Proof.** The cells of a day's windows, one after the other, are one vector of whole numbers. Without the reader's
    contributions it moves by at most k in L1: a click is in one cell, of a window of its own day. The honest
    aggregator's noise alone makes each window private (`aggregation.aggregator_noise`), and the noises of all cells are
    independent, so the likelihood of what is seen changes by e^{k·ε₁/k} at most; that cells and later windows are
    chosen by what was seen before changes nothing, since the reader's device keeps the limit whatever they are. The
    weights' sum moves by at most Δ₂ in L1, and its likelihood by e^{ε₂}; the head's sum moves by at most Δ₃ in L2,
    which costs (ε₃, δ) by zCDP; both whatever weights they were computed at. The three add up; days compose.
    Everything else, what is due, posterior, prior, which weights rank, shrinkage and ranking, is computed from the
    sums, from public slates, times and texts, and, on the device, from its own history, which stays there. ∎

    Attributes:
        epsilon: ε of a reader's day; with `max_days`, of her life.
        max_days: D, on how many days of her life a reader contributes at most; 0 sets no limit, and ε is for a day.
        delta: δ of the budget for life.
        max_clicks: k, how many clicks of a reader count a day; 0 takes the mean number of slates that are sent a day to
            a reader who comes, which is public.
        window_minutes: How long a window is.
        population: Simulate the noise of so many readers: each reader of the data stands for several, whose clicks are
            the same. What is measured so is a simulation, not a result for the readers at hand. 0 stands for these.
        popularity_weight: How much popularity counts. 1 makes clicks most likely; less shows less of what all read.
        head_share: The share of ε that a head has, which learns the interests that go together. It needs many readers,
            some ten thousand a day at ε = 1. 0 has no head, and δ = 0.
        head_quantile: At which quantile of their lengths the head's gradients are clipped, followed by one more private
            number a day; 0 clips them to 1.
        weights_share: The share of ε with which the weights of the features are learnt. The public weights rank until
            the sums speak against them. 0 keeps the public weights.
    """

    name: ClassVar[str] = "front_page"

    epsilon: float = 1.0
    max_days: int = 0
    delta: float = 1e-6
    max_clicks: int = 0
    window_minutes: int = SHORT
    population: int = 0
    popularity_weight: float = 1.0
    head_share: float = 0.0
    head_quantile: float = 0.0
    weights_share: float = 0.0

    def __post_init__(self) -> None:
        if not (0.01 <= self.epsilon <= _MAX_EPSILON or math.isinf(self.epsilon)):
            raise DiscreetError(
                f"{self.name}: epsilon must be from 0.01 to {_MAX_EPSILON:g} (or inf), not {self.epsilon}"
            )
        if not 0 <= self.max_days <= 36525:
            raise DiscreetError(f"{self.name}: max_days must be from 0 to 36525, not {self.max_days}")
        if not 1e-12 <= self.delta < 0.1:
            raise DiscreetError(f"{self.name}: delta must be at least 1e-12 and below 0.1, not {self.delta}")
        if not 0 <= self.max_clicks <= 1000:
            raise DiscreetError(f"{self.name}: max_clicks must be from 0 to 1000, not {self.max_clicks}")
        if self.window_minutes < 1 or 1440 % self.window_minutes:
            raise DiscreetError(f"{self.name}: window_minutes must divide a day of 1440 minutes")
        if not 0 <= self.popularity_weight < math.inf:
            raise DiscreetError(f"{self.name}: popularity_weight must be at least 0, not {self.popularity_weight}")
        if not 0 <= self.head_share < 1:
            raise DiscreetError(f"{self.name}: head_share must be at least 0 and below 1, not {self.head_share}")
        if not 0 <= self.head_quantile < 1:
            raise DiscreetError(f"{self.name}: head_quantile must be at least 0 and below 1, not {self.head_quantile}")
        if not 0 <= self.weights_share < 1 - self.head_share:
            raise DiscreetError(
                f"{self.name}: weights_share must be at least 0, and below 1 with head_share, not {self.weights_share}"
            )
        if self.population < 0:
            raise DiscreetError(f"{self.name}: population must be at least 0, not {self.population}")

    @property
    def daily_epsilon(self) -> float:
        """ε of a reader's day, if there is no head."""
        return self._pure_epsilon(0.0)

    def train(self, task: TrainingTask, seed: int, checkpoint: Path | None = None) -> State:
        """The posterior after all windows of the train split, and the head after all its days."""
        train = task.data.splits["train"]
        learnt, share = self.popularity(task), self._head_share(task)
        windows, state = self._windows(task, [train], seed), {"max_clicks": np.array([self._clicks(task)])}
        if self.weights_share and len(train):
            state["weights"] = self._learn_weights(task, learnt, windows, seed)
        for window in windows:
            learnt.update(window)
        state |= learnt.state()
        if share:
            noise = SimulatedNoise(np.random.SeedSequence([seed, _HEAD]))
            scores = self.device_scores(task, train)
            multiplier = self._head_multiplier(share)
            state |= learn_head(task, scores, multiplier, self._copies(task), noise, self.head_quantile)
        return state

    def _learn_weights(self, task: TrainingTask, learnt: ClickRates, windows: Iterator[Window], seed: int) -> Floats:
        """The weights after all days of the train split, and `learnt` after all its windows."""
        train = task.data.splits["train"]
        levels = {-1: learnt.slate_clicks}
        rates = known_rates(learnt, _watched(windows, learnt, levels), train, 60 * self.window_minutes)
        features = np.column_stack((device_features(task, PublicArticles.of(task), train), rates))
        noise = SimulatedNoise(np.random.SeedSequence([seed, _WEIGHTS]))
        epsilon, copies = self._weights_epsilon(task), self._copies(task)

        def slate_clicks(today: int) -> float:
            return levels[max(day for day in levels if day <= today)]

        return learn_weights(train, features, epsilon, slate_clicks, copies, noise)

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Device features with public weights, the head, and the log rate known when the impression's window began."""
        weights = state.get("weights", WITH_POPULARITY)
        rates = self.log_rates(task, state, impressions, seed)
        scores = self.device_scores(task, impressions, weights[:-1]) + self.popularity_weight * weights[-1] * rates
        return np.asarray(scores + head_scores(task, state, impressions) if "head" in state else scores)

    def device_scores(self, task: TrainingTask, impressions: Impressions, weights: Floats = PUBLIC_WEIGHTS) -> Scores:
        """What each device makes of its own history, at ε = 0 with public weights."""
        return np.asarray(device_features(task, PublicArticles.of(task), impressions) @ weights)

    def log_rates(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Of each shown article the popularity, from windows that had ended before the impression's own began.

        Devices go on contributing while the split is served: its own earlier windows count.
        """
        learnt = self.popularity(task)
        if len(impressions) and int(impressions.time.min()) >= int(state["until"][0]):
            learnt.restore(state)
        windows = self._windows(task, list(task.data.splits.values()), seed, learnt.until)
        return known_rates(learnt, windows, impressions, 60 * self.window_minutes)

    def guarantee(self, state: State) -> Guarantee:
        """For a reader's day, or with `max_days` for life; the theorem is above."""
        scope = Scope.LIFETIME if self.max_days else Scope.DAY
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("clicks in sums without noise", scope)
        clicks = int(state["max_clicks"][0]) if "max_clicks" in state else self.max_clicks or "few"
        mechanism = f"at most {clicks} click{'' if clicks == 1 else 's'} a day in windowed sums"
        mechanism += f" on at most {self.max_days} days" if self.max_days else ""
        mechanism += ", discrete Laplace noise of each aggregator"
        share = self.head_share if "head" in state else 0.0
        if "weights" in state:
            mechanism += "; weights from a clipped gradient a day, discrete Laplace noise"
        if share:
            mechanism += "; a head from a clipped gradient a day, discrete Gaussian noise"
        mechanism += " (simulated"
        mechanism += f"; noise as for {self.population:,} readers)" if self.population else ")"
        return Guarantee(
            epsilon=self.lifetime(self.max_days, share) if self.max_days else self.epsilon,
            delta=self.delta if self.max_days or share else 0.0,
            unit=Unit.USER,
            adjacency=Adjacency.ZERO_OUT,
            adversary=Adversary.PUBLISHER_AND_AGGREGATOR,
            scope=scope,
            status=Status.PROVED,
            mechanism=mechanism,
        )

    def lifetime(self, days: int, head_share: float = 0.0) -> float:
        """ε, at δ, of a reader who contributes on so many days; a head has that share of it."""
        delta = self.delta / 2 if head_share else self.delta
        pure = _lifetime(self._pure_epsilon(head_share), delta, days)
        if not head_share:
            return pure
        return pure + zcdp_epsilon(days * gaussian_rho(self._head_multiplier(head_share)), delta)

    def _pure_epsilon(self, head_share: float) -> float:
        """ε of a reader's day that popularity and weights have together."""
        epsilon = (1 - head_share) * self.epsilon
        if not self.max_days or math.isinf(epsilon):
            return epsilon
        return _daily_epsilon(epsilon, self.delta / 2 if head_share else self.delta, self.max_days)

    def _head_multiplier(self, head_share: float) -> float:
        """z, each aggregator's noise over the sensitivity of the head's sum."""
        epsilon = head_share * self.epsilon
        if math.isinf(epsilon):
            return 0.0
        if not self.max_days:
            return zcdp_multiplier(epsilon, self.delta)
        return math.sqrt(self.max_days) * zcdp_multiplier(epsilon, self.delta / 2)

    def _head_share(self, task: TrainingTask) -> float:
        """The share of the head; without any text there is nothing that it could learn."""
        public = PublicArticles.of(task)
        return self.head_share if public.vectors.any() or len(public.share) > 1 else 0.0

    def popularity(self, task: TrainingTask) -> ClickRates:
        """What is known of popularity before the first sum."""
        scale = 0.0 if math.isinf(self.epsilon) else noise_scale(self._epsilon(task), self._clicks(task))
        return ClickRates(CountLikelihood(scale, self._copies(task)), PublicArticles.of(task).text)

    def windows(self, task: TrainingTask, seed: int) -> Iterator[Window]:
        """What is released of all days of a data set, in the order of time."""
        return self._windows(task, list(task.data.splits.values()), seed)

    def _epsilon(self, task: TrainingTask) -> float:
        """What popularity costs a reader a day."""
        share = self._head_share(task)
        return self._pure_epsilon(share) * (1 - self.weights_share / (1 - share))

    def _weights_epsilon(self, task: TrainingTask) -> float:
        """What weights cost a reader a day."""
        share = self._head_share(task)
        return self._pure_epsilon(share) * (self.weights_share / (1 - share))

    def _windows(self, task: TrainingTask, parts: Sequence[Impressions], seed: int, since: int = 0) -> Iterator[Window]:
        """What is released of the windows of `parts`, from `since` on."""
        seconds = 60 * self.window_minutes
        log = Log.of(parts, len(task.data.readers), seconds, seed, self._clicks(task))
        copies = self._copies(task)
        return released_windows(log, seconds, self._epsilon(task), copies, seed, since, self._clicks(task))

    def _clicks(self, task: TrainingTask) -> int:
        """k, from what is public: how many slates were sent, and who came."""
        train = task.data.splits["train"]
        return self.max_clicks or min(_MAX_CLICKS, max(1, round(len(train) / max(1, _visits(train)))))

    def _copies(self, task: TrainingTask) -> int:
        """How many readers each reader of the train split stands for."""
        return max(1, self.population // max(1, len(np.unique(task.data.splits["train"].reader))))


def _watched(windows: Iterator[Window], learnt: ClickRates, levels: dict[int, float]) -> Iterator[Window]:
    """The same windows; `levels` gets how many clicks a slate gives, by what `learnt` knew at the end of each day."""
    for window in windows:
        yield window
        levels[(window.end - 1) // DAY] = learnt.slate_clicks


def _visits(impressions: Impressions) -> int:
    """On how many days all readers together came."""
    return len(np.unique(np.stack((impressions.reader, impressions.time // DAY)), axis=1).T)


@lru_cache(maxsize=64)
def _lifetime(epsilon: float, delta: float, days: int) -> float:
    """What so many days of a pure ε cost.

    Discrete Laplace noise with a sensitivity of 1 has a privacy loss of ±ε and nothing between, as randomised response
    has, which dominates whatever is ε-DP.
    """
    event = accounting.rounds(accounting.DiscreteLaplaceDpEvent(epsilon, 1), participations=days)
    return min(days * epsilon, accounting.compose([event], adjacency=Adjacency.ZERO_OUT).epsilon(delta))


@lru_cache(maxsize=64)
def _daily_epsilon(epsilon: float, delta: float, days: int) -> float:
    """The largest ε of a day with which so many days cost at most `epsilon`."""

    def of_life(noise: float) -> accounting.DpEvent:
        return accounting.rounds(accounting.DiscreteLaplaceDpEvent(1 / noise, 1), participations=days)

    return max(epsilon / days, 1 / accounting.calibrate(of_life, epsilon, delta))
