"""Exact top-k over all articles: a scan of one byte per score that leaves a few candidates, scored in full.

Scores are kept twice: as float32 rows, and rounded to int8 with one step a column, in blocks that a processor adds up
without leaving its registers. With weights w and steps s the rounded score is off by at most E = Σ|w_k|·s_k/2. Let L be
the k-th best rounded score so far: at least k articles truly score L − E or more, so whoever is rounded to less than
L − 2E is not among the best k. The few that remain are scored exactly. A quarter of the bytes are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]

BLOCK = 512
_LANES = 64
_UNROLLED = 4
_LEVELS = 127
_LOWEST = np.finfo(np.float32).min
_FAST = {"contract", "reassoc", "nsz", "nnan"}  # infinities do occur: they stand for articles that are left out


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The scores of all articles for each dimension of a release.

    Attributes:
        exact: One row of float32 for each article.
        rounded: The same in steps, as (block, dimension, article) and padded with zeros.
        step: The step of each dimension.
    """

    exact: Floats
    rounded: NDArray[np.int8]
    step: Floats

    @classmethod
    def of(cls, scores: Floats) -> ScoreTable:
        """A table of (articles, dimensions)."""
        count, dimensions = scores.shape
        largest = np.abs(scores).max(axis=0, initial=0.0)
        step = np.where(largest > 0, largest / _LEVELS, 1.0).astype(np.float32)
        padded = np.zeros((-(-count // BLOCK) * BLOCK, -(-dimensions // _UNROLLED) * _UNROLLED), np.int8)
        padded[:count, :dimensions] = np.clip(np.rint(scores / step), -_LEVELS, _LEVELS)
        rounded = padded.reshape(-1, BLOCK, padded.shape[1]).transpose(0, 2, 1)
        return cls(np.ascontiguousarray(scores), np.ascontiguousarray(rounded), step)

    def __len__(self) -> int:
        return len(self.exact)


def best(
    table: ScoreTable, base: Floats, weights: NDArray[np.floating], count: int, allowed: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """The `count` articles with the largest base + scores·weights, best first, and these scores.

    Articles that are not `allowed` are left out, so fewer may come back. Of equal scores the earlier article wins.
    """
    count = min(count, len(table))
    if count == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    if allowed is not None:
        base = np.where(allowed, base, np.float32(-np.inf))
    places, values = np.empty(count, np.int64), np.empty(count, np.float32)
    found = _best(table.exact, table.rounded, table.step, base, weights.astype(np.float32), places, values)
    return places[:found], values[:found]


@njit(nogil=True, cache=True, inline="always")
def _sift(values, places, size, value, place):  # type: ignore[no-untyped-def]
    """Put a score in the place of the least, which is first in a heap. Of equal scores the later article is less."""
    at = 0
    while True:
        child = 2 * at + 1
        if child + 1 < size and (
            values[child + 1] < values[child]
            or (values[child + 1] == values[child] and places[child + 1] > places[child])
        ):
            child += 1
        if child >= size or values[child] > value or (values[child] == value and places[child] <= place):
            break
        values[at], places[at] = values[child], places[child]
        at = child
    values[at], places[at] = value, place


@njit(nogil=True, cache=True, fastmath=_FAST, inline="always")
def _raise(heap, size, value):  # type: ignore[no-untyped-def]
    """Put a score in the place of the least of a heap. Beyond `size` it has one more place, with +∞: no branch here."""
    at, child = 0, 1
    while child < size:
        child += heap[child + 1] < heap[child]
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = value


@njit(nogil=True, cache=True, fastmath=_FAST, inline="always")
def _add_block(columns, base, steps, scores):  # type: ignore[no-untyped-def]
    """Write the rounded scores of one block to `scores`; beyond the last article they are −∞."""
    for i in range(len(base)):
        scores[i] = base[i]
    for i in range(len(base), BLOCK):
        scores[i] = -np.inf
    for k in range(0, len(steps), _UNROLLED):
        w0, w1, w2, w3 = steps[k], steps[k + 1], steps[k + 2], steps[k + 3]
        c0, c1, c2, c3 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
        for i in range(BLOCK):
            scores[i] += w0 * c0[i] + w1 * c1[i] + w2 * c2[i] + w3 * c3[i]


@njit(nogil=True, cache=True, fastmath=_FAST)
def _best(exact, rounded, step, base, weights, places, values):  # type: ignore[no-untyped-def]
    """Fill `places` and `values`, best first, and return how many there are: arrays that are returned cost more."""
    count = len(values)
    steps, limit = np.zeros(rounded.shape[1], np.float32), np.float32(0)
    for k in range(len(weights)):
        steps[k] = weights[k] * step[k]
        limit += abs(steps[k]) / 2
    slack = 2 * limit + np.float32(1e-5) * 2 * np.float32(_LEVELS) * limit
    candidates, rough = np.empty(len(exact), np.int32), np.empty(len(exact), np.float32)
    heap = np.full(count + 1, -np.inf, np.float32)
    heap[count] = np.inf
    scores, lanes = np.empty(BLOCK, np.float32), np.empty(_LANES, np.float32)
    lowest, least, kept = np.float32(-np.inf), _LOWEST, 0
    for block in range(len(rounded)):
        _add_block(rounded[block], base[block * BLOCK : (block + 1) * BLOCK], steps, scores)
        for i in range(_LANES):
            lanes[i] = scores[i]
        for first in range(_LANES, BLOCK, _LANES):
            for i in range(_LANES):
                score = scores[first + i]
                lanes[i] = score if score > lanes[i] else lanes[i]
        for i in range(_LANES):
            if lanes[i] >= least:
                for at in range(i, BLOCK, _LANES):
                    if scores[at] >= least:
                        candidates[kept], rough[kept] = block * BLOCK + at, scores[at]
                        kept += 1
                        if scores[at] > lowest:
                            _raise(heap, count, scores[at])
                            lowest = heap[0]
                            # Sums in float32 differ by their order: some last digits of the numbers that were added.
                            least = max(_LOWEST, lowest - slack - np.float32(1e-5) * abs(lowest))
    values[:], places[:] = -np.inf, len(exact)
    found = 0
    for i in range(kept):
        if rough[i] >= least:
            article = candidates[i]
            score = base[article]
            for k in range(len(weights)):
                score += weights[k] * exact[article, k]
            if score > values[0] or (score == values[0] and article < places[0]):
                _sift(values, places, count, score, article)
                found += 1
    for size_left in range(count - 1, 0, -1):  # the least goes to the end, again and again
        value, place = values[size_left], places[size_left]
        values[size_left], places[size_left] = values[0], places[0]
        _sift(values, places, size_left, value, place)
    return min(found, count)
