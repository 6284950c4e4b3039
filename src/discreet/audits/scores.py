"""How to tell two inputs apart from outputs: scores, and the choice of one with its threshold on a part of the runs.

A score is a function of outputs (one row per run) that is large where the first input is likelier. Whatever is chosen,
and however badly, the bound that the other runs then give holds; a good choice only makes it larger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Outputs = NDArray[np.float64]
Scores = NDArray[np.float64]
Score = Callable[[Outputs], Scores]
FitScore = Callable[[Outputs, Outputs], Score]

_THRESHOLDS = 400
_DIGITS = 6


@dataclass(frozen=True)
class Nearness:
    """How much nearer an output is to the first input's noiseless value than to the second's, in the L1 or L2 norm.

    For Laplace (L1) and Gaussian (L2) noise this is the likelihood ratio, hence the best test there is. Without
    `anchors`, the two noiseless values, the medians of the outputs stand for them.
    """

    norm: int
    anchors: tuple[Sequence[float], Sequence[float]] | None = None

    def __call__(self, first: Outputs, second: Outputs) -> Score:
        """Take the anchors, or the medians."""
        here, there = self.anchors or (np.median(first, axis=0), np.median(second, axis=0))

        def score(outputs: Outputs) -> Scores:
            away, near = np.abs(outputs - there), np.abs(outputs - here)
            return np.asarray((away**self.norm).sum(axis=1) - (near**self.norm).sum(axis=1))

        return score


@dataclass(frozen=True)
class Contains:
    """For outputs that are sets of choices: 1 where `first` is in it and `second` is not, −1 the other way round."""

    first: int
    second: int

    def __call__(self, first: Outputs, second: Outputs) -> Score:
        """Nothing has to be learned."""

        def score(outputs: Outputs) -> Scores:
            here, there = ((outputs == choice).any(axis=1).astype(float) for choice in (self.first, self.second))
            return np.asarray(here - there)

        return score


def likelier_by_frequency(first: Outputs, second: Outputs) -> Score:
    """For outputs of one column: how often this output came up in the choosing runs, as a log-ratio; 0 if never."""
    known, index = np.unique(np.concatenate([first, second])[:, 0], return_inverse=True)
    seen_first = np.bincount(index[: len(first)], minlength=len(known))
    seen_second = np.bincount(index[len(first) :], minlength=len(known))
    ratios = np.log((seen_first + 0.5) / (seen_second + 0.5))

    def score(outputs: Outputs) -> Scores:
        place = np.minimum(np.searchsorted(known, outputs[:, 0]), len(known) - 1)
        return np.where(known[place] == outputs[:, 0], ratios[place], 0.0)

    return score


@dataclass(frozen=True)
class Distinguisher:
    """Says "first input" where the rounded score is at least the threshold; `swapped` exchanges the two inputs."""

    score: Score
    step: float
    threshold: float
    swapped: bool

    def hits(self, first: Outputs, second: Outputs) -> tuple[int, int]:
        """How often the test says yes to outputs of the input it looks for, and to those of the other."""
        sign = -1.0 if self.swapped else 1.0
        yes = [
            int((sign * _rounded(self.score(outputs), self.step) >= self.threshold).sum())
            for outputs in (first, second)
        ]
        return (yes[1], yes[0]) if self.swapped else (yes[0], yes[1])


def choose_test(
    first: Outputs, second: Outputs, fits: Sequence[FitScore], bound: Callable[[int, int, int], float]
) -> Distinguisher:
    """The test, among all scores, thresholds and both directions, with the largest `bound`(hits, false hits, runs).

    Scores are rounded to a millionth of their range: float64 noise betrays itself in the last digits of a score, which
    is a leak of its own (`float_leak`) and would hide whether the scale of the noise is right.
    """
    best, best_value = None, -np.inf
    for fit in fits:
        score = fit(first, second)
        of_first, of_second = score(first), score(second)
        spread = max(np.abs(of_first).max(), np.abs(of_second).max())
        step = float(spread) * 10.0**-_DIGITS or 1.0
        of_first, of_second = _rounded(of_first, step), _rounded(of_second, step)
        for swapped in (False, True):
            hits, others = (-of_second, -of_first) if swapped else (of_first, of_second)
            hits, others = np.sort(hits), np.sort(others)
            for threshold in _candidates(hits, others):
                p = len(hits) - int(np.searchsorted(hits, threshold))
                q = len(others) - int(np.searchsorted(others, threshold))
                value = bound(p, q, len(hits))
                if value > best_value:
                    best, best_value = Distinguisher(score, step, float(threshold), swapped), value
    assert best is not None, "there is at least one score and one threshold"
    return best


def _candidates(hits: Scores, others: Scores) -> Scores:
    """Thresholds worth trying: all values if there are few, else quantiles of both, denser where the score is large."""
    values = np.unique(np.concatenate([hits, others]))
    if len(values) <= _THRESHOLDS:
        return values
    tails = np.unique(np.concatenate([np.linspace(0, 1, _THRESHOLDS // 2), 1 - np.logspace(-5, 0, _THRESHOLDS // 2)]))
    return np.unique(np.concatenate([np.quantile(side, tails, method="higher") for side in (hits, others)]))


def _rounded(scores: Scores, step: float) -> Scores:
    return np.asarray(np.round(scores / step) * step)
