"""From a log of clicks alone to impressions: each first click on an article becomes a slate with sampled negatives.

What a reader was shown and left is not in such logs, so every slate is the clicked article among others drawn uniformly
from those that were there: published, or clicked by anybody, strictly before that second, and not yet read by this
reader. Nothing is drawn by looking ahead, and a history is the slice of the reader's timeline strictly before that
second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.negatives import ReadBefore, sample_negatives
from discreet.data.news import Impressions

Int64s = NDArray[np.int64]
NEGATIVES = 20


@dataclass(frozen=True)
class Clicks:
    """Click `i`: `reader[i]` opened `article[i]` at `time[i]` (seconds since 1970, UTC), in any order."""

    reader: NDArray[np.int32]
    article: NDArray[np.int32]
    time: Int64s

    def by_reader(self) -> Clicks:
        """The same clicks, reader by reader, each reader's in the order of time."""
        order = np.lexsort((self.time, self.reader))
        return Clicks(self.reader[order], self.article[order], self.time[order])


def first_clicks(clicks: Clicks, articles: int) -> Int64s:
    """When each article was first clicked by anybody; the end of time for an article that nobody clicked."""
    first = np.full(articles, np.iinfo(np.int64).max)
    np.minimum.at(first, clicks.article, clicks.time)
    return first


def impressions_of_clicks(
    clicks: Clicks, available: Int64s, periods: Mapping[str, tuple[int, int]], *, negatives: int, seed: int
) -> dict[str, Impressions]:
    """One impression for each first click of a reader on an article, by split.

    Args:
        clicks: All clicks; those before the first period only make histories.
        available: When each article came to be there, as far as the log says.
        periods: For each split, its first second and the second after its last.
        negatives: How many other articles each slate holds (fewer only while fewer are there; a click at a time when
            there is no other article makes no impression).
        seed: Decides which articles are drawn and where the clicked one stands among them.
    """
    log = clicks.by_reader()
    pairs = log.reader.astype(np.int64) * len(available) + log.article
    first_read = pl.Series(pairs).is_first_distinct().to_numpy()
    starts, before = _history_bounds(log)
    read_before = ReadBefore(pairs[first_read], log.time[first_read], len(available))
    rng = np.random.default_rng(seed)
    splits = {}
    for split, (begin, end) in periods.items():
        chosen = np.flatnonzero(first_read & (log.time >= begin) & (log.time < end))
        others = sample_negatives(
            log.reader[chosen], log.time[chosen], available, read_before, negatives=negatives, rng=rng
        )
        useful = others[:, 0] >= 0
        chosen, others = chosen[useful], others[useful]
        slates, clicked = _hide_click(log.article[chosen], others, rng)
        there = slates >= 0
        in_reader_order = Impressions(
            reader=log.reader[chosen],
            time=log.time[chosen],
            slate=np.concatenate(([0], np.cumsum(there.sum(axis=1)))).astype(np.int64),
            shown=slates[there],
            clicked=clicked[there],
            timeline=log.article,
            history_start=starts[chosen],
            history_stop=before[chosen],
            sampled=True,
        )
        splits[split] = in_reader_order.select(np.argsort(in_reader_order.time, kind="stable"))
    return splits


def _history_bounds(log: Clicks) -> tuple[Int64s, Int64s]:
    """For each click its reader's first position, and the first position of the same second: where the past ends."""
    positions = np.arange(len(log.reader))
    new_reader = np.ones(len(positions), dtype=bool)
    new_reader[1:] = log.reader[1:] != log.reader[:-1]
    new_second = new_reader.copy()
    new_second[1:] |= log.time[1:] != log.time[:-1]
    start = np.maximum.accumulate(np.where(new_reader, positions, 0))
    return start, np.maximum.accumulate(np.where(new_second, positions, 0))


def _hide_click(
    clicked: NDArray[np.int32], others: NDArray[np.int32], rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Put each clicked article at a random place among the others; -1 marks places that stay empty."""
    slates = np.concatenate([others, np.full((len(others), 1), -1, dtype=np.int32)], axis=1)
    rows = np.arange(len(slates))
    size = (others >= 0).sum(axis=1)
    place = rng.integers(0, size + 1)
    slates[rows, size] = slates[rows, place]
    slates[rows, place] = clicked
    labels = np.zeros(slates.shape, dtype=bool)
    labels[rows, place] = True
    return slates, labels
