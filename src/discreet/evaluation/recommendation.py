"""How good recommendations from the whole catalogue are: Recall@k, nDCG@k, MRR, coverage and popularity lift.

A user's items in training are left out, all others are ranked, and no item is sampled (sampled metrics order methods
wrongly: Krichene and Rendle 2020). With a user's h held-out items and r the rank of each:

    recall@k   = number of r ≤ k, over min(k, h)
    ndcg@k     = Σ_{r ≤ k} 1/log2(r + 1), over the same sum for the ranks 1 … min(k, h)
    mrr        = 1 over the smallest r
    coverage@k = share of the catalogue that is among the first k of any user
    lift@k     = mean popularity of the first k, over that of what users bought in training, minus 1

The first three are means over users with something held out; the last two are one figure for all of them. Popularity is
the number of buyers in training. Items with equal scores rank in a fixed random order, so that the order of a file
helps nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.evaluation.uncertainty import Estimate

Floats = NDArray[np.float64]
_SCORES_AT_ONCE = 1 << 24


class Scorer(Protocol):
    """What can be evaluated."""

    def scores(self, users: NDArray[np.integer]) -> NDArray[np.floating]:
        """A row for each user, with a score of every item of the catalogue."""
        ...


@dataclass(frozen=True, eq=False)
class RecommendationMetrics:
    """Values by user (`recall@k`, `ndcg@k`, `mrr`), and figures of all users together (`coverage@k`, `lift@k`)."""

    by_user: Mapping[str, Floats]
    overall: Mapping[str, float]

    def __getitem__(self, metric: str) -> float:
        return self.overall[metric] if metric in self.overall else float(self.by_user[metric].mean())

    def estimates(self) -> dict[str, Estimate]:
        """Means with standard errors over users."""
        spread = {name: values.std(ddof=1) / np.sqrt(len(values)) for name, values in self.by_user.items()}
        return {name: Estimate(float(values.mean()), float(spread[name])) for name, values in self.by_user.items()}


def metric_names(k: int) -> tuple[str, ...]:
    """All five, in the order of tables."""
    return (f"recall@{k}", f"ndcg@{k}", "mrr", f"coverage@{k}", f"lift@{k}")


def bought(purchases: Ratings) -> csr_array:
    """A row for each user, with a one for each item."""
    ones = np.ones(len(purchases), np.float32)
    shape = (len(purchases.users), len(purchases.items))
    return csr_array((ones, (purchases.user, purchases.item)), shape=shape)


def recommendation_metrics(scorer: Scorer, train: Ratings, test: Ratings, k: int = 20) -> RecommendationMetrics:
    """Rank everything that users did not buy in training, and look where the held-out items stand.

    Raises:
        DiscreetError: nothing is held out, or a score is not finite.
    """
    seen, held = bought(train), bought(test)
    users = np.flatnonzero(np.diff(held.indptr))
    if not len(users):
        raise DiscreetError(f"{test.name}: nothing is held out, so there is nothing to evaluate")
    items = len(train.items)
    popularity = np.bincount(train.item, minlength=items)
    priority = np.random.default_rng(0).permutation(items)
    first = np.empty((len(users), min(k, items)), np.int32)
    ranks = np.empty(int(held.nnz), np.int64)
    step = max(1, _SCORES_AT_ONCE // items)
    for start in range(0, len(users), step):
        some = users[start : start + step]
        scores = np.ascontiguousarray(scorer.scores(some), np.float32)
        if not np.isfinite(scores).all():
            raise DiscreetError(f"{train.name}: a score is not finite: the model diverged")
        _rank(scores, some, seen.indptr, seen.indices, held.indptr, held.indices, priority, first[start:], ranks)
    return _summarised(first, ranks, held.indptr, users, popularity, train, k)


def _summarised(
    first: NDArray[np.int32],
    ranks: NDArray[np.int64],
    bounds: NDArray[np.integer],
    users: NDArray[np.int64],
    popularity: NDArray[np.int64],
    train: Ratings,
    k: int,
) -> RecommendationMetrics:
    starts = bounds[:-1][users]
    sizes = np.diff(bounds)[users]
    gain = np.where(ranks <= k, 1 / np.log2(ranks + 1), 0.0)
    ideal = np.cumsum(1 / np.log2(np.arange(2, k + 2)))
    by_user = {
        f"recall@{k}": np.add.reduceat((ranks <= k).astype(np.float64), starts) / np.minimum(sizes, k),
        f"ndcg@{k}": np.add.reduceat(gain, starts) / ideal[np.minimum(sizes, k) - 1],
        "mrr": 1 / np.minimum.reduceat(ranks, starts).astype(np.float64),
    }
    shown = first[first >= 0]
    of_users = popularity[train.item]
    usual = float(of_users.mean()) if len(of_users) else 0.0
    overall = {
        f"coverage@{k}": len(np.unique(shown)) / len(popularity),
        f"lift@{k}": float(popularity[shown].mean()) / usual - 1 if usual and len(shown) else 0.0,
    }
    return RecommendationMetrics(by_user, overall)


@numba.njit(cache=True)
def _rank(  # type: ignore[no-untyped-def] # pragma: no cover
    scores, users, seen_bounds, seen, held_bounds, held, priority, first, ranks
):
    """The rank of every held-out item of these users, and each user's first items (-1 where there are too few)."""
    items, k = scores.shape[1], first.shape[1]
    best = np.empty(k, np.float32)
    for row in range(len(users)):
        user = users[row]
        for place in range(seen_bounds[user], seen_bounds[user + 1]):
            scores[row, seen[place]] = -np.inf
        for place in range(held_bounds[user], held_bounds[user + 1]):
            item = held[place]
            mine, above = scores[row, item], 1
            for other in range(items):
                score = scores[row, other]
                if score > mine or (score == mine and priority[other] < priority[item]):
                    above += 1
            ranks[place] = above
        count = 0
        for item in range(items):
            score = scores[row, item]
            if score == -np.inf or (count == k and score < best[k - 1]):
                continue
            if count == k and score == best[k - 1] and priority[item] > priority[first[row, k - 1]]:
                continue
            place = count if count < k else k - 1
            while place > 0 and (
                best[place - 1] < score
                or (best[place - 1] == score and priority[first[row, place - 1]] > priority[item])
            ):
                best[place], first[row, place] = best[place - 1], first[row, place - 1]
                place -= 1
            best[place], first[row, place] = score, item
            count = min(count + 1, k)
        for place in range(count, k):
            first[row, place] = -1
