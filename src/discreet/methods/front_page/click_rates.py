"""What released sums tell of each article's click rate: a posterior, which knows how noisy the sums are.

An article with log rate θ is clicked, where it is shown, e^θ times as often as one of which nothing is known. In a
slate of C articles the mean article has 1/C of the clicks, so the sum of 1/C over slates is its exposure, and the mean
article expects exposure · level clicks in a window. The level, how many clicks a slate gives, is the same for all and
follows the sums.

θ has a normal prior, around what a ridge regression on public text predicts from the released sums of all articles.
Rates are skewed: with a deviation of σ the mean of e^θ is e^{σ²/2}, and that is the rate of the mean article. So an
article expects exposure · level · e^{θ − σ²/2} clicks, and one of which much is known and that is clicked as the mean
ranks above one of which nothing is known. The posterior stands on a grid. Each hour the evidence of the past loses some
weight, because news ages.

Where articles that are shown more are also clicked more each time they are shown, prominence is a factor besides θ
(`exposure_slope`): in the clicks that are expected, and in the log rate that ranks. It changes with what is shown, θ
belongs to the article. Articles then differ less in θ, because prominence explains a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.blas_threads import one_blas_thread
from discreet.data.news import Impressions
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.exposure_slope import ExposureSlope
from discreet.methods.front_page.windows import DAY, Window
from discreet.methods.method import State

Floats = NDArray[np.float64]

GRID = np.linspace(-4, 4, 33)
FORGET_HOURLY = 0.03
PRIOR_DEVIATION, PROMINENT_DEVIATION = 0.7, 0.3
"""σ, of θ around its prior mean: by itself, and where prominence explains a part of what articles differ in."""
RIDGE = 30.0
MAX_IDLE = 3 * 86400
"""Seconds after which an article that is shown no more is forgotten."""

EXPOSURE_STATE = ("exposed", "exposed_moments", "exposed_before", "prominence")
"""The arrays of a state that tell of exposure."""

_MAX_PRIOR = 1.5
_LEVEL, _LEVEL_VARIANCE = 0.7, 0.25
"""Prior mean and variance of the clicks that a slate gives."""
_MIN_LEVEL = 0.01
_MIN_ARTICLES = 30
_MIN_EXPECTED = 0.02
_FEW, _FAR = 30, 20
"""So many clicks, and deviations, beyond the largest rate nothing true is found."""


class ClickRates:
    """The posterior of all articles that are shown. It sees released sums, and nothing else of anybody.

    Args:
        likelihood: Of a released count, where its window does not say otherwise.
        text: What rates are predicted from, a row for each article of the catalogue.
    """

    def __init__(self, likelihood: CountLikelihood, text: Floats) -> None:
        self.until = 0
        self.likelihood, self._text = likelihood, text
        self._row = np.full(len(text), -1, np.int64)
        self._article = np.zeros(0, np.int64)
        self._evidence = np.zeros((0, len(GRID)))
        self._sums = np.zeros((0, 3))  # expected clicks, released clicks, variance of the noise; with forgetting
        self._shown = np.zeros(0, np.int64)
        self._level = np.zeros(3)  # of all articles together: slates, released clicks, variance of the noise
        self._slope = np.zeros(text.shape[1])
        self.exposure_slope = ExposureSlope.of_nothing()

    def log_rate(self, articles: NDArray[np.integer]) -> Floats:
        """The mean of θ of each article, of its posterior or, where no sum has had it, of its prior; and prominence."""
        found = self._prior(articles)
        row = self._row[articles]
        known = row >= 0
        weight = self._evidence[row[known]] - 0.5 * ((GRID - found[known, None]) / self._deviation) ** 2
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        found[known] = weight @ GRID / weight.sum(axis=1)
        return np.asarray(found + self.exposure_slope.effect()[row])  # row -1, of what no window had, is the last one

    def update(self, window: Window) -> None:
        """Learn from the released sum of one more window."""
        if self.until // DAY < (window.end - 1) // DAY:
            self._close_day(window)  # the last window of that day had no sum
        self._forget(window)
        self._show(window)
        counts = window.likelihood or self.likelihood
        used = self._explained(window, counts)
        row, exposure, released = self._row[window.articles[used]], window.exposure[used], window.released[used]
        clicks, noise = released / counts.copies, np.full(len(row), counts.variance / counts.copies**2)
        self._level += exposure.sum(), clicks.sum(), noise.sum()
        of_mean = exposure * self.slate_clicks
        expected = of_mean * self.exposure_slope.lift(row)
        likelihood = counts(released, np.log(expected)[:, None] + GRID - self._deviation**2 / 2)
        self._evidence[row] += likelihood - likelihood.max(axis=1, keepdims=True)
        self._sums[row] += np.column_stack((expected, clicks, noise))
        if window.exposure_known:
            self.exposure_slope.learn(row, of_mean, clicks, noise)
        if self.until % DAY == 0:
            self._close_day(window)
        self._predict()

    def _explained(self, window: Window, counts: CountLikelihood) -> NDArray[np.bool_]:
        """Which counts some rate on the grid explains. The others are of damaged sums, and would rule for days."""
        most, clicks = window.exposure * self.slate_clicks * np.exp(GRID[-1]), window.released / counts.copies
        beyond = np.abs(clicks - np.clip(clicks, 0, most))
        return np.asarray(beyond <= _FEW + _FAR * np.sqrt(most + counts.variance / counts.copies**2))

    @property
    def _deviation(self) -> float:
        return PROMINENT_DEVIATION if self.exposure_slope.counts else PRIOR_DEVIATION

    @property
    def slate_clicks(self) -> float:
        """How many clicks a slate gives: the mean of a normal posterior, given the sums of all articles together."""
        slates, clicks, noise = self._level
        if not slates:
            return _LEVEL
        precision = slates**2 / (slates + noise)
        mean = (clicks / slates * precision + _LEVEL / _LEVEL_VARIANCE) / (precision + 1 / _LEVEL_VARIANCE)
        return float(max(mean, _MIN_LEVEL))

    def _close_day(self, window: Window) -> None:
        """Decide whether prominence counts from now on. Where exposure is estimated by now, it does not."""
        if window.exposure_known:
            self.exposure_slope.settle()
        else:
            self.exposure_slope.rest()

    def _forget(self, window: Window) -> None:
        """Let the past lose weight for the time since the last window, and drop what is shown no more.

        Where there are several tasks, a sum of one may come after later ones of another: time does not go back.
        """
        now = max(self.until, window.end)
        hours = (now - self.until) / 3600 if self.until else 0.0
        kept = (1 - FORGET_HOURLY) ** hours
        self.until = now
        alive = self._shown > self.until - MAX_IDLE
        self.exposure_slope.forget(hours, alive)
        self._row[self._article[~alive]] = -1
        self._article, self._shown = self._article[alive], self._shown[alive]
        self._evidence, self._sums = self._evidence[alive] * kept, self._sums[alive] * kept
        self._row[self._article] = np.arange(len(self._article))
        self._level *= kept

    def _show(self, window: Window) -> None:
        """Follow what was shown, also what waits for its sum."""
        shown, exposure = (window.articles, window.exposure) if window.shown is None else window.shown
        self._make_room(np.union1d(window.articles, shown))
        self._shown[self._row[shown]] = self._shown[self._row[window.articles]] = self.until
        if window.exposure_known:
            self.exposure_slope.show(self._row[shown], exposure)

    def _make_room(self, articles: NDArray[np.int64]) -> None:
        new = articles[self._row[articles] < 0]
        self._row[new] = len(self._article) + np.arange(len(new))
        self._article = np.concatenate((self._article, new))
        self._evidence = np.concatenate((self._evidence, np.zeros((len(new), len(GRID)))))
        self._sums = np.concatenate((self._sums, np.zeros((len(new), 3))))
        self._shown = np.concatenate((self._shown, np.full(len(new), self.until)))
        self.exposure_slope.follow(len(new))

    def _predict(self) -> None:
        """Weighted ridge regression of clicks over expected clicks, minus 1, on text; weights are inverse variances."""
        expected, clicks, noise = self._sums.T
        used = expected > _MIN_EXPECTED
        if used.sum() < _MIN_ARTICLES:
            return
        expected, clicks, noise = expected[used], clicks[used], noise[used]
        text = self._text[self._article[used]]
        weight = expected**2 / (expected + noise)
        with one_blas_thread():
            moments = text.T @ (text * weight[:, None]) + RIDGE * np.eye(text.shape[1])
            self._slope = np.asarray(np.linalg.solve(moments, text.T @ (weight * (clicks / expected - 1))), np.float64)

    def _prior(self, articles: NDArray[np.integer]) -> Floats:
        """What text tells of θ."""
        return np.asarray(np.clip(self._text[articles] @ self._slope, -_MAX_PRIOR, _MAX_PRIOR))

    def state(self) -> State:
        """All that was learnt, as arrays; `restore` takes them back."""
        return {
            "until": np.array([self.until]),
            "article": self._article,
            "evidence": self._evidence,
            "sums": self._sums,
            "shown": self._shown,
            "level": self._level,
            "slope": self._slope,
            "exposed": self.exposure_slope.by_article,
            "exposed_moments": self.exposure_slope.moments,
            "exposed_before": self.exposure_slope.dropped,
            "prominence": self.exposure_slope.beta,
        }

    def restore(self, state: State) -> None:
        """Go on from where `state` was taken."""
        self.until = int(state["until"][0])
        self._article, self._shown = state["article"].copy(), state["shown"].copy()
        self._evidence, self._sums = state["evidence"].copy(), state["sums"].copy()
        self._level, self._slope = state["level"].copy(), state["slope"].copy()
        self._row[self._article] = np.arange(len(self._article))
        if "exposed_moments" in state:
            self.exposure_slope = ExposureSlope(*(state[name].copy() for name in EXPOSURE_STATE))
        else:  # version 0.6 had one time scale, and 0.5 learnt nothing of exposure
            self.exposure_slope = ExposureSlope.of_nothing(len(self._article))


def known_rates(learnt: ClickRates, windows: Iterable[Window], impressions: Impressions, seconds: int) -> Floats:
    """Of each shown article the log rate that was known when the window of its impression began.

    Args:
        learnt: What was known before the first of `windows`.
        windows: Released windows in the order of time, from which it goes on learning.
        impressions: Slates, later than all that `learnt` has seen.
        seconds: How long a window is.
    """
    begun = np.repeat(impressions.time // seconds * seconds, impressions.slate_sizes)
    order = np.argsort(begun, kind="stable")
    begun = begun[order]
    found, done = np.zeros(len(order)), 0
    for window in windows:
        ready = int(np.searchsorted(begun, window.end))
        found[order[done:ready]] = learnt.log_rate(impressions.shown[order[done:ready]])
        done = ready
        learnt.update(window)
    found[order[done:]] = learnt.log_rate(impressions.shown[order[done:]])
    return found
