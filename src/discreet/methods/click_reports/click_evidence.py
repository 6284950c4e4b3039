"""How often an article is clicked where it is shown, unbiased, from noised labels.

In a slate of C, the clicked article is in the reported set with probability p and any other with probability q. So
(1[in the set] − q)/(p − q) has the mean 1 for the clicked article and 0 for the others. The set has ω = p + (C − 1)q
articles, so over a slate the variance is r(1 − r)/(p − q)² with r = ω/C; without noise it is that of the click itself.
Means of these estimates are shrunk as far as their known noise asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.edge.reader.reports import LabelMechanism
from discreet.methods.click_reports.collect import Labels
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse

Floats = NDArray[np.float64]
Numbers = TypeVar("Numbers", float, Floats)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Estimates of single shows, sorted by article and time, with running sums of weight and weighted value."""

    key: NDArray[np.int64]
    weight: Floats
    value: Floats
    start: int
    span: int
    rate: float
    spread: float

    @classmethod
    def of(
        cls, parts: list[tuple[Impressions, Labels]], epsilon: float, mechanism_for: Callable[[int], LabelMechanism]
    ) -> Evidence:
        """Everything that the label reports of some splits tell about single shows."""
        if not parts:
            return cls(np.zeros(0, np.int64), np.zeros(1), np.zeros(1), 0, 1, 0.0, 0.0)
        columns = [_estimates(part, labels, epsilon, mechanism_for) for part, labels in parts]
        article, time, estimate, variance = (np.concatenate(column) for column in zip(*columns, strict=True))
        start = int(time.min()) if len(time) else 0
        span = int(time.max()) - start + 2 if len(time) else 1
        key = article.astype(np.int64) * span + (time - start)
        order = np.argsort(key, kind="stable")
        weight = 1 / variance[order]
        rate = float(weight @ estimate[order] / weight.sum()) if len(key) else 0.0
        sums = [np.concatenate(([0.0], np.cumsum(column))) for column in (weight, weight * estimate[order])]
        number = np.unique(article[order], return_inverse=True)[1]
        totals = np.zeros((2, int(number.max(initial=-1)) + 1))
        np.add.at(totals[0], number, weight)
        np.add.at(totals[1], number, weight * estimate[order])
        spread = spread_between(totals[0], totals[1], rate)
        return cls(key[order], sums[0], sums[1], start, span, rate, spread)

    def before(self, article: NDArray[np.int32], moment: NDArray[np.int64]) -> Floats:
        """Each article's click rate as known strictly before its moment, shrunk, in units of the mean rate, minus 1."""
        base = article.astype(np.int64) * self.span
        first = np.searchsorted(self.key, base)
        last = np.searchsorted(self.key, base + np.clip(moment - self.start, 0, self.span - 1))
        weight, value = self.weight[last] - self.weight[first], self.value[last] - self.value[first]
        return shrunk_rate(weight, value, self.rate, self.spread)


def _estimates(
    impressions: Impressions, labels: Labels, epsilon: float, mechanism_for: Callable[[int], LabelMechanism]
) -> tuple[NDArray[np.int32], NDArray[np.int64], Floats, Floats]:
    """Article, time, unbiased estimate of the click, and its variance, for every show that was reported on."""
    sizes = impressions.slate_sizes
    shown = np.repeat(labels.reported, sizes)
    inside = labels.inside[shown].astype(np.float64)
    size = np.repeat(sizes, sizes)[shown]
    hit, stray = np.ones(len(size)), np.zeros(len(size))
    if not math.isinf(epsilon):
        for count in np.unique(size).tolist():
            hit[size == count], stray[size == count] = inclusion(mechanism_for(count))
    variance = show_variance(hit, stray, size.astype(np.float64))
    time = np.repeat(impressions.time, sizes)[shown]
    return impressions.shown[shown], time, (inside - stray) / (hit - stray), variance


def inclusion(mechanism: LabelMechanism) -> tuple[float, float]:
    """The probabilities p and q that the clicked article, and any other, is in the reported set."""
    if isinstance(mechanism, RandomizedResponse):
        hit, size = float(mechanism.keep), 1
    else:
        hit, size = float(mechanism.inclusion), mechanism.subset_size
    return hit, (size - hit) / (mechanism.choices - 1)


def show_variance(hit: Numbers, stray: Numbers, size: Numbers) -> Numbers:
    """The variance, over a slate of this size, of the unbiased estimate of a click: r(1 − r)/(p − q)², r = ω/C."""
    rate = (hit + (size - 1) * stray) / size
    return rate * (1 - rate) / (hit - stray) ** 2


def spread_between(weight: Floats, value: Floats, rate: float) -> float:
    """The variance of true rates between articles: what is left when the estimates' own variance is taken away.

    Args:
        weight: Of each article, the sum of its estimates' precisions.
        value: Of each article, the sum of its estimates, each times its precision.
        rate: The mean rate of all.
    """
    if len(weight) < 2:
        return 0.0
    excess = weight @ ((value / weight - rate) ** 2) - len(weight)
    return max(0.0, float(excess / (weight.sum() - (weight**2).sum() / weight.sum())))


def shrunk_rate(weight: Floats, value: Floats, rate: float, spread: float) -> Floats:
    """Each article's expected click rate in units of the mean rate, minus 1; 0 where rates are not seen to differ."""
    if rate <= 0 or spread <= 0:
        return np.zeros(len(weight))
    return (value - rate * weight) / (weight + 1 / spread) / rate
