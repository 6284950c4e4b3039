"""AUC, MRR, nDCG@5 and nDCG@10 of every impression at once, as MIND's official scorer defines them.

With y the clicks of a slate and r the rank (from 1) of each clicked article when the slate is sorted by falling score:

    AUC     = share of (clicked, not clicked) pairs in the right order, a tie counting one half
    MRR     = mean over the clicked articles of 1 / r
    nDCG@k  = Σ_{r ≤ k} (2^y − 1) / log2(r + 1), over the same sum for the clicked articles placed first

Articles with equal scores rank in the order of the slate. All four depend only on where the clicked articles stand, so
nothing is sorted: each clicked article is compared with its slate, one flat array of pairs for many impressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.errors import DiscreetError

Floats = NDArray[np.float64]

METRICS = ("auc", "mrr", "ndcg@5", "ndcg@10")

_PAIRS_AT_ONCE = 1 << 18  # keeps the pairs of one step inside the processor's cache


@dataclass(frozen=True)
class RankingMetrics:
    """The four metrics, one value for each impression that has them.

    An impression without a click, or without an article that was not clicked, has no AUC. Such impressions are left out
    of all four metrics, so that all speak of the same readers; `left_out` says how many they were.

    Attributes:
        values: Metric name (see `METRICS`) to one value per impression.
        impression: The number of each of these impressions.
        reader: The reader of each of these impressions, for standard errors.
        left_out: How many impressions have no metrics.
    """

    values: Mapping[str, Floats]
    impression: NDArray[np.int64]
    reader: NDArray[np.int32]
    left_out: int

    def __len__(self) -> int:
        return len(self.impression)

    def __getitem__(self, metric: str) -> Floats:
        return self.values[metric]


def ranking_metrics(scores: NDArray[np.floating], impressions: Impressions) -> RankingMetrics:
    """Score a ranking.

    Args:
        scores: One finite score for each entry of `impressions.shown`; higher stands higher in the slate.
        impressions: What was shown and clicked.

    Raises:
        ValueError: `scores` does not fit `impressions.shown`.
        DiscreetError: A score is not finite, or no impression can be scored.
    """
    _check(scores, impressions)
    sizes = impressions.slate_sizes
    clicks_before = np.concatenate(([0], np.cumsum(impressions.clicked)))[impressions.slate]
    clicks = np.diff(clicks_before)
    measurable = np.flatnonzero((clicks > 0) & (clicks < sizes))
    if len(measurable) == 0:
        raise DiscreetError("no impression has both a clicked and a not-clicked article: nothing to evaluate")

    rank, won = _place_clicked(scores, impressions)
    owner = np.repeat(np.arange(len(impressions)), clicks)

    def total(values: Floats) -> Floats:
        return np.bincount(owner, weights=values, minlength=len(impressions)).astype(np.float64)[measurable]

    clicks, sizes = clicks[measurable], sizes[measurable]
    discount = 1 / np.log2(rank + 1)
    values = {
        "auc": total(won) / (clicks * (sizes - clicks)),
        "mrr": total(1 / rank) / clicks,
        "ndcg@5": total(np.where(rank <= 5, discount, 0.0)) / _ideal(5)[np.minimum(clicks, 5)],
        "ndcg@10": total(np.where(rank <= 10, discount, 0.0)) / _ideal(10)[np.minimum(clicks, 10)],
    }
    return RankingMetrics(values, measurable, impressions.reader[measurable], len(impressions) - len(measurable))


def _check(scores: NDArray[np.floating], impressions: Impressions) -> None:
    if scores.shape != impressions.shown.shape:
        raise ValueError(f"{scores.shape} scores for {impressions.shown.shape} shown articles")
    if not impressions.labelled:
        raise DiscreetError("the clicks of this split were never published: nothing to evaluate")
    finite = np.isfinite(scores)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        impression = int(np.searchsorted(impressions.slate, bad[0], side="right")) - 1
        raise DiscreetError(
            f"{len(bad)} of {len(scores)} scores are not finite (the first, {scores[bad[0]]}, in impression"
            f" {impression}): the model diverged or its input has gaps"
        )


def _ideal(k: int) -> Floats:
    """The best attainable DCG@k for 0, 1, …, k clicked articles."""
    return np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(1, k + 1) + 1))))


def _place_clicked(scores: NDArray[np.floating], impressions: Impressions) -> tuple[Floats, Floats]:
    """For every clicked article: its rank, and how many not-clicked articles of its slate it beats (ties one half)."""
    places = np.flatnonzero(impressions.clicked)
    owner = np.searchsorted(impressions.slate, places, side="right") - 1
    first, sizes = impressions.slate[owner], impressions.slate_sizes[owner]
    rank, won = np.empty(len(places)), np.empty(len(places))
    for some in _steps(sizes):
        starts = np.cumsum(sizes[some]) - sizes[some]
        other = np.arange(sizes[some].sum()) + np.repeat(first[some] - starts, sizes[some])
        mine = np.repeat(scores[places[some]], sizes[some])
        theirs = scores[other]
        above, level = theirs > mine, theirs == mine
        earlier = level & (other < np.repeat(places[some], sizes[some]))
        rank[some] = 1 + np.add.reduceat((above | earlier).astype(np.int32), starts)
        lost = (2 * above.astype(np.int32) + level) * ~impressions.clicked[other]
        rivals = np.add.reduceat((~impressions.clicked[other]).astype(np.int32), starts)
        won[some] = rivals - np.add.reduceat(lost, starts) / 2
    return rank, won


def _steps(sizes: NDArray[np.int64]) -> Iterator[slice]:
    """Cut the clicked articles into runs of about `_PAIRS_AT_ONCE` comparisons, each at least one article long."""
    ends = np.cumsum(sizes)
    start, done = 0, 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")))
        yield slice(start, stop)
        start, done = stop, int(ends[stop - 1])
