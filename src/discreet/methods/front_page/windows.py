"""The sums: what was clicked is contributed at the end of each window, at most `max_clicks` clicks of a reader a day.

This simulates devices and aggregators over a log. A device contributes to every window, mostly zeros. It contributes
the first clicks of a day, an article once, and those of one window in random order, until the day's limit is reached.
The cells of a window are the articles that are due (`held`), and their exposure is public. Real devices take the same
task; it has room for more articles than a window has, and what is over the simulator leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.aggregation.aggregator_noise import noise_deviation
from discreet.aggregation.sums import PlainSums
from discreet.aggregation.task import OF_EACH_WINDOW, Kind, Per, Task
from discreet.data.news import Impressions
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.held import Held
from discreet.privacy.noise import SimulatedNoise

DAY = 86400

_NOISE = 4


@dataclass(frozen=True, eq=False)
class Window:
    """What is known when a window has ended.

    Attributes:
        end: In seconds since 1970.
        articles: What is due, each once.
        exposure: Of each the sum of 1/C over the slates, of C articles, that it was in since it was last due.
        released: Of each the noised count of clicks.
        likelihood: Of these counts, where it is not always the same.
        exposure_known: Whether somebody chose what to show, and it was counted; False where exposure was estimated, and
            in sampled slates, from which what their readers have read is left out: that would tell of their clicks.
        shown: All articles that were shown since the window before, due or not, and their exposure in that time; None
            where these are the articles that are due.
    """

    end: int
    articles: NDArray[np.int64]
    exposure: NDArray[np.float64]
    released: NDArray[np.int64]
    likelihood: CountLikelihood | None = None
    exposure_known: bool = True
    shown: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None


def popularity_task(
    seconds: int,
    price: DayPrice,
    max_clicks: int = 1,
    *,
    length: int,
    start: int = 0,
    windows: int = 1,
    leader: str = "",
    helper: str = "",
) -> Task:
    """The terms of the sums: in all windows of a day together, at most `max_clicks` ones of a reader.

    Args:
        seconds: How long a window is; it divides the day.
        price: What a reader's day costs, and so which noise there is.
        max_clicks: How many clicks of a reader count a day.
        length: For how many articles there is room in a window.
        start: When the first window begins, which is the beginning of a day.
        windows: How many there are.
        leader: Address of the aggregator that takes reports; empty where aggregators are simulated.
        helper: Address of the other one.
    """
    return Task(
        name="front page popularity",
        purpose="Counts how often each article is clicked, so that popular ones rank higher."
        f" At most {max_clicks} of a reader's clicks a day {'counts' if max_clicks == 1 else 'count'}.",
        kind=Kind.MULTIHOT,
        length=length,
        max_total=max_clicks,
        start=start,
        window_seconds=seconds,
        windows=windows,
        per=Per.DAY,
        epsilon=price.epsilon,
        delta=price.delta,
        noise=price.noise,
        measure="clicks by cell",
        cells=OF_EACH_WINDOW,
        leader=leader,
        helper=helper,
    )


def noise_scale(price: DayPrice, max_clicks: int = 1) -> float:
    """The scale of the noise, or its σ, that each aggregator adds to each cell; 0 for no noise."""
    return count_likelihood(price, max_clicks).scale


def count_likelihood(price: DayPrice, max_clicks: int = 1, copies: int = 1) -> CountLikelihood:
    """Of what is released at this price, if each reader of a log stands for so many."""
    if not price.has_noise:
        return CountLikelihood(0.0, copies)
    return CountLikelihood.of(popularity_task(DAY, price, max_clicks, length=max_clicks), copies)


@dataclass(frozen=True, eq=False)
class Log:
    """What happened, in the order of time: every show, the clicks that count, and of how many readers.

    `exposure_known` is as in `Window`.
    """

    time: NDArray[np.int64]
    article: NDArray[np.int64]
    exposure: NDArray[np.float64]
    click_time: NDArray[np.int64]
    click_article: NDArray[np.int64]
    click_reader: NDArray[np.int64]
    readers: int
    exposure_known: bool = True

    @classmethod
    def of(cls, parts: Sequence[Impressions], readers: int, seconds: int, seed: int, max_clicks: int = 1) -> Log:
        """From all labelled parts of a data set."""
        labelled = [part for part in parts if part.labelled and len(part)]
        if not labelled:
            empty = np.zeros(0, np.int64)
            return cls(empty, empty, np.zeros(0), empty, empty, empty, readers)
        columns = [
            (
                np.repeat(part.time, part.slate_sizes),
                part.shown.astype(np.int64),
                _exposure(part),
                np.repeat(part.reader.astype(np.int64), part.slate_sizes),
                part.clicked,
            )
            for part in labelled
        ]
        time, article, exposure, reader, clicked = (np.concatenate(column) for column in zip(*columns, strict=True))
        order = np.argsort(time, kind="stable")
        counted = np.flatnonzero(clicked)
        counted = counted[_first_of_day(reader[counted], article[counted], time[counted], seconds, seed, max_clicks)]
        counted = counted[np.argsort(time[counted], kind="stable")]
        return cls(
            time[order],
            article[order],
            exposure[order],
            time[counted],
            article[counted],
            reader[counted],
            readers,
            exposure_known=not any(part.sampled for part in labelled),
        )


def _exposure(part: Impressions) -> NDArray[np.float64]:
    """Of each shown article 1/C, and 0 where it is not public that it was shown."""
    return np.where(part.is_public, np.repeat(1.0 / np.maximum(part.slate_sizes, 1), part.slate_sizes), 0.0)


def daily_exposure(part: Impressions) -> float:
    """The exposure that an article has on a day, the mean over all exposure; it is public."""
    cell = np.repeat(part.time // DAY, part.slate_sizes) * (int(part.shown.max(initial=0)) + 1) + part.shown
    summed = np.bincount(np.unique(cell, return_inverse=True)[1], _exposure(part))
    return float(summed @ summed / max(summed.sum(), 1e-300))


def _first_of_day(
    reader: NDArray[np.int64],
    article: NDArray[np.int64],
    time: NDArray[np.int64],
    seconds: int,
    seed: int,
    max_clicks: int,
) -> NDArray[np.int64]:
    """Which clicks count: of each reader and day the first, an article once, at random within a window."""
    day, window = time // DAY, time // seconds
    order = np.lexsort((time, article, day, reader))
    order = order[_changes(reader[order], day[order], article[order])]
    draw = _mixed(_mixed(_mixed(_mixed(np.full(len(reader), seed)) ^ reader) ^ time) ^ article)
    order = order[np.lexsort((draw[order], window[order], day[order], reader[order]))]
    begins = _changes(reader[order], day[order])
    rank = np.arange(len(order)) - np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    return order[rank < max_clicks]


def _changes(*columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a row differs from the one before it; the first does."""
    found = np.zeros(len(columns[0]), np.bool_)
    found[:1] = True
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def _mixed(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The mixer of splitmix64. A click's draw depends on the click alone, as if its device drew it by itself."""
    mixed = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))).astype(np.int64)


