"""A head that learns which interests go together: one more sum a day, of clipped gradients.

An article is a public vector t: title vector and topic in the main directions of what is shown, each of variance 1. A
reader is the mean ū of her history. The head adds ūᵀWt to a score, with a symmetric W that starts at zero. At the end
of a day each device contributes the mean, over the slates of that day with a click, of the slate's gradient

    clip((Σ_j (clicked_j − p_j) t_j) ūᵀ),   p the soft-max of the scores that the device gave,

made symmetric, in units of the clipping norm (`clipping`): its length is at most 1, whatever the reader did. The sum
over readers has Gaussian noise.

**Shrinkage.** W is the sum of all days' steps, times 1 − (noise + sampling)/length², and zero where that is below zero:
the expected squared length of the noise is known, and that of sampling is at most a reader's squared length times the
number of readers. So a head that nobody's clicks support does not rank at all, and this is decided by the released sum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.clipping import WEIGHT, Clipping
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.subcategories import Subcategories
from discreet.methods.method import Scores, State, TrainingTask
from discreet.privacy.noise import Noise, rounded_up

Floats = NDArray[np.float64]

SIZE = 48
"""Directions of an article's vector."""
LENGTH = SIZE * (SIZE + 1) // 2
"""What a device contributes: the entries of a symmetric matrix on and above its diagonal, those above times √2."""
UNIT = 2**16
"""Steps of the lattice in the length 1."""

_RATE = 24.0
_CHUNK = 2048
_ABOVE = np.triu_indices(SIZE)
_FACTOR = np.where(_ABOVE[0] == _ABOVE[1], 1.0, math.sqrt(2))


@dataclass(frozen=True, eq=False)
class HeadArticles:
    """The vector of each article, by public directions.

    Attributes:
        basis: A row for each direction of title vectors, then one for each topic.
        centre: What is subtracted, so that what was shown has mean zero.
        vectors: A row for each article of the catalogue.
    """

    basis: NDArray[np.float32]
    centre: NDArray[np.float32]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, task: TrainingTask, state: State | None = None) -> HeadArticles:
        """By directions that were found before, or else by those of most variance among what the train split showed."""
        titles, topic, topics = PublicArticles.of(task).vectors, *_topics(task)
        if state is not None:
            basis, centre = state["head_basis"], state["head_centre"]
        else:
            basis, centre = _main_directions(titles, topic, topics, np.unique(task.data.splits["train"].shown))
        vectors = titles @ basis[: titles.shape[1]] + basis[titles.shape[1] + topic] - centre
        return cls(basis, centre, vectors)


def sensitivity(clipping: Clipping) -> float:
    """The greatest length of a contribution, on the lattice: rounding adds half a step in each entry."""
    return UNIT * clipping.max_length + math.sqrt(LENGTH + clipping.is_adaptive) / 2


def learn_head(
    task: TrainingTask, scores: Scores, multiplier: float, copies: int, noise: Noise, quantile: float = 0.0
) -> State:
    """Learn from the days of the train split, one after the other.

    Args:
        task: The data.
        scores: What devices score without a head, for what the train split shows.
        multiplier: Each aggregator's noise over the sensitivity; 0 for no noise.
        copies: How many readers each reader stands for.
        noise: Of both aggregators.
        quantile: Of the lengths of gradients, at which they are clipped; 0 clips them to 1.
    """
    train = task.data.splits["train"]
    articles = HeadArticles.of(task)
    steps, spread, weights = np.zeros(LENGTH), 0.0, np.zeros(LENGTH)
    clipping = Clipping.at(quantile)
    moved = sensitivity(clipping)
    day = train.time // 86400
    for today in np.unique(day).tolist():
        slates = train.select(day == today)
        base = scores[np.repeat(day == today, train.slate_sizes)]
        readers = len(np.unique(slates.reader))
        total = np.zeros(LENGTH + clipping.is_adaptive, np.int64)
        for contributions in head_contributions(slates, articles, base, weights, clipping):
            total += copies * contributions.sum(axis=0)
        if multiplier:
            deviation = rounded_up(Fraction(multiplier) * Fraction(moved))
            total += sum(noise.discrete_gaussian(deviation, len(total)) for _ in range(2))
        if clipping.is_adaptive:
            clipping = clipping.after(total[LENGTH] / (UNIT * WEIGHT * readers * copies) + 0.5)
        steps += _RATE / (readers * copies) * (total[:LENGTH] / UNIT)
        noised = 2 * LENGTH * (multiplier * moved / UNIT / copies) ** 2
        spread += (_RATE / readers) ** 2 * (noised + readers)
        weights = shrunk(steps, spread)
    return {
        "head": weights,
        "head_basis": articles.basis,
        "head_centre": articles.centre,
        "head_text_centre": PublicArticles.of(task).centre,
        "head_topics": np.frombuffer(json.dumps(_topic_names(task)).encode(), np.uint8),
    }


def shrunk(steps: Floats, spread: float) -> Floats:
    """What stands out of noise and chance, whose expected squared length is `spread` (James and Stein)."""
    length = float(steps @ steps)
    return steps * max(0.0, 1 - spread / length) if length else steps


