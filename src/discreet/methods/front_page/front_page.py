"""`front_page`: the device ranks with its exact history; popularity comes from noised sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.aggregation.task import NoiseKind
from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.front_page.click_rates import ClickRates, known_rates
from discreet.methods.front_page.daily_budget import DailyBudget
from discreet.methods.front_page.head import head_scores, is_worth_its_noise, learn_head, matched
from discreet.methods.front_page.head_articles import HeadArticles
from discreet.methods.front_page.head_judges import DEVIATIONS, judged, judges
from discreet.methods.front_page.history_features import Floats, device_features
from discreet.methods.front_page.learnt_weights import learn_weights
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.weight_posterior import WITH_POPULARITY
from discreet.methods.front_page.weights import PUBLIC_WEIGHTS
from discreet.methods.front_page.windows import (
    DAY,
    Log,
    Window,
    count_likelihood,
    daily_exposure,
    min_exposure,
    released_windows,
)
from discreet.methods.method import Method, Scores, State, TrainingTask
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.noise import SimulatedNoise

SHORT = 15
"""Minutes of a window."""

AUTO = "auto"

_AUTO_SHARE, _AUTO_LIFE_SHARE = 0.8, 1 / 3
_MAX_EPSILON = 100.0
_MAX_CLICKS = 10
_NOISE_OF_CHANCE = 0.25
_NOISES = {NoiseKind.LAPLACE: "discrete Laplace", NoiseKind.GAUSSIAN: "discrete Gaussian"}
_HEAD, _WEIGHTS, _JUDGES = 5, 6, 7


@dataclass(frozen=True, kw_only=True)
class FrontPage(Method):
    """Ranks on the device by its exact history, and by a popularity that is learnt from noised sums over all readers.

    **Theorem.** Let ε = ε₁ + ε₂ + ε₃. Let at most k clicks of a reader count a day, each 1 in one cell of one window,
    and let each aggregator add discrete Laplace noise of scale k/ε₁ to every cell. Let a reader's contribution to the
    weights' sum of a day have length at most Δ₂ in L1, and let each aggregator add discrete Laplace noise of scale
    Δ₂/ε₂ to every entry. Let all that a reader ever gives to the head be (ε₃, δ)-differentially private (`head`,
    `head_judges`). Then all that the publisher and one aggregator see of what comes from a day is (ε, δ)-differentially
    private, and (ε, 0) where no head was trained: unit a reader, neighbours in which all that she contributes from that
    day is there or counts as zero, the head's contribution if that day has a part in it. From a day after the head's
    training nothing goes into the head; there ε = ε₁ + ε₂ and δ = 0. Over at most D days it is private with the ε of D
    releases of ε₁ + ε₂, composed, and ε₃ once. That readers come, when, and which slates they are sent is public.

    In a budget for life the noise of popularity may be discrete Gaussian instead, of σ = √(k/2ρ₁). Then the sums of n
    days together are n·(ρ₁ + ε₂²/2)-zCDP, and so (ε, δ)-differentially private with the ε that this implies; ε₃ comes
    on top once. The noise is the smaller of the two (`daily_budget`), by numbers that are public.

    **Proof.** The cells of a day's windows, one after the other, are one vector of whole numbers. Without the reader's
    contributions it moves by at most k in L1: a click is in one cell, of a window of its own day. The honest
    aggregator's noise alone makes each window private (`aggregation.aggregator_noise`), and the noises of all cells are
    independent, so the likelihood of what is seen changes by e^{k·ε₁/k} at most; that cells and later windows are
    chosen by what was seen before changes nothing, since the reader's device keeps the limit whatever they are. The
    weights' sum moves by at most Δ₂ in L1, and its likelihood by e^{ε₂}, whatever weights it was computed at. The head
    costs (ε₃, δ), whatever popularity its contributions were computed with. The three add up; days compose. With
    discrete Gaussian noise the cells of a day move by at most √k in L2, so the day's popularity is ρ₁-zCDP, also where
    cells are chosen by what was seen before (`aggregation.aggregator_noise`, "Per day"); a pure ε₂ is ε₂²/2-zCDP, and ρ
    adds up over days (`daily_budget` has the proof). Everything else, which noise, what is due, posterior, prior, which
    weights rank, whether the head does, and ranking, is computed from the sums, from public slates, times and texts,
    and, on the device, from its own history, which stays there. ∎

    Attributes:
        epsilon: ε of a reader's day; with `max_days`, of her life.
        max_days: D, on how many days of her life a reader contributes at most; 0 sets no limit, and ε is for a day.
            With a limit popularity has discrete Laplace or discrete Gaussian noise, whichever is smaller.
        delta: δ of the budget for life.
        max_clicks: k, how many clicks of a reader count a day; 0 chooses by what is public (`_clicks`): as many as
            slates are sent a day to a reader who comes, but no more than the noise allows.
        window_minutes: How long a window is.
        population: Simulate the noise of so many readers: each reader of the data stands for several, whose clicks are
            the same. What is measured so is a simulation, not a result for the readers at hand. 0 stands for these.
        popularity_weight: How much popularity counts. 1 makes clicks most likely; less shows less of what all read.
        head_share: The share of ε that a head has, which learns the interests that go together. "auto" is 0.8 of what
            weights leave (of a budget for life a third) where the noise lets so many readers teach one, and else 0
            (`head.is_worth_its_noise`). A head ranks only if some readers found that it ranks better (`head_judges`).
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
    head_share: float | str = AUTO
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
        if self.head_share != AUTO and not (isinstance(self.head_share, float | int) and 0 <= self.head_share < 1):
            raise DiscreetError(
                f"{self.name}: head_share must be auto, or at least 0 and below 1, not {self.head_share}"
            )
        if not 0 <= self.weights_share < 1 - (0 if isinstance(self.head_share, str) else self.head_share):
            raise DiscreetError(
                f"{self.name}: weights_share must be at least 0, and below 1 with head_share, not {self.weights_share}"
            )
        if self.population < 0:
            raise DiscreetError(f"{self.name}: population must be at least 0, not {self.population}")

    @property
    def daily_epsilon(self) -> float:
        """ε of a reader's day, if there is no head and all noise is discrete Laplace."""
        return self._divided(0.0).sums_epsilon()

    @property
    def life(self) -> DailyBudget | None:
        """The budget of a reader's life without head and weights, if there is one."""
        if not self.max_days or math.isinf(self.epsilon):
            return None
        return DailyBudget(self.epsilon, self.delta, self.max_days, 0.0, 0.0)

    def train(self, task: TrainingTask, seed: int, checkpoint: Path | None = None) -> State:
        """The posterior after all windows of the train split, the weights after all its days, and then the head."""
        train, learnt, budget = task.data.splits["train"], self.popularity(task), self.budget(task)
        state: State = {"max_clicks": np.array([self._clicks(task)])}
        levels = {-1: learnt.slate_clicks}
        windows = _watched(self._windows(task, [train], seed), learnt, levels)
        if not len(train) or not (self.weights_share or budget.head):
            for window in windows:
                learnt.update(window)
            return state | learnt.state()
        rates = known_rates(learnt, windows, train, 60 * self.window_minutes)
        features = device_features(task, PublicArticles.of(task), train)
        if self.weights_share:
            noise = SimulatedNoise(np.random.SeedSequence([seed, _WEIGHTS]))
            epsilon, known = budget.weights_epsilon(teaches=True), np.column_stack((features, rates))
            found = learn_weights(train, known, epsilon, _level_of(levels), self._copies(task), noise)
            state["weights"] = found.weights
        if budget.head:
            scores = _weighted(features, rates, state, self.popularity_weight)
            state |= self._learn_head(task, budget, scores, seed)
        return state | learnt.state()

    def _learn_head(self, task: TrainingTask, budget: DailyBudget, scores: Scores, seed: int) -> State:
        """What the head's share of ε gave: a head, if those who judge it found that it ranks better."""
        train, copies = task.data.splits["train"], self._copies(task)
        noise = SimulatedNoise(np.random.SeedSequence([seed, _HEAD]))
        judge = judges(len(task.data.readers), np.random.default_rng([seed, _JUDGES]))[train.reader]
        teachers, judging = train.select(~judge), train.select(judge)
        of_judge = np.repeat(judge, train.slate_sizes)
        articles = HeadArticles.of(task)
        head = learn_head(teachers, articles, scores[~of_judge], budget.head_multiplier, copies, noise)
        added = matched(articles, head, judging)
        gain, deviation = judged(judging, scores[of_judge], added, budget.head_epsilon, copies, noise)
        spent: State = {"head_share": np.array([budget.head]), "head_gain": np.array([gain, deviation])}
        return spent | {"head": head} | articles.state(task) if gain > DEVIATIONS * deviation else spent

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Device features with public weights, the head, and the log rate known when the impression's window began."""
        rates = self.log_rates(task, state, impressions, seed)
        features = device_features(task, PublicArticles.of(task), impressions)
        scores = _weighted(features, rates, state, self.popularity_weight)
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
        known = int(state["max_clicks"][0]) if "max_clicks" in state else self.max_clicks
        clicks, share = known or "few", self._share_of(state)
        mechanism = f"at most {clicks} click{'' if clicks == 1 else 's'} a day in windowed sums"
        mechanism += f" on at most {self.max_days} days" if self.max_days else ""
        mechanism += f", {self._noises(share, known)} noise of each aggregator"
        if "weights" in state:
            mechanism += "; weights from a clipped gradient a day, discrete Laplace noise"
        if share:
            mechanism += "; a head from one matrix of each reader, discrete Gaussian noise"
        mechanism += " (simulated"
        mechanism += f"; noise as for {self.population:,} readers)" if self.population else ")"
        return Guarantee(
            epsilon=self.lifetime(self.max_days, share, known) if self.max_days else self.epsilon,
            delta=self.delta if self.max_days or share else 0.0,
            unit=Unit.USER,
            adjacency=Adjacency.ZERO_OUT,
            adversary=Adversary.PUBLISHER_AND_AGGREGATOR,
            scope=scope,
            status=Status.PROVED,
            mechanism=mechanism,
        )

    def lifetime(self, days: int, head_share: float = 0.0, max_clicks: int = 0) -> float:
        """ε, at δ, of a reader who contributes on so many days; a head has that share of it, once.

        It depends on the noise, and so on k. Where neither `max_clicks` nor the method's own says k, it is the ε of the
        noise that costs more.
        """
        return max(self._divided(head_share).lifetime(days, k) for k in self._possible_clicks(max_clicks))

    def _possible_clicks(self, max_clicks: int) -> Sequence[int]:
        """How many clicks count: k if it is known, else the least and the most, for the noise depends on it."""
        known = max_clicks or self.max_clicks
        return (known,) if known else (1, _MAX_CLICKS)

    def _noises(self, head_share: float, max_clicks: int) -> str:
        """The noise of popularity, by its name; both where k is not known and decides."""
        budget = self._divided(head_share)
        kinds = dict.fromkeys(budget.popularity_price(k).noise for k in self._possible_clicks(max_clicks))
        return " or ".join(_NOISES[kind] for kind in kinds)

    def budget(self, task: TrainingTask) -> DailyBudget:
        """How ε is divided, by what is public: without any text there is nothing that a head could learn."""
        public = PublicArticles.of(task)
        if not public.vectors.any() and len(public.share) < 2:
            return self._divided(0.0)
        if isinstance(self.head_share, float | int):
            return self._divided(self.head_share)
        chosen = self._divided(self._most_for_head)
        readers = len(np.unique(task.data.splits["train"].reader)) * self._copies(task)
        return chosen if is_worth_its_noise(readers, chosen.head_multiplier) else self._divided(0.0)

    @property
    def _most_for_head(self) -> float:
        if isinstance(self.head_share, float | int):
            return self.head_share
        return (_AUTO_LIFE_SHARE if self.max_days else _AUTO_SHARE) * (1 - self.weights_share)

    def _divided(self, head_share: float) -> DailyBudget:
        return DailyBudget(self.epsilon, self.delta, self.max_days, head_share, self.weights_share)

    def _share_of(self, state: State) -> float:
        """The share that was spent for a head, whether it ranks or not."""
        if "head_share" in state:
            return float(state["head_share"][0])
        return self._most_for_head if "head" in state else 0.0

    def popularity(self, task: TrainingTask) -> ClickRates:
        """What is known of popularity before the first sum."""
        clicks = self._clicks(task)
        price = self.budget(task).popularity_price(clicks)
        return ClickRates(count_likelihood(price, clicks, self._copies(task)), PublicArticles.of(task).text)

    def windows(self, task: TrainingTask, seed: int) -> Iterator[Window]:
        """What is released of all days of a data set, in the order of time."""
        return self._windows(task, list(task.data.splits.values()), seed)

    def _windows(self, task: TrainingTask, parts: Sequence[Impressions], seed: int, since: int = 0) -> Iterator[Window]:
        """What is released of the windows of `parts`, from `since` on; a day that taught a head has less of ε."""
        seconds, copies, clicks = 60 * self.window_minutes, self._copies(task), self._clicks(task)
        log, budget = Log.of(parts, len(task.data.readers), seconds, seed, clicks), self.budget(task)
        train = task.data.splits["train"]
        taught = (int(train.time.max()) // DAY + 1) * DAY if budget.head and len(train) else 0
        teaching, later = budget.popularity_price(clicks, teaches=True), budget.popularity_price(clicks)
        return chain(
            released_windows(log, seconds, teaching, copies, seed, since, clicks, until=taught),
            released_windows(log, seconds, later, copies, seed, max(since, taught), clicks),
        )

    def _clicks(self, task: TrainingTask) -> int:
        """k, from what is public: how many slates were sent, who came, and how often articles were shown.

        It is the mean number of slates that are sent a day to a reader who comes. Noise grows with k, clicks only of
        those who click often. So k is 1, or so small that the noise of a cell is about a quarter of what chance is in a
        day's clicks on an article of mean exposure. The noise is whichever is smaller: k times that of one click if it
        is Laplace, √k times if it is Gaussian.
        """
        if self.max_clicks:
            return self.max_clicks
        train = task.data.splits["train"]
        wanted = min(_MAX_CLICKS, max(1, round(len(train) / max(1, _visits(train)))))
        if math.isinf(self.epsilon):
            return wanted
        most = _NOISE_OF_CHANCE * math.sqrt(daily_exposure(train) * self._copies(task))
        growth = {NoiseKind.LAPLACE: 1, NoiseKind.GAUSSIAN: 2}
        prices = DailyBudget(self.epsilon, self.delta, self.max_days, 0.0, 0.0).popularity_prices()
        allowed = max(int((most / min_exposure(price)) ** growth[price.noise]) for price in prices)
        return max(1, min(wanted, allowed))

    def _copies(self, task: TrainingTask) -> int:
        """How many readers each reader of the train split stands for."""
        return max(1, self.population // max(1, len(np.unique(task.data.splits["train"].reader))))


def _watched(windows: Iterator[Window], learnt: ClickRates, levels: dict[int, float]) -> Iterator[Window]:
    """The same windows; `levels` gets how many clicks a slate gives, by what `learnt` knew at the end of each day."""
    for window in windows:
        yield window
        levels[(window.end - 1) // DAY] = learnt.slate_clicks


def _level_of(levels: Mapping[int, float]) -> Callable[[int], float]:
    """How many clicks a slate gives, by what was known when a day had ended."""
    return lambda today: levels[max(day for day in levels if day <= today)]


def _weighted(features: Floats, rates: Floats, state: State, popularity_weight: float) -> Scores:
    """What a device scores without a head: its features and popularity, each with its weight."""
    weights = state.get("weights", WITH_POPULARITY)
    return np.asarray(features @ weights[:-1] + popularity_weight * weights[-1] * rates)


def _visits(impressions: Impressions) -> int:
    """On how many days all readers together came."""
    return len(np.unique(np.stack((impressions.reader, impressions.time // DAY)), axis=1).T)
