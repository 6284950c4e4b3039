"""What the server learns of popularity, against what `front_page` learns from the same clicks in the simulator.

    python benchmarks/served_popularity.py --readers 800 --days 2 --epsilon 50

Readers of a generated world see the slates of its log, and click as it says. Their devices contribute to each window
what the shipped measure makes of that; sums have the noise of two aggregators. The simulator knows how often each
article was shown. The server does not, and estimates it.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.aggregation.noise import AGGREGATORS, share_noise
from discreet.aggregation.sums import NoisySum
from discreet.aggregation.task import DAY
from discreet.data.shown_articles import ShownArticles
from discreet.data.synthetic import news_world
from discreet.edge.reader.sums.measures import MEASURES, Observed
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.windows import popularity_task
from discreet.methods.method import TrainingTask
from discreet.privacy.noise import SimulatedNoise
from discreet.serving.database_tables import open_engine
from discreet.serving.learning.window_learner import WindowLearner
from discreet.serving.server import first_articles, open_service
from discreet.serving.server_store import ServerStore

SEND, HOUR, ROOM = 60, 3600, 1000


class Clock:
    """A clock that the benchmark sets."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        """What it shows."""
        return self.now


class SimulatedWeek:
    """A server and the devices of a data set."""

    def __init__(self, folder, data, epsilon, seconds, max_clicks, room, seed):
        self.data, self._seconds = data, seconds
        parts = [part for part in data.splits.values() if len(part)]
        self._clicks = _clicks(parts, data.articles.ids, seconds)
        first, last = min(int(p.time.min()) for p in parts), max(int(p.time.max()) for p in parts)
        self._coming = sorted(first_articles(ShownArticles.of(data)), key=lambda article: article.first_shown)
        start = first // DAY * DAY
        task = popularity_task(
            seconds, epsilon, max_clicks, length=room, start=start, windows=(last - start) // seconds + 2
        )
        self.task = replace(task, send_seconds=SEND)
        self._noise = SimulatedNoise(np.random.SeedSequence(seed))
        self._clock = Clock(float(start))
        self._windows = range((first - start) // seconds, (last - start) // seconds + 1)
        store = ServerStore(open_engine(folder / "s.sqlite"))
        self._list(store, first)
        store.close()
        self.service = open_service(None, None, database=folder / "s.sqlite", text="hashed", may_be_empty=True)
        self.service.updater._clock = self._clock
        self._learner = WindowLearner(self.service, [self.task], self, folder / "cells", self._clock)
        self._learner._leads = lambda: True
        self._given = {}

    def collect(self, task, window):
        """The noised sum of what all devices gave."""
        cells = {article: cell for cell, article in enumerate(self._learner._store.cells(task.id.hex(), window))}
        total = np.zeros(task.length, np.int64)
        day = task.period(window)
        for reader, clicked in self._clicks.get(task.begins(window) // self._seconds, {}).items():
            given, counted = self._given.get((reader, day), (0, frozenset()))
            found = [cells.get(article, -1) for article in clicked if article not in counted]
            values = MEASURES[task.measure](task, Observed(found), task.total - given)
            names = frozenset(article for article, cell in cells.items() if values[cell])
            self._given[reader, day] = given + int(values.sum()), counted | names
            total += values
        noise = sum(share_noise(task, self._noise) for _ in range(AGGREGATORS))
        return NoisySum(total + noise, task.guarantee(), len(self.data.readers))

    def rates(self, split):
        """Of each shown article of a split, the popularity that was served when its window began."""
        begun = split.time // self._seconds
        found = np.zeros(len(split.shown))
        owner = np.repeat(np.arange(len(split)), split.slate_sizes)
        for window in self._windows:
            begin = self.task.begins(window)
            known = self._served()
            mine = np.flatnonzero((begun == begin // self._seconds)[owner])
            found[mine] = [known.get(self.data.articles.ids[row], 0.0) for row in split.shown[mine].tolist()]
            self._run(window)
        return found

    def _served(self):
        updater = self.service.updater
        if not len(updater.snapshot):
            return {}
        return dict(zip(updater.snapshot.ids, updater.rates.of(updater.snapshot).tolist(), strict=True))

    def _run(self, window):
        end = self.task.begins(window + 1)
        self._list(self.service.store, end)
        self._clock.now = end + 0.5
        self.service.updater.refresh()
        self.service.updater.step()
        self._learner.close_windows()
        self._clock.now = end + SEND + 0.5
        self._learner.learn()
        self.service.updater.rates.read()

    def _list(self, store, now):
        coming = [article for article in self._coming if article.first_shown < now]
        self._coming = self._coming[len(coming) :]
        if coming:
            store.put_articles(coming)


def _clicks(parts, ids, seconds):
    """Of each window's number, what each reader clicked, each once, in order."""
    found = {}
    for part in parts:
        owner = np.repeat(np.arange(len(part)), part.slate_sizes)[part.clicked]
        order = np.argsort(part.time[owner], kind="stable")
        for impression, article in zip(owner[order].tolist(), part.shown[part.clicked][order].tolist(), strict=True):
            window, reader = int(part.time[impression]) // seconds, int(part.reader[impression])
            found.setdefault(window, {}).setdefault(reader, {})[ids[article]] = None
    return found


def main():
    """Print the AUC of the world's last day with each popularity, and with none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=2000)
    parser.add_argument("--days", type=int, default=6, help="days before the one that is ranked")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    data = news_world(options.readers, train_days=options.days, history_days=4, seed=options.seed)
    task, method, dev = TrainingTask(data, "hashed"), FrontPage(epsilon=options.epsilon), data.splits["dev"]
    own = method.device_scores(task, dev)
    state = method.train(task, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        clicks = int(state["max_clicks"][0])
        week = SimulatedWeek(Path(folder), data, options.epsilon, HOUR, clicks, ROOM, options.seed)
        rates = {
            "none": np.zeros(len(own)),
            "simulator": method.log_rates(task, state, dev, options.seed),
            "served": week.rates(dev),
        }
    for name, popularity in rates.items():
        values = ranking_metrics(own + popularity, dev)["auc"]
        print(f"{name:<12}{values.mean():.4f} ± {values.std() / np.sqrt(len(values)):.4f}")


if __name__ == "__main__":
    main()
