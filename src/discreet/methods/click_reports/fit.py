"""Training on reports: nested models from "nothing learnt" to towers, of which the reports themselves choose one.

    score = w₀·content + w·(public terms, popularity) + ⟨article tower, reader tower⟩

The largest model has the bilinear towers ⟨T·M, d⟩ + T·b, with T the public coordinates of an article (title, category)
and d the reader's interest. Each model is fitted on the earlier reports and judged on the later ones. A larger model
is taken only if it predicts those better by more than two standard errors, so what hurts is noticed and left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.data.news import Impressions
from discreet.methods.click_reports.likelihood import keep_of, report_likelihoods

Floats = NDArray[np.float64]

_STEPS = 60
_JUDGED = 0.25
"""The share of the reports, the latest ones, by which models are chosen."""

_RIDGES = (0.3, 0.03)


@dataclass(frozen=True, eq=False)
class Reported:
    """All that training sees: slates, reported sets, and features made of reports and public data.

    Attributes:
        inside: Which rows were in the reported set.
        reported: Which impressions have a report.
        terms: The non-personal terms of each row.
        content: For each article, its untrained similarity with each topic.
        coordinates: T, the public coordinates of each article, of unit variance.
        interest: d, the interest of each impression's reader.
        epsilon: ε of the labels.
    """

    impressions: Impressions
    inside: NDArray[np.bool_]
    reported: NDArray[np.bool_]
    terms: Floats
    content: Floats
    coordinates: Floats
    interest: Floats
    epsilon: float


@dataclass(frozen=True, eq=False)
class Weights:
    """What is learnt. All zero but for `content` = 1: the untrained ranking by content.

    Attributes:
        content: w₀.
        terms: w.
        taste: b, what all readers like in the articles' coordinates.
        towers: M.
    """

    content: float
    terms: Floats
    taste: Floats
    towers: Floats

    @classmethod
    def untrained(cls, terms: int, coordinates: int, topics: int, content: float = 1.0) -> Weights:
        """Content alone, or nothing at all."""
        return cls(content, np.zeros(terms), np.zeros(coordinates), np.zeros((coordinates, topics)))

    def article_scores(self, content: Floats, coordinates: Floats) -> Floats:
        """The score of each article for one unit of interest in each topic."""
        return np.ascontiguousarray(self.content * content + coordinates @ self.towers)

    def flat(self) -> Floats:
        """All numbers in one vector."""
        return np.concatenate(([self.content], self.terms, self.taste, self.towers.ravel()))

    def filled(self, numbers: Floats) -> Weights:
        """The same shapes with other numbers."""
        ends = np.cumsum([1, len(self.terms), len(self.taste)])
        content, terms, taste, towers = np.split(numbers, ends)
        return Weights(float(content[0]), terms, taste, towers.reshape(self.towers.shape))


@dataclass(frozen=True, eq=False)
class Fitted:
    """The chosen model and how each did on the later reports (mean log-likelihood gained over a blind guess)."""

    weights: Weights
    chosen: str
    judged: dict[str, float]


def train_on_reports(reported: Reported) -> Fitted:
    """Fit each model on the earlier reports, choose by the later ones, and fit the chosen one on all."""
    latest = np.zeros(len(reported.impressions), np.bool_)
    known = np.flatnonzero(reported.reported)
    latest[known[int(len(known) * (1 - _JUDGED)) :]] = True
    early, late = reported.reported & ~latest, reported.reported & latest
    shape = (reported.terms.shape[1], reported.coordinates.shape[1], reported.interest.shape[1])
    blind, content = Weights.untrained(*shape, content=0.0), Weights.untrained(*shape)
    if early.sum() < 50 or late.sum() < 50:
        return Fitted(content, "content", {})

    models: dict[str, Callable[[NDArray[np.bool_]], Weights]] = {
        "content": lambda use: _maximise(reported, use, content, _free(content, "content"), 0.0),
        "terms": lambda use: _maximise(reported, use, blind, _free(blind, "terms"), 1e-3),
        "content and terms": lambda use: _maximise(reported, use, content, _free(content, "content", "terms"), 1e-3),
    }
    everything = _free(content, "content", "terms", "taste", "towers")
    for ridge in _RIDGES:
        models[f"towers, ridge {ridge:g}"] = partial(_maximise, reported, start=content, free=everything, ridge=ridge)
    guess = _likelihoods(reported, late, blind)
    gained = {name: _likelihoods(reported, late, fit(early)) - guess for name, fit in models.items()}
    chosen = _choose(gained)
    return Fitted(
        models[chosen](reported.reported), chosen, {name: float(gain.mean()) for name, gain in gained.items()}
    )


def _choose(gained: dict[str, Floats]) -> str:
    """The first model, unless a later one is better by more than two standard errors of the paired difference."""
    chosen = next(iter(gained))
    for name, gain in gained.items():
        difference = gain - gained[chosen]
        if difference.mean() > 2 * difference.std() / np.sqrt(len(difference)):
            chosen = name
    return chosen


def _free(weights: Weights, *names: str) -> NDArray[np.bool_]:
    """Which numbers a model may change."""
    sizes = {"content": 1, "terms": len(weights.terms), "taste": len(weights.taste), "towers": weights.towers.size}
    return np.concatenate([np.full(size, name in names) for name, size in sizes.items()])


def _likelihoods(reported: Reported, use: NDArray[np.bool_], weights: Weights) -> Floats:
    return _evaluate(reported, use, weights)[0][use]


def _maximise(
    reported: Reported, use: NDArray[np.bool_], start: Weights, free: NDArray[np.bool_], ridge: float
) -> Weights:
    """The mean log-likelihood of the used reports, minus ridge times half the squared change of taste and towers."""
    origin = start.flat()
    count = int(use.sum())
    held = free & ~_free(start, "content")

    def loss(numbers: Floats) -> tuple[float, Floats]:
        flat = origin.copy()
        flat[free] = numbers
        by_impression, gradient = _evaluate(reported, use, start.filled(flat))
        change = np.where(held, flat - origin, 0.0)
        value = -by_impression[use].sum() / count + ridge / 2 * change @ change
        return float(value), (-gradient / count + ridge * change)[free]

    best = minimize(loss, origin[free], jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    flat = origin.copy()
    flat[free] = best.x
    return start.filled(flat)


def _evaluate(reported: Reported, use: NDArray[np.bool_], weights: Weights) -> tuple[Floats, Floats]:
    """Each impression's log-likelihood, and the gradient of their sum in the order of `Weights.flat`."""
    shown = reported.impressions.shown
    liked = reported.coordinates @ weights.taste
    base = reported.terms @ weights.terms + liked[shown]
    article = weights.article_scores(reported.content, reported.coordinates)
    by_impression, by_row = np.zeros(len(use)), np.zeros(len(shown))
    by_article = np.zeros_like(article)
    report_likelihoods(
        reported.impressions.slate,
        shown,
        reported.inside,
        use,
        keep_of(reported.epsilon),
        base,
        article,
        reported.interest,
        by_impression,
        by_row,
        by_article,
    )
    by_taste = np.bincount(shown, by_row, minlength=len(article))
    gradient = np.concatenate(
        (
            [float((by_article * reported.content).sum())],
            by_row @ reported.terms,
            by_taste @ reported.coordinates,
            (reported.coordinates.T @ by_article).ravel(),
        )
    )
    return by_impression, gradient