def head_contributions(
    slates: Impressions, articles: HeadArticles, scores: Scores, weights: Floats, clipping: Clipping
) -> Iterator[NDArray[np.int64]]:
    """What each reader contributes for a day, one in a row, some readers at a time; each from her own slates alone."""
    readers = mean_of_history(articles.vectors, slates).astype(np.float64)
    counts = np.add.reduceat(slates.clicked.astype(np.float64), slates.slate[:-1])
    scores = scores + _matched(readers, weights, articles, slates)
    each = slates.impression_of_shown
    probability = np.exp(scores - np.maximum.reduceat(scores, slates.slate[:-1])[each])
    probability /= np.add.reduceat(probability, slates.slate[:-1])[each]
    surprise = slates.clicked / np.maximum(counts, 1)[each] - probability
    order = np.argsort(slates.reader, kind="stable")
    order = order[counts[order] > 0]
    for some in _by_reader(slates.reader[order]):
        rows = order[some]
        pulled = np.stack([_pull(slates, articles.vectors, surprise, row) for row in rows.tolist()])
        both = np.linalg.norm(pulled, axis=1) * np.linalg.norm(readers[rows], axis=1)
        pulled /= np.maximum(both, clipping.norm)[:, None]
        left, right = _ABOVE
        gradient = pulled[:, left] * readers[rows][:, right] + pulled[:, right] * readers[rows][:, left]
        gradient *= _FACTOR / 2
        starts = np.flatnonzero(np.diff(slates.reader[rows], prepend=-1))
        if clipping.is_adaptive:
            gradient = np.column_stack((gradient, WEIGHT * ((both <= clipping.norm) - 0.5)))
        mean = np.add.reduceat(gradient, starts, axis=0) / np.diff(starts, append=len(rows))[:, None]
        yield np.rint(mean * (UNIT * (1 - 2.0**-40))).astype(np.int64)


def head_scores(task: TrainingTask, state: State, impressions: Impressions) -> Scores:
    """What the head adds to the score of each shown article."""
    weights = np.asarray(state["head"], np.float64)
    if not weights.any() or not len(impressions):
        return np.zeros(len(impressions.shown))
    articles = HeadArticles.of(task, state)
    readers = mean_of_history(articles.vectors, impressions).astype(np.float64)
    return _matched(readers, weights, articles, impressions)


def head_matrix(weights: Floats) -> Floats:
    """W, from what stands for it in a sum."""
    matrix = np.zeros((SIZE, SIZE))
    matrix[_ABOVE] = weights / _FACTOR
    return np.asarray(matrix + np.triu(matrix, 1).T)


def _matched(readers: Floats, weights: Floats, articles: HeadArticles, slates: Impressions) -> Scores:
    """ūᵀWt of each shown article."""
    wanted = readers @ head_matrix(weights)
    return np.asarray(
        np.einsum("nd,nd->n", articles.vectors[slates.shown], wanted[slates.impression_of_shown]), np.float64
    )


def _pull(slates: Impressions, vectors: NDArray[np.float32], surprise: Floats, row: int) -> Floats:
    slate = slice(slates.slate[row], slates.slate[row + 1])
    return np.asarray(surprise[slate] @ vectors[slates.shown[slate]], np.float64)


def _by_reader(reader: NDArray[np.int32]) -> Iterator[slice]:
    """Slices of some thousand slates that part no reader's."""
    begin = 0
    while begin < len(reader):
        end = min(begin + _CHUNK, len(reader))
        end = int(np.searchsorted(reader, reader[end - 1], side="right"))
        yield slice(begin, end)
        begin = end


def _topics(task: TrainingTask) -> tuple[NDArray[np.int64], int]:
    """The topic of each article, and how many there are: its subcategory, or else its category."""
    public, subcategories = PublicArticles.of(task), Subcategories.of(task)
    first = len(subcategories.share)
    topic = np.where(subcategories.number >= 0, subcategories.number, first + public.category)
    return topic, first + len(public.share)


def _topic_names(task: TrainingTask) -> list[tuple[str, str]]:
    """Category and subcategory of each topic; a category alone has the subcategory ""."""
    articles, subcategories = task.data.articles, Subcategories.of(task)
    places = zip(articles.categories, articles.subcategories, strict=True)
    named = dict(zip(subcategories.number.tolist(), places, strict=True))
    categories = np.unique(np.array(articles.categories, dtype=np.str_)).tolist()
    return [*(named[number] for number in range(len(subcategories.share))), *((name, "") for name in categories)]


def _main_directions(
    titles: NDArray[np.float32], topic: NDArray[np.int64], topics: int, shown: NDArray[np.int32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Directions of most variance, scaled to variance 1, and where the mean is; zeros where there are fewer."""
    one_hot = np.zeros((len(shown), topics))
    one_hot[np.arange(len(shown)), topic[shown]] = 1.0
    known = np.concatenate((titles[shown].astype(np.float64), one_hot), axis=1)
    mean = known.mean(axis=0) if len(known) else np.zeros(known.shape[1])
    known -= mean
    variances, directions = np.linalg.eigh(known.T @ known / max(1, len(known)))
    variances, directions = variances[::-1][:SIZE], directions[:, ::-1][:, :SIZE]
    directions = directions * np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(len(variances))])
    scale = np.where(variances > 1e-6, 1 / np.sqrt(np.maximum(variances, 1e-6)), 0.0)
    basis = np.zeros((known.shape[1], SIZE))
    basis[:, : len(variances)] = directions * scale
    return basis.astype(np.float32), (mean @ basis).astype(np.float32)
