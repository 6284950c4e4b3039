"""The sums: who clicked what is contributed at the end of each window, at most one click of a reader a day.

This simulates devices and aggregators over a log. A device contributes to every window, mostly zeros. In the first
window of a day in which its reader clicked, it contributes one of these clicks, chosen at random; the day is then done.
The cells of a window are the articles that the server showed in it, and their exposure is public.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.aggregation.sums import PlainSums
from discreet.aggregation.task import Kind, Task
from discreet.data.news import Impressions
from discreet.privacy.noise import SimulatedNoise

DAY = 86400

_NOISE = 4


@dataclass(frozen=True, eq=False)
class Window:
    """What is known when a window has ended.

    Attributes:
        end: In seconds since 1970.
        articles: What was shown in it, each once.
        exposure: Of each the sum of 1/C over the slates, of C articles, that it was in.
        released: Of each the noised count of clicks.
    """

    end: int
    articles: NDArray[np.int64]
    exposure: NDArray[np.float64]
    released: NDArray[np.int64]


def popularity_task(start: int, seconds: int, articles: NDArray[np.int64], epsilon: float) -> Task:
    """The terms of one window's sum: at most one 1 among the articles that were shown."""
    return Task(
        name="front page popularity",
        purpose="Counts how often each article is clicked, so that popular ones rank higher; one click a day counts.",
        kind=Kind.MULTIHOT,
        length=len(articles),
        max_total=1,
        start=start,
        window_seconds=seconds,
        windows=1,
        epsilon=epsilon,
        measure="popularity",
        cells=hashlib.sha256(np.ascontiguousarray(articles, "<i8").tobytes()).hexdigest(),
    )


def noise_scale(epsilon: float) -> float:
    """The scale of the noise that each aggregator adds to each cell."""
    return float(popularity_task(0, DAY, np.zeros(1, np.int64), epsilon).noise_scale)


@dataclass(frozen=True, eq=False)
class Log:
    """What happened, in the order of time: every show, and the one click of each reader and day that counts."""

    time: NDArray[np.int64]
    article: NDArray[np.int64]
    exposure: NDArray[np.float64]
    click_time: NDArray[np.int64]
    click_article: NDArray[np.int64]
    click_reader: NDArray[np.int64]
    readers: int

    @classmethod
    def of(cls, parts: Sequence[Impressions], readers: int, seconds: int, seed: int) -> Log:
        """From all labelled parts of a data set."""
        labelled = [part for part in parts if part.labelled and len(part)]
        if not labelled:
            empty = np.zeros(0, np.int64)
            return cls(empty, empty, np.zeros(0), empty, empty, empty, readers)
        columns = [
            (
                np.repeat(part.time, part.slate_sizes),
                part.shown.astype(np.int64),
                np.repeat(1.0 / np.maximum(part.slate_sizes, 1), part.slate_sizes),
                np.repeat(part.reader.astype(np.int64), part.slate_sizes),
                part.clicked,
            )
            for part in labelled
        ]
        time, article, exposure, reader, clicked = (np.concatenate(column) for column in zip(*columns, strict=True))
        order = np.argsort(time, kind="stable")
        counted = np.flatnonzero(clicked)
        counted = counted[_one_a_day(reader[counted], article[counted], time[counted], seconds, seed)]
        counted = counted[np.argsort(time[counted], kind="stable")]
        return cls(
            time[order], article[order], exposure[order], time[counted], article[counted], reader[counted], readers
        )


def _one_a_day(
    reader: NDArray[np.int64],
    article: NDArray[np.int64],
    time: NDArray[np.int64],
    seconds: int,
    seed: int,
) -> NDArray[np.int64]:
    """Which clicks count: for each reader and day, one at random of the first window with a click."""
    chance = _mixed(_mixed(_mixed(_mixed(np.full(len(reader), seed)) ^ reader) ^ time) ^ article)
    order = np.lexsort((chance, time // seconds, time // DAY, reader))
    first = np.ones(len(order), np.bool_)
    same = (reader[order][1:] == reader[order][:-1]) & (time[order][1:] // DAY == time[order][:-1] // DAY)
    first[1:] = ~same
    return order[first]


def _mixed(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The mixer of splitmix64. A click's chance depends on the click alone, as if its device drew it by itself."""
    mixed = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))).astype(np.int64)


def released_windows(
    log: Log, seconds: int, epsilon: float, copies: int, seed: int, since: int = 0
) -> Iterator[Window]:
    """Every window that ends after `since` and showed something, with its noised sum.

    Args:
        log: What happened.
        seconds: How long a window is; it divides the day.
        epsilon: What a reader's day costs; infinity for no noise.
        copies: How many readers each reader of the log stands for.
        seed: Of the simulated noise. The noise of a window depends on nothing else.
        since: Where to begin, the end of a window.
    """
    number = log.time // seconds
    for window in np.unique(number[log.time >= since]).tolist():
        first, last = np.searchsorted(number, (window, window + 1))
        articles, cell = np.unique(log.article[first:last], return_inverse=True)
        exposure = np.bincount(cell, log.exposure[first:last]).astype(np.float64)
        start, stop = np.searchsorted(log.click_time, (window * seconds, (window + 1) * seconds))
        clicked = np.searchsorted(articles, log.click_article[start:stop])
        if math.isinf(epsilon):
            released = np.bincount(clicked, minlength=len(articles)) * copies
        else:
            rows = (np.ones(stop - start, np.int64), (log.click_reader[start:stop], clicked))
            matrix = sparse.csr_array(rows, shape=(log.readers, len(articles)))
            task = popularity_task(window * seconds, seconds, articles, epsilon)
            sums = PlainSums(SimulatedNoise(np.random.SeedSequence([seed, _NOISE, window])))
            for _ in range(copies):
                sums.contribute_all(task, 0, matrix)
            released = sums.collect(task, 0).values
        yield Window((window + 1) * seconds, articles, exposure, released)
