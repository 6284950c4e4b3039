"""Ranking a snapshot: masks for what is asked for, the exact best of all articles, and turns for topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.serving.snapshot import Snapshot
from discreet.serving.topk import best

POOL = 300
"""How many of the best articles a diverse answer is chosen from."""
_HOUR = 3600


@dataclass(frozen=True)
class Wanted:
    """What an answer should be.

    Attributes:
        limit: How many articles.
        categories: Of which categories, if not of all.
        newest_hours: Published within so many hours, if age matters.
        diversity: From 0, by score alone, to 1, where topics take turns.
    """

    limit: int
    categories: Sequence[str] | None = None
    newest_hours: float | None = None
    diversity: float = 0.0


def rank(
    snapshot: Snapshot, interest: NDArray[np.floating], wanted: Wanted, now: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The rows of the best articles, best first, and their scores: base + scores · interest."""
    allowed = _allowed(snapshot, wanted, now)
    if not wanted.diversity:
        return best(snapshot.scores, snapshot.base, interest, wanted.limit, allowed)
    rows, scores = best(snapshot.scores, snapshot.base, interest, max(POOL, wanted.limit), allowed)
    order = diverse_order(scores, snapshot.topic[rows], wanted.limit, wanted.diversity)
    return rows[order], scores[order]


def _allowed(snapshot: Snapshot, wanted: Wanted, now: int) -> NDArray[np.bool_] | None:
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
    scores: NDArray[np.floating], topics: NDArray[np.int64], limit: int, diversity: float
) -> NDArray[np.int64]:
    """Maximal marginal relevance (Carbonell and Goldstein 1998), greedily, with topics for similarity.

    Each step takes the largest (1 − λ)·relevance − λ·(chosen of the same topic)/(chosen so far + 1), where relevance
    is the score scaled to [0, 1] over the pool.
    """
    count = min(limit, len(scores))
    if not count:
        return np.zeros(0, np.int64)
    low, high = float(scores.min()), float(scores.max())
    relevance = (1 - diversity) * ((scores - low) / (high - low) if high > low else np.zeros(len(scores)))
    places, number = np.unique(topics, return_inverse=True)
    taken = np.zeros(len(places))
    left = np.ones(len(scores), np.bool_)
    order = np.empty(count, np.int64)
    for place in range(count):
        value = np.where(left, relevance - diversity * taken[number] / (place + 1), -np.inf)
        order[place] = value.argmax()
        left[order[place]] = False
        taken[number[order[place]]] += 1
    return order
