"""Ranking a snapshot: masks for what is asked for, the exact best of all articles, and turns for categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.serving.snapshot import Snapshot
from discreet.serving.topk import best

POOL = 500
"""How many of the best articles a diverse answer is chosen from."""
_HOUR = 3600


@dataclass(frozen=True)
class RankingQuery:
    """What an answer should be.

    Attributes:
        limit: How many articles.
        categories: Of which categories, if not of all.
        newest_hours: Published within so many hours, if age matters.
        diversity: From 0, by score alone, to 1, where categories take turns.
    """

    limit: int
    categories: Sequence[str] | None = None
    newest_hours: float | None = None
    diversity: float = 0.0


def rank(
    snapshot: Snapshot, interest: NDArray[np.floating], wanted: RankingQuery, now: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The rows of the best articles, best first, and their scores: base + scores · interest."""
    allowed = _allowed(snapshot, wanted, now)
    if not wanted.diversity:
        return best(snapshot.scores, snapshot.base, interest, wanted.limit, allowed)
    rows, scores = best(snapshot.scores, snapshot.base, interest, max(POOL, wanted.limit), allowed)
    order = diverse_order(scores, snapshot.category[rows], wanted.limit, wanted.diversity)
    return rows[order], scores[order]


def _allowed(snapshot: Snapshot, wanted: RankingQuery, now: int) -> NDArray[np.bool_] | None:
    allowed = None
    if wanted.categories is not None:
        codes = [snapshot.categories[name] for name in wanted.categories if name in snapshot.categories]
        chosen = np.zeros(len(snapshot.categories) + 1, np.bool_)
        chosen[codes] = True
        allowed = chosen[snapshot.category]
    if wanted.newest_hours is not None:
        young = snapshot.listed_at >= now - wanted.newest_hours * _HOUR
        allowed = young if allowed is None else allowed & young
    return allowed


def diverse_order(
    scores: NDArray[np.floating], categories: NDArray[np.integer], limit: int, diversity: float
) -> NDArray[np.int64]:
    """The order in which to take a pool's articles, whose scores come best first.

    Each step takes the largest score − d·s·n, with s the standard deviation of the pool's scores and n how many of the
    article's category were taken before. Devices do the same (docs/reference/protocol.md).
    """
    count = min(limit, len(scores))
    if not count:
        return np.zeros(0, np.int64)
    value = scores.astype(np.float64)
    malus = diversity * float(value.std())
    _, number = np.unique(categories, return_inverse=True)
    order = np.empty(count, np.int64)
    for place in range(count):
        order[place] = value.argmax()
        value[number == number[order[place]]] -= malus
        value[order[place]] = -np.inf
    return order
