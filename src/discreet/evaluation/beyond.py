"""Beyond accuracy: how alike the first five of a slate are, how much of the catalogue they reach, how popular they are.

    diversity@5 = mean of 1 − cosine over pairs of titles among the first five
    coverage@5  = share of all articles shown that are among the first five of any slate
    lift@5      = mean clicks of the first five over the mean clicks of their slate, minus 1

Clicks are those of the whole log, by all readers: these metrics are for the owner of the log. Coverage is one figure
for all slates. It is written as a mean over impressions, in which each article's place is shared by those that rank it
among their first five; its standard error is only a hint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions

Floats = NDArray[np.float64]

BEYOND = ("diversity@5", "coverage@5", "lift@5")

_TOP = 5


def beyond_accuracy(
    scores: NDArray[np.floating],
    impressions: Impressions,
    vectors: NDArray[np.float32],
    clicks: NDArray[np.integer],
) -> dict[str, Floats]:
    """One value of each metric for each impression; the mean over all of them is the metric.

    Args:
        scores: One score for each entry of `impressions.shown`.
        impressions: What was shown; every slate has an article.
        vectors: A unit vector for each article, or zero.
        clicks: How often each article was clicked.
    """
    slates = impressions.impression_of_shown
    order = np.lexsort((-np.asarray(scores), slates))
    place = np.arange(len(order)) - impressions.slate[slates[order]]
    first = order[place < _TOP]
    owner, article = slates[first], impressions.shown[first]
    total = len(impressions)
    size = np.bincount(owner, minlength=total)
    starts = np.concatenate(([0], np.cumsum(size)[:-1]))
    sums = np.add.reduceat(vectors[article].astype(np.float64), starts)
    own = np.bincount(owner, (vectors[article].astype(np.float64) ** 2).sum(axis=1), minlength=total)
    alike = ((sums**2).sum(axis=1) - own) / np.maximum(size * (size - 1), 1)
    shared = 1 / np.bincount(article)[article]
    reached = np.bincount(owner, shared, minlength=total) * total / len(np.unique(impressions.shown))
    of_slate = np.bincount(slates, clicks[impressions.shown], minlength=total) / impressions.slate_sizes
    of_first = np.bincount(owner, clicks[article], minlength=total) / size
    lift = np.divide(of_first, of_slate, out=np.ones(total), where=of_slate > 0) - 1
    return {"diversity@5": np.where(size > 1, 1 - alike, 0.0), "coverage@5": reached, "lift@5": lift}
