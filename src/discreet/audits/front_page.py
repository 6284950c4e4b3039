"""Audits of `front_page`, registered when this module is imported.

- One aggregator's share of a window, by the exact probabilities of its noise.
- One cell on all days of a life, with discrete Gaussian noise, by the exact probabilities of what the days add up to.
- A reader's whole day: how far the shipped bounding lets a reader's log move all sums of the day, whatever she clicks;
  and a life of such days, with the noise that the shipped budget has for a day.
- The weights' sum of a day: how long in L1 the shipped clipping lets a reader's contribution be.
- The head's sum: how long the shipped code lets a reader's contribution be, from her history and all her slates of all
  days, whatever she reads and clicks; and how often she is in it.
- The head's judges: how long in L1 a judge's contribution is, from all her slates.
- Non-interference: with the released sums fixed, what everybody else is shown does not depend on a reader's clicks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.signal import fftconvolve

from discreet.aggregation.task import NoiseKind
from discreet.audits.audit_registry import Audit, Exact, register
from discreet.audits.hockey_stick import HockeyStick, Pair
from discreet.audits.noninterference import NonInterference
from discreet.audits.sum_noise import ShareMasses
from discreet.data.news import Articles, Impressions, NewsData
from discreet.methods.front_page.click_rates import known_rates
from discreet.methods.front_page.daily_budget import DailyBudget
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.head import head_lattice, head_scores
from discreet.methods.front_page.head_articles import HeadArticles
from discreet.methods.front_page.head_contribution import LENGTH, head_contributions
from discreet.methods.front_page.head_judges import SENSITIVITY as JUDGE_SENSITIVITY
from discreet.methods.front_page.head_judges import judge_contributions
from discreet.methods.front_page.history_features import device_features
from discreet.methods.front_page.learnt_weights import weight_contributions, weights_task
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.weight_posterior import WITH_POPULARITY, WeightPrior
from discreet.methods.front_page.windows import DAY, Log, Window, noise_scale, popularity_task, released_windows
from discreet.methods.method import State, TrainingTask
from discreet.privacy.distributed_gaussian import DistributedGaussian
from discreet.privacy.guarantee import Status
from discreet.privacy.participation_cost import gaussian_epsilon, multiplier_for

_READERS, _ARTICLES, _SLATE, _HOUR = 6, 12, 5, 3600
_LIFE_DAYS, _DELTA, _NAMED = 30, 1e-6, "Gaussian noise, ε=1 δ=1e-06"
_DEVIATIONS = 15


def life_price(days: int, max_clicks: int = 1) -> DayPrice:
    """What the shipped budget has for a day of a life at ε = 1."""
    return DailyBudget(1.0, _DELTA, days, 0.0, 0.0).popularity_price(max_clicks)


def audited_log(clicks: int | None, seed: int = 1) -> NewsData:
    """Two days of a small site. Reader 0 comes every two hours; all others' clicks are always the same.

    Args:
        clicks: The seed of reader 0's clicks and history, any number of them in a slate; None for no click at all, and
            a history of one article.
        seed: Of everything else.
    """
    public, own = np.random.default_rng(seed), np.random.default_rng(clicks)
    times = np.arange(0, 2 * DAY, _HOUR // 2)
    reader = np.where(np.arange(len(times)) % 4 == 0, 0, public.integers(1, _READERS, len(times))).astype(np.int32)
    shown = np.stack([public.choice(_ARTICLES, _SLATE, replace=False) for _ in times]).astype(np.int32)
    clicked = public.random(shown.shape) < 0.3
    histories = public.integers(0, _ARTICLES, (len(times), 3)).astype(np.int32)
    mine = reader == 0
    clicked[mine] = False if clicks is None else own.random((mine.sum(), _SLATE)) < own.choice((0.1, 0.5, 1.0))
    histories[mine] = 0 if clicks is None else own.integers(0, _ARTICLES, (mine.sum(), 3))
    starts, sizes = 3 * np.arange(len(times)), np.full(len(times), 3)
    sizes[mine] = 1 if clicks is None else own.integers(0, 4, mine.sum())
    split = Impressions(
        reader=reader,
        time=times,
        slate=_SLATE * np.arange(len(times) + 1),
        shown=shown.ravel(),
        clicked=clicked.ravel(),
        timeline=histories.ravel(),
        history_start=starts,
        history_stop=starts + sizes,
    )
    titles = [f"title {i % 5} of {i % 3}" for i in range(_ARTICLES)]
    empty = [""] * _ARTICLES
    numbers = [str(i) for i in range(_ARTICLES)]
    articles = Articles(numbers, titles, [str(i % 3) for i in range(_ARTICLES)], empty, empty, np.zeros(_ARTICLES, int))
    return NewsData("audited", articles, [str(i) for i in range(_READERS)], {"train": split})


@dataclass(frozen=True)
class DayCost(Exact):
    """The ε that a day of a reader really costs: the most that her clicks move all sums of the day, over the scale.

    With discrete Gaussian noise it is the ε at δ of so many such days, in L2, of the Gaussian with the same σ.
    """

    price: DayPrice
    seconds: int
    max_clicks: int = 1
    logs: int = 40
    days: int = 1
    delta: float = 0.0

    def lower_bound(self, error: float, seed: int) -> float:
        """By running the shipped bounding on logs of a reader who clicks as she likes, and on one without clicks."""
        without = self._day_sums(audited_log(None))
        moved = [self._day_sums(audited_log(clicks)) - without for clicks in range(self.logs)]
        scale = noise_scale(self.price, self.max_clicks)
        if self.price.noise is NoiseKind.LAPLACE:
            return float(max(np.abs(move).sum(axis=1).max() for move in moved)) / scale
        longest = max(float(np.linalg.norm(move, axis=1).max()) for move in moved)
        return gaussian_epsilon(scale / (longest * math.sqrt(self.days)), self.delta)

    def _day_sums(self, data: NewsData) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """A row for each day: all cells of all its windows. The noise is always the same, so differences are exact."""
        log = Log.of([data.splits["train"]], len(data.readers), self.seconds, 0, self.max_clicks)
        sums = np.zeros((2, DAY // self.seconds, _ARTICLES), np.int64)
        for window in released_windows(log, self.seconds, self.price, 1, 0, max_clicks=self.max_clicks):
            day, within = divmod(window.end // self.seconds - 1, DAY // self.seconds)
            sums[day, within, window.articles] = window.released
        return sums.reshape(2, -1)


@dataclass(frozen=True)
class LifeMasses:
    """One cell on so many days, with one aggregator's discrete Gaussian noise: a reader clicks it each day, or never.

    Its likelihood ratio depends on the sum over the days alone, so the sum tells all that the days tell.
    """

    price: DayPrice
    days: int

    def __call__(self) -> Pair:
        """The masses of the sum, exact but for float64 and the tails."""
        places = np.arange(-math.ceil(_DEVIATIONS * (scale := noise_scale(self.price))), 1)
        half = np.exp(-0.5 * (places / scale) ** 2)
        masses = one = np.concatenate((half, half[-2::-1])) / (2 * half.sum() - 1)
        for _ in range(self.days - 1):
            masses = fftconvolve(masses, one)
        masses = np.maximum(masses, 0.0)
        moved = np.zeros(self.days)
        return np.concatenate((moved, masses)), np.concatenate((masses, moved))


@dataclass(frozen=True)
class HeadCost(Exact):
    """The ε that the head really costs a teacher: all that she is in the sum with, over one aggregator's noise."""

    epsilon: float
    delta: float
    logs: int = 20

    def lower_bound(self, error: float, seed: int) -> float:
        """By running the shipped code on both days of a reader who reads and clicks as she likes."""
        lattice = head_lattice(multiplier_for(self.epsilon, self.delta, 1))
        longest = max(_head_length(clicks, lattice) for clicks in range(self.logs))
        return gaussian_epsilon(float(lattice.party_deviation) / longest, self.delta)