def released_windows(
    log: Log,
    seconds: int,
    price: DayPrice,
    copies: int,
    seed: int,
    since: int = 0,
    max_clicks: int = 1,
    until: float = math.inf,
) -> Iterator[Window]:
    """Every window that ends after `since`, and not after `until`, in which something is due, with its noised sum.

    Args:
        log: What happened.
        seconds: How long a window is; it divides the day.
        price: What a reader's day costs.
        copies: How many readers each reader of the log stands for.
        seed: Of the simulated noise. The noise of a window depends on nothing else.
        since: Where to begin, the end of a window.
        max_clicks: How many clicks of a reader the log counts a day.
        until: Where to stop.
    """
    likelihood = count_likelihood(price, max_clicks, copies)
    held = Held(int(log.article.max(initial=-1)) + 1, min_exposure(price, max_clicks) / copies)
    number, shown = log.time // seconds, np.zeros(int(log.article.max(initial=-1)) + 1)
    for window, closes_day in _windows_of_days(number[log.time >= since // DAY * DAY], DAY // seconds):
        if (window + 1) * seconds > until:
            return
        first, last = np.searchsorted(number, (window, window + 1))
        start, stop = np.searchsorted(log.click_time, (window * seconds, (window + 1) * seconds))
        clicks = slice(start, stop)
        held.add(log.article[first:last], log.exposure[first:last], log.click_article[clicks], log.click_reader[clicks])
        np.add.at(shown, log.article[first:last], log.exposure[first:last])
        due = held.due(closes_day=closes_day)
        if not len(due.articles):
            continue
        seen, shown = shown, np.zeros(len(shown))
        if (window + 1) * seconds <= since:
            continue
        if not price.has_noise:
            released = np.bincount(due.click_cell, minlength=len(due.articles)) * copies
        else:
            room = max(len(due.articles), max_clicks)
            rows = (np.ones(len(due.click_cell), np.int64), (due.click_reader, due.click_cell))
            matrix = sparse.csr_array(rows, shape=(log.readers, room))
            task = popularity_task(seconds, price, max_clicks, length=room, windows=window + 1)
            sums = PlainSums(SimulatedNoise(np.random.SeedSequence([seed, _NOISE, window])))
            for _ in range(copies):
                sums.contribute_all(task, window, matrix)
            released = sums.collect(task, window).values[: len(due.articles)]
        end = (window + 1) * seconds
        anything = np.flatnonzero(seen)
        yield Window(
            end,
            due.articles,
            due.exposure,
            released,
            likelihood,
            log.exposure_known,
            shown=(anything, seen[anything]) if log.exposure_known else None,
        )


def min_exposure(price: DayPrice, max_clicks: int = 1) -> float:
    """From which exposure on a cell is due: the standard deviation of its noise, in clicks."""
    if not price.has_noise:
        return 0.0
    return noise_deviation(popularity_task(DAY, price, max_clicks, length=max_clicks))


def _windows_of_days(numbers: NDArray[np.int64], a_day: int) -> Iterator[tuple[int, bool]]:
    """The windows in which something was shown, and the last of each day; whether they are the last of a day."""
    if not len(numbers):
        return
    closing = (np.unique(numbers // a_day) + 1) * a_day - 1
    for window in np.union1d(numbers, closing[closing <= numbers.max()]).tolist():
        yield window, (window + 1) % a_day == 0
