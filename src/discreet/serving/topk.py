"""Exact top-k over all articles: a scan of one byte per score that leaves a few candidates, scored in full.

Scores are kept twice: as float32 rows, and rounded to int8 with one step a column, in blocks that a processor adds up
without leaving its registers. With weights w and steps s the rounded score is off by at most E = Σ|w_k|·s_k/2. Let L be
the k-th best rounded score: at least k articles truly score L − E or more, so whoever is rounded to less than L − 2E
is not among the best k. The few that remain are scored exactly. A quarter of the bytes are read.
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
    weights = weights.astype(np.float32)
    padded = np.zeros(table.rounded.shape[1], np.float32)
    padded[: len(weights)] = weights * table.step
    limit = float(np.abs(padded).sum()) / 2
    if allowed is not None:
        base = np.where(allowed, base, np.float32(-np.inf))
    return _best(table.exact, table.rounded, base, weights, padded, np.float32(limit), count)  # type: ignore[no-any-return]


@njit(nogil=True, cache=True, inline="always")
def _insert(values, places, value, place):  # type: ignore[no-untyped-def]
    at = len(values) - 1
    while at > 0 and values[at - 1] < value:
        values[at], places[at] = values[at - 1], places[at - 1]
        at -= 1
    values[at], places[at] = value, place


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
def _best(exact, rounded, base, weights, steps, limit, count):  # type: ignore[no-untyped-def]
    values, places = np.full(count, -np.inf, np.float32), np.full(count, -1, np.int64)
    tops = np.empty(len(rounded), np.float32)
    scores, lanes = np.empty(BLOCK, np.float32), np.empty(_LANES, np.float32)
    lowest = np.float32(-np.inf)
    for block in range(len(rounded)):
        _add_block(rounded[block], base[block * BLOCK : (block + 1) * BLOCK], steps, scores)
        for i in range(_LANES):
            lanes[i] = scores[i]
        for first in range(_LANES, BLOCK, _LANES):
            for i in range(_LANES):
                score = scores[first + i]
                lanes[i] = score if score > lanes[i] else lanes[i]
        top = lanes[0]
        for i in range(_LANES):
            top = lanes[i] if lanes[i] > top else top
            if lanes[i] > lowest:
                for at in range(i, BLOCK, _LANES):
                    if scores[at] > lowest:
                        _insert(values, places, scores[at], 0)
                        lowest = values[count - 1]
        tops[block] = top
    size = np.float32(0)
    for i in range(count):
        if values[i] > -np.inf:
            size = max(size, abs(values[i]))
    # Sums in float32 differ by their order: some last digits of the numbers that were added.
    least = lowest - 2 * limit - np.float32(1e-5) * (size + 2 * np.float32(_LEVELS) * limit)
    values[:] = -np.inf
    found = 0
    for block in range(len(rounded)):
        if tops[block] < least or tops[block] == -np.inf:
            continue
        _add_block(rounded[block], base[block * BLOCK : (block + 1) * BLOCK], steps, scores)
        for i in range(BLOCK):
            if scores[i] >= least and scores[i] > -np.inf:
                article = block * BLOCK + i
                score = base[article]
                for k in range(len(weights)):
                    score += weights[k] * exact[article, k]
                if score > values[count - 1]:
                    _insert(values, places, score, article)
                    found += 1
    found = min(found, count)
    return places[:found], values[:found]
