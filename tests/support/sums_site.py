"""A publisher whose page takes part in sums: server, aggregators and learner in this process, with a clock to move.

The task began yesterday, and the test's clock is in one of its past windows: so nobody waits for a window to end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from dap_site import Clock
from firefox import until_true
from served_world import serving, small_world

from discreet.aggregation.task import DAY, Task
from discreet.data.shown_articles import ShownArticles
from discreet.serving.addresses import listen, url_of
from discreet.serving.aggregation import mount_leader
from discreet.serving.foreign_pages import ForeignPages
from discreet.serving.learning import one_process_trial as trial
from discreet.serving.learning.public_terms import PublicTerms
from discreet.serving.learning.window_learner import WindowLearner
from discreet.serving.public_tasks import has_window_cells
from discreet.serving.server import open_service

WINDOW, NUMBER = 300, 40


@dataclass
class SumsSite:
    """What the test sees of it."""

    url: str
    task: Task
    clock: Clock
    learner: WindowLearner
    service: Any

    @property
    def ahead(self) -> float:
        """How far the test's clock is ahead of the machine's, in seconds."""
        return self.clock.now - time.time()

    def end_window(self) -> None:
        """The window ends, and its articles are settled."""
        self.clock.now = self.task.begins(NUMBER + 1) + 1.0
        until_true(self._closed, "the window's articles")

    def _closed(self) -> bool:
        self.learner.close_windows()  # once this server is the one that may
        return has_window_cells(self.learner._cells, self.task, NUMBER)

    def learn(self) -> int:
        """The time to send is over: the sum is collected. How many sums were learnt from."""
        self.clock.now = self.task.sent_until(NUMBER) + 1.0
        until_true(self._sums, "the window's sum")
        return self._sums()

    def _sums(self) -> int:
        self.learner.learn()
        return self.learner._store.learnt(self.service.model.version).sums


@contextmanager
def sums_site(folder: Path, allow: str | None = None) -> Iterator[SumsSite]:
    """Served, until the block is over. `allow` is an origin whose pages may ask."""
    listener = listen("127.0.0.1", 0)
    address = url_of(listener)
    yesterday = SimpleNamespace(time=lambda: time.time() - DAY)
    with mock.patch.object(trial, "time", yesterday):
        opened = trial.open_trial(folder / "sums", address, PublicTerms("hashed", window_seconds=WINDOW, quality=0))
    (task,) = opened.leader.tasks
    clock = Clock(task.begins(NUMBER) - 10.0 * WINDOW)
    data = ShownArticles.of(small_world())
    told = {"tasks": [task], "warning": trial.WARNING}
    service = open_service(None, None, database=folder / "s.sqlite", data=data, text="hashed", clock=clock, **told)
    learner = WindowLearner(service, [task], opened.leader.collector, folder / "cells")
    leader = opened.leader.__class__(**{**vars(opened.leader), "cells": folder / "cells"})
    foreign = ForeignPages([allow] if allow else [])
    extend = lambda app: mount_leader(app, leader, [opened.helper])  # noqa: E731
    with serving(service, listener=listener, extend=extend, foreign=foreign) as url:
        yield SumsSite(url, task, clock, learner, service)