@dataclass(frozen=True)
class JudgeCost(Exact):
    """The ε that judging a head really costs: the longest contribution of a judge in L1, over the noise."""

    epsilon: float
    logs: int = 20

    def lower_bound(self, error: float, seed: int) -> float:
        """By running the shipped code on both days of a reader, with heads of any size."""
        longest = max(_judge_length(clicks, size) for clicks in range(self.logs) for size in (0.1, 100.0))
        return self.epsilon * longest / JUDGE_SENSITIVITY


@dataclass(frozen=True)
class WeightsCost(Exact):
    """The ε that the weights' sum of a day really costs: the longest contribution of a reader in L1, over the noise."""

    epsilon: float
    logs: int = 20
    directions: int = 0

    def lower_bound(self, error: float, seed: int) -> float:
        """By running the shipped clipping and rounding on logs of a reader, with popularity and head of any size."""
        each = ((clicks, spread) for clicks in range(self.logs) for spread in (1.0, 100.0))
        longest = max(_weights_length(clicks, spread, self.directions) for clicks, spread in each)
        return self.epsilon * longest / weights_task(1.0, directions=self.directions).total


def _first_day(data: NewsData) -> Impressions:
    """What reader 0 is shown on her first day."""
    split = data.splits["train"]
    return split.select((split.reader == 0) & (split.time < DAY))


