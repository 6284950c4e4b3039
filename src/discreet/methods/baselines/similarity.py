"""How alike a candidate is to what the reader has read, for all shown articles at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.data.news import Impressions
from discreet.methods.method import Scores
from discreet.progress import track

_CHUNK = 2048  # impressions at a time; bounds memory to some hundred megabytes for 400-dimensional vectors


def history_similarity(vectors: NDArray[np.float32], impressions: Impressions) -> Scores:
    """Cosine between each shown article's vector and the mean vector of its reader's history (0 where that is zero)."""
    scores = np.zeros(len(impressions.shown))
    for start in track(range(0, len(impressions), _CHUNK), "Similarity to histories"):
        stop = min(start + _CHUNK, len(impressions))
        readers = mean_history(vectors, impressions, start, stop)
        shown = slice(impressions.slate[start], impressions.slate[stop])
        row = np.repeat(np.arange(stop - start), impressions.slate_sizes[start:stop])
        scores[shown] = np.einsum("nd,nd->n", vectors[impressions.shown[shown]], readers[row])
    return scores


def mean_history(vectors: NDArray[np.float32], impressions: Impressions, start: int, stop: int) -> NDArray[np.float32]:
    """Unit vectors along the mean of each history's article vectors, for impressions `start` to `stop`."""
    total = _summed_history(vectors, impressions, start, stop)
    total /= np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)
    return total


def mean_of_history(vectors: NDArray[np.float32], impressions: Impressions) -> NDArray[np.float32]:
    """The mean of each history's article vectors itself, not made a unit vector; zero for no history."""
    total = _summed_history(vectors, impressions, 0, len(impressions))
    total /= np.maximum(impressions.history_sizes, 1)[:, None]
    return total


def _summed_history(
    vectors: NDArray[np.float32], impressions: Impressions, start: int, stop: int
) -> NDArray[np.float32]:
    first, last = impressions.history_start[start:stop], impressions.history_stop[start:stop]
    sizes = last - first
    ends = np.concatenate(([0], np.cumsum(sizes)))
    positions = np.arange(ends[-1]) + np.repeat(first - ends[:-1], sizes)
    shape = (stop - start, len(vectors))
    clicks = sparse.csr_array(
        (np.ones(len(positions), np.float32), impressions.timeline[positions], ends), shape=shape, dtype=np.float32
    )
    total: NDArray[np.float32] = clicks @ vectors
    return total
