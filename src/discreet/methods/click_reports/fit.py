"""Training on reports: the most probable weights, given what was reported and what was believed before.

    score = w₀·content + w·(public terms, popularity) + b·T + ⟨T·M, d⟩

T are the public coordinates of an article (title, category), d is the reader's interest: T·M is the article tower, d
the reader's. Before any report, w₀ is about 8 and all the rest about 0, with the standard deviations in `PRIOR`. The
likelihood knows the noise of the labels, so reports that say little move the weights little, whatever ε is.

The earlier reports are trained on and the later ones judge: if what was learnt does not predict them better than
content alone, nothing is learnt; and if the sketches clearly make matters worse than no sketches, they are not heeded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.data.news import Impressions
from discreet.methods.click_reports.likelihood import keep_of, report_likelihoods

Floats = NDArray[np.float64]

_STEPS = 60
_MIN_LABELS = 50
_JUDGED = 0.25
"""The share of the reports, the latest ones, by which models are chosen."""

PRIOR = {"content": (8.0, 4.0), "terms": (0.0, 0.15), "taste": (0.0, 0.03), "towers": (0.0, 0.1)}
"""Mean and standard deviation of each kind of weight before any report: each kind may move scores by about 0.2."""


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
    """What is learnt. Untrained, all but `content` is zero.

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
    def untrained(cls, terms: int, coordinates: int, topics: int) -> Weights:
        """Content alone."""
        shapes = np.zeros(terms), np.zeros(coordinates), np.zeros((coordinates, topics))
        return cls(PRIOR["content"][0], *shapes)

    def without_readers(self) -> Weights:
        """The same for everybody: no content, no towers."""
        return replace(self, content=0.0, towers=np.zeros_like(self.towers))

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
    """What was learnt.

    Attributes:
        weights: The weights.
        uses_sketches: Whether a ranking by the released sketches should use them at all.
        gained: What each model gains over a blind guess on the later reports, in mean log-likelihood.
    """

    weights: Weights
    uses_sketches: bool
    gained: dict[str, float]


def train_on_reports(reported: Reported) -> Fitted:
    """Learn from the earlier reports, let the later ones judge, and learn from all if that was worth it."""
    latest = np.zeros(len(reported.impressions), np.bool_)
    known = np.flatnonzero(reported.reported)
    latest[known[int(len(known) * (1 - _JUDGED)) :]] = True
    early, late = reported.reported & ~latest, reported.reported & latest
    content = Weights.untrained(reported.terms.shape[1], reported.coordinates.shape[1], reported.interest.shape[1])
    if early.sum() < _MIN_LABELS or late.sum() < _MIN_LABELS:
        return Fitted(content, True, {})
    learnt = _most_probable(reported, early, content, everything=True)
    common = _most_probable(reported, early, content, everything=False)
    models = {"content": content, "everything": learnt, "no readers": common}
    guess = _likelihoods(reported, late, replace(content, content=0.0))
    gained = {name: _likelihoods(reported, late, weights) - guess for name, weights in models.items()}
    best = "everything" if gained["everything"].mean() > gained["content"].mean() else "content"
    uses_sketches = not _clearly_better(gained["no readers"], gained[best])
    weights = content
    if best == "everything":
        weights = _most_probable(reported, reported.reported, content, everything=True)
    elif not uses_sketches:
        weights = replace(
            _most_probable(reported, reported.reported, content, everything=False), content=content.content
        )
    return Fitted(weights, uses_sketches, {name: float(gain.mean()) for name, gain in gained.items()})


def _clearly_better(one: Floats, other: Floats) -> bool:
    """By more than two standard errors of the paired difference."""
    difference = one - other
    return bool(difference.mean() > 2 * difference.std() / np.sqrt(len(difference)))


def _likelihoods(reported: Reported, use: NDArray[np.bool_], weights: Weights) -> Floats:
    return _evaluate(reported, use, weights)[0][use]


def _most_probable(reported: Reported, use: NDArray[np.bool_], start: Weights, *, everything: bool) -> Weights:
    """Maximise log-likelihood + log-prior; if not `everything`, with no part for readers."""
    start = start if everything else start.without_readers()
    sizes = {"content": 1, "terms": len(start.terms), "taste": len(start.taste), "towers": start.towers.size}
    personal = ("content", "towers")
    free = np.concatenate([np.full(size, everything or kind not in personal) for kind, size in sizes.items()])
    spread = np.concatenate([np.full(size, PRIOR[kind][1]) for kind, size in sizes.items()])[free]
    origin, count = start.flat(), int(use.sum())

    def loss(steps: Floats) -> tuple[float, Floats]:
        flat = origin.copy()
        flat[free] += spread * steps
        by_impression, gradient = _evaluate(reported, use, start.filled(flat))
        value = -by_impression[use].sum() + steps @ steps / 2
        return float(value / count), (steps - gradient[free] * spread) / count

    found = minimize(loss, np.zeros(int(free.sum())), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    flat = origin.copy()
    flat[free] += spread * found.x
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