def _weights_length(clicks: int, spread: float, directions: int) -> int:
    """How long in L1 the contribution of reader 0 is on her first day: she is the only one here."""
    data = audited_log(clicks)
    mine, task = _first_day(data), TrainingTask(data, "hashed")
    rates = spread * np.random.default_rng(clicks).normal(size=(len(mine.shown), 1 + directions))
    features = np.column_stack((device_features(task, PublicArticles.of(task), mine), rates))
    prior = WeightPrior.with_head(WITH_POPULARITY, np.zeros(directions), np.ones(directions))
    told = (prior.told(sign * prior.first) for sign in (1, -1))
    return max(int(np.abs(weight_contributions(mine, features, each)).sum()) for each in told)


def _mine(data: NewsData) -> Impressions:
    """What reader 0 is shown on all days."""
    split = data.splits["train"]
    return split.select(split.reader == 0)


def _head_length(clicks: int, lattice: DistributedGaussian) -> float:
    """How long all contributions of reader 0 to the head are together: she is the only one here."""
    mine, task = _mine(audited_log(clicks)), TrainingTask(audited_log(clicks), "hashed")
    rows = head_contributions(mine, HeadArticles.of(task), np.zeros(len(mine.shown)))
    return sum(float(np.linalg.norm(row)) for some in rows for row in lattice.integers(some).astype(np.float64))


def _judge_length(clicks: int, size: float) -> int:
    """How long in L1 the contribution of reader 0 is if she judges a head that adds scores of this size."""
    mine = _mine(audited_log(clicks))
    drawn = np.random.default_rng(clicks)
    without, added = drawn.normal(size=len(mine.shown)), size * drawn.normal(size=len(mine.shown))
    return int(np.abs(judge_contributions(mine, without, added)).sum())


def others_see(clicks: int | None, released: Sequence[Window], max_days: int = 0) -> bytes:
    """All that readers other than reader 0 are shown, as scores, if these sums were released."""
    data, method = audited_log(clicks), FrontPage(epsilon=1.0, window_minutes=60, max_days=max_days)
    split, task = data.splits["train"], TrainingTask(data, "hashed")
    others = split.select(split.reader != 0)
    rates = known_rates(method.popularity(task), released, others, _HOUR)
    head: State = {"head": np.linspace(-1, 1, LENGTH), **HeadArticles.of(task).state(task)}
    return bytes((method.device_scores(task, others) + head_scores(task, head, others) + rates).tobytes())


def _register() -> None:
    for epsilon in (0.5, 3.0):
        task = popularity_task(_HOUR, DayPrice(epsilon), length=4)
        setting = f"one cell, one share, ε={epsilon:g}, exact"
        register(Audit("front_page", setting, Status.PROVED, epsilon, HockeyStick(ShareMasses(task), 0.0)))
    for seconds, clicks in ((_HOUR, 1), (_HOUR // 4, 1), (_HOUR, 3)):
        setting = f"a reader's day in windows of {seconds // 60} minutes, at most {clicks} clicks, ε=1, exact"
        register(Audit("front_page", setting, Status.PROVED, 1.0, DayCost(DayPrice(1.0), seconds, clicks)))
    for clicks in (1, 3):
        price = life_price(_LIFE_DAYS, clicks)
        setting = f"{_LIFE_DAYS} days for life, at most {clicks} clicks a day, {_NAMED}, exact"
        cost = DayCost(price, _HOUR, clicks, days=_LIFE_DAYS, delta=_DELTA)
        register(Audit("front_page", setting, Status.PROVED, 1.0, cost))
    setting = f"one cell, one share, {_LIFE_DAYS} days for life, {_NAMED}, exact"
    masses = LifeMasses(life_price(_LIFE_DAYS), _LIFE_DAYS)
    register(Audit("front_page", setting, Status.PROVED, 1.0, HockeyStick(masses, _DELTA)))
    setting = "the weights' sum of a day, ε=1, exact"
    register(Audit("front_page", setting, Status.PROVED, 1.0, WeightsCost(1.0)))
    setting = "the sum of a day of weights and a head's directions, ε=1, exact"
    register(Audit("front_page", setting, Status.PROVED, 1.0, WeightsCost(1.0, directions=8)))
    setting = "the head, history and all slates of a teacher, ε=1, δ=1e-6, exact"
    register(Audit("front_page", setting, Status.PROVED, 1.0, HeadCost(1.0, 1e-6)))
    register(Audit("front_page", "a judge of the head, ε=1, exact", Status.PROVED, 1.0, JudgeCost(1.0)))
    log = Log.of([audited_log(0).splits["train"]], _READERS, _HOUR, seed=0)
    for days, price, noise in ((0, DayPrice(1.0), ""), (_LIFE_DAYS, life_price(_LIFE_DAYS), ", Gaussian noise")):
        released = tuple(released_windows(log, _HOUR, price, 1, 0))
        test = NonInterference(partial(others_see, max_days=days), (None, 0, 1, 2, 3), released)
        register(Audit("front_page", f"others' rankings, sums fixed{noise}", Status.PROVED, 0.0, test))


_register()
