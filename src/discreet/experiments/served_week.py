"""A log's days played through what is deployed: devices, their tasks, sums, and a server that learns while it serves.

The readers of a data set see the slates of its log and click as it says. The server is told the slates. Each reader's
device is the shipped one, with its ledger in memory. Sums are whoever adds up: `PlainSums`, or two aggregators. Only
the clock is played. So what the server knows at any moment can be compared with what `front_page` learns from the same
clicks in its simulator.
"""

from __future__ import annotations

import base64
import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.sums import NoisySum
from discreet.aggregation.task import DAY, Task
from discreet.data.news import Impressions, NewsData
from discreet.data.shown_articles import ShownArticles
from discreet.edge.reader.sums.contributor import ContributorInMemory
from discreet.edge.reader.sums.floors import Floors
from discreet.edge.reader.views import View
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.learnt_weights import weights_task
from discreet.methods.front_page.windows import popularity_task
from discreet.protocol.quality_cells import EVERYBODY
from discreet.serving.learning.logged_exposure import LoggedSlate, add_slates
from discreet.serving.learning.window_learner import WindowLearner
from discreet.serving.public_tasks import window_file
from discreet.serving.server import open_service
from discreet.serving.service import Service

HERE, THERE = "http://127.0.0.1:1/dap", "http://127.0.0.1:2"
_MIN_SENDING = 60


class WeekSums(Protocol):
    """Whoever adds contributions up."""

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """Add one."""

    def collect(self, task: Task, window: int) -> NoisySum:
        """The noised sum of a window."""
        ...


class ServedWeek:
    """A server, and a device for each reader of a data set.

    Args:
        folder: Where the server keeps its files.
        data: The log.
        sums: Who adds up, for a task.
        price: What a reader's day costs.
        max_clicks: How many clicks of a reader count a day.
        seconds: How long a window is.
        text: Where title vectors come from.
        room: For how many articles a window has room; 0 for all.
        weights_epsilon: What a reader's day costs for weights; 0 learns none.
        directions: Of a head that is learnt with them; 0 learns none.
        features: Of each article that the train split shows, what a device makes of it, without popularity; devices
            show the slates of that split with them.
    """

    def __init__(
        self,
        folder: Path,
        data: NewsData,
        sums: Callable[[Task], WeekSums],
        *,
        price: DayPrice,
        max_clicks: int = 1,
        seconds: int = 900,
        text: str = "auto",
        room: int = 0,
        weights_epsilon: float = 0.0,
        directions: int = 0,
        features: NDArray[np.float64] | None = None,
    ) -> None:
        parts = [part for part in data.splits.values() if part.labelled and len(part)]
        first, last = min(int(part.time.min()) for part in parts), max(int(part.time.max()) for part in parts)
        self.data, start = data, first // DAY * DAY
        task = popularity_task(
            seconds,
            price,
            max_clicks,
            length=room or max(len(data.articles), max_clicks),
            start=start,
            windows=(last - start) // seconds + 1,
            leader=HERE,
            helper=THERE,
        )
        self.task = replace(task, send_seconds=min(seconds, _MIN_SENDING))
        self.now = float(start)
        self._cells, self._slates = folder / "cells", _slates(parts, data.articles.ids, self.task)
        self.tasks = [self.task]
        if weights_epsilon:
            days = self.task.windows * seconds // DAY
            weights = weights_task(
                weights_epsilon, directions=directions, start=start, windows=days, leader=HERE, helper=THERE
            )
            self.tasks.append(replace(weights, send_seconds=_MIN_SENDING))
        self.service = open_service(
            None,
            None,
            database=folder / "week.sqlite",
            data=ShownArticles.of(data),
            text=text,
            tasks=self.tasks,
            clock=self._clock,
        )
        self.service.updater.step()
        self.views: PlayedViews | None = None
        if features is not None:
            train = data.splits["train"]
            self.views = PlayedViews(train, features, served_products(self.service, data, train), data.articles.ids)
        self._sums = _EachTask({task.id: sums(task) for task in self.tasks})
        self._learner = WindowLearner(self.service, self.tasks, self._sums, self._cells, logged=True)
        floors = Floors(helpers=frozenset({THERE}), max_day_epsilon=np.inf, max_life_epsilon=np.inf)
        self._devices = [self._device(reader, clicks, floors) for reader, clicks in enumerate(_clicks(parts, data))]

    def windows(self) -> Iterator[int]:
        """Play all windows. Each is told when its sum has been learnt from."""
        for window in range(self.task.windows):
            begin, end = self.task.begins(window), self.task.begins(window + 1)
            if self.views is not None:
                self.views.show(begin, end, self.log_rates())
            add_slates(self.service.store, self._slates.get(window, ()))
            self.now = end + 0.5
            self._learner.close_windows()
            self.now = self.task.sent_until(window) - 1.0  # whenever they draw, they have drawn by then
            for device in self._devices:
                device.contribute_due()
            self.now = float(self.task.sent_until(window))
            self._learner.learn()
            yield window

    def log_rates(self) -> dict[str, float]:
        """What the server knows now of each article's popularity."""
        updater = self.service.updater
        assert updater.rates is not None
        updater.rates.read()
        return dict(zip(updater.snapshot.ids, updater.rates.of(updater.snapshot).tolist(), strict=True))

    def close(self) -> None:
        """Let go of the files."""
        self.service.close()

    def _clock(self) -> float:
        return self.now

    def _device(self, reader: int, clicks: Sequence[tuple[int, str]], floors: Floors) -> ContributorInMemory:
        times = [time for time, _ in clicks]

        def clicked(begin: int, end: int) -> list[str]:
            return list(dict.fromkeys(name for _, name in clicks[bisect_left(times, begin) : bisect_left(times, end)]))

        def seen(begin: int, end: int) -> list[View]:
            return [] if self.views is None else self.views.of(reader, begin, end)

        device = ContributorInMemory(Path(), clicked, self._sums, floors, views=seen, clock=self._clock)
        device.cells_of = self._cells_of
        for task in self.tasks:
            device.adopt(task, ())
        return device

    def _cells_of(self, task: Task, window: int) -> list[str]:
        return list(json.loads(window_file(self._cells, task, window).read_bytes())["cells"])


class _EachTask:
    """Sums of several tasks, each added up by whoever adds it up."""

    def __init__(self, sums: dict[bytes, WeekSums]) -> None:
        self._sums = sums

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """Add one."""
        self._sums[task.id].contribute(task, window, contribution)

    def collect(self, task: Task, window: int) -> NoisySum:
        """The noised sum of a window."""
        return self._sums[task.id].collect(task, window)


class PlayedViews:
    """The slates of a log as devices remember them: what was shown, what was clicked in it, and its features then.

    Args:
        slates: The log.
        features: Of each shown article what a device makes of it, without popularity.
        products: Of each what the directions of a head add.
        ids: The names of all articles.
    """

    def __init__(
        self,
        slates: Impressions,
        features: NDArray[np.float64],
        products: NDArray[np.float64],
        ids: Sequence[str],
    ) -> None:
        self._slates, self._ids = slates, ids
        self._rate = features.shape[1]
        self.features = np.column_stack((features, np.zeros(len(features)), products))

    def show(self, begin: int, end: int, rates: dict[str, float]) -> None:
        """The slates of a time are shown: their articles have the popularity that is known when it begins."""
        inside = np.repeat((self._slates.time >= begin) & (self._slates.time < end), self._slates.slate_sizes)
        rows = np.flatnonzero(inside)
        self.features[rows, self._rate] = [rates[self._ids[article]] for article in self._slates.shown[rows].tolist()]

    def of(self, reader: int, begin: int, end: int) -> list[View]:
        """What a reader's device showed in a time."""
        s = self._slates
        mine = np.flatnonzero((s.reader == reader) & (s.time >= begin) & (s.time < end))
        rows = [slice(s.slate[i], s.slate[i + 1]) for i in mine.tolist()]
        return [
            View(EVERYBODY, tuple(s.clicked[row].tolist()), tuple(map(tuple, self.features[row].tolist())))
            for row in rows
        ]


def served_products(service: Service, data: NewsData, slates: Impressions) -> NDArray[np.float64]:
    """Of each shown article what each direction of a served head adds, from the bytes that devices get."""
    told = json.loads(service.about().plain())["vectors"]
    s, size = service.snapshot, len(told.get("head", ()))
    entries = {name: json.loads(b"{%s}" % entry)["vector"] for name, entry in zip(s.ids, s.entries, strict=True)}
    rows = np.stack([np.frombuffer(base64.b64decode(entries[name]), np.int8) for name in data.articles.ids])
    z = told["scale"] * rows[:, told["dimension"] - size :].astype(np.float64)
    return np.asarray(mean_of_history(z, slates)[slates.impression_of_shown] * z[slates.shown])


def served_rates(week: ServedWeek, impressions: Impressions) -> NDArray[np.float64]:
    """Play a week; of each shown article of some impressions, the log rate that was known when its window began."""
    ids = np.array(week.data.articles.ids, dtype=np.object_)
    found = np.zeros(len(impressions.shown))
    window = np.repeat((impressions.time - week.task.start) // week.task.window_seconds, impressions.slate_sizes)
    known: dict[str, float] = {}
    for done in chain((-1,), week.windows()):
        mine = np.flatnonzero(window == done + 1)
        if len(mine):
            known = week.log_rates()
            found[mine] = [known[name] for name in ids[impressions.shown[mine]]]
    return found


def _slates(parts: Sequence[Impressions], ids: Sequence[str], task: Task) -> dict[int, list[LoggedSlate]]:
    """What was shown in each window."""
    found: defaultdict[int, list[LoggedSlate]] = defaultdict(list)
    for part in parts:
        for i, window in enumerate(((part.time - task.start) // task.window_seconds).tolist()):
            shown = part.shown[part.slate[i] : part.slate[i + 1]].tolist()
            found[window].append(LoggedSlate(tuple(ids[row] for row in shown)))
    return found


def _clicks(parts: Sequence[Impressions], data: NewsData) -> list[list[tuple[int, str]]]:
    """What each reader clicked, and when."""
    found: list[list[tuple[int, str]]] = [[] for _ in range(len(data.readers))]
    for part in parts:
        impression = part.impression_of_shown[part.clicked]
        for i, row in zip(impression.tolist(), part.shown[part.clicked].tolist(), strict=True):
            found[part.reader[i]].append((int(part.time[i]), data.articles.ids[row]))
    return [sorted(clicks, key=lambda click: click[0]) for clicks in found]
