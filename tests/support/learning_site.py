"""A server that learns from the sums of 30 devices, both aggregators and all in one process, with a clock of the test.

As a script it plays a server that is killed: `python learning_site.py FOLDER before|after`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
from dap_site import Clock, Site
from fastapi import FastAPI
from served_world import small_world
from starlette.testclient import TestClient

from discreet.aggregation.sums import NoisySum
from discreet.aggregation.task import DAY
from discreet.data.shown_articles import ShownArticles
from discreet.edge.reader.http_client import HttpReply
from discreet.edge.reader.sums import Contributor, Floors
from discreet.edge.reader.sums.sums_client import TaskClient
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.windows import popularity_task
from discreet.serving.learning.window_learner import WindowLearner
from discreet.serving.public_tasks import mount_tasks
from discreet.serving.server import open_service

START, WINDOW, DEVICES, ROOM = 20_000 * DAY, 900, 30, 200
LEADER, HELPER = "http://127.0.0.1:1/dap", "http://127.0.0.1:2"


def learning_task(epsilon):
    return popularity_task(
        WINDOW, DayPrice(epsilon), length=ROOM, start=START, windows=96, leader=LEADER, helper=HELPER
    )


def served(folder, clock):
    """A catalogue of a small world, ranked with public weights."""
    data = ShownArticles.of(small_world())
    service = open_service(None, None, database=folder / "s.sqlite", data=data, text="hashed", clock=clock)
    service.updater.step()
    return service


class LearningSite:
    """The server with its leader, helper and collector, and the devices; what was collected is in `collected`."""

    def __init__(self, folder, epsilon, noise):
        self.clock = Clock(START + 1.0)
        self.task = learning_task(epsilon)
        self.site = Site(folder, self.task, self.clock, noise=noise)
        self.cells = folder / "cells"
        self.collected: list[NoisySum] = []
        self.service = served(folder, self.clock)
        self.learner = WindowLearner(self.service, [self.task], self, self.cells)
        app = FastAPI()
        mount_tasks(app, [self.task], self.cells, self.clock)
        self.web = TestClient(app)
        self.clicks: list[list[tuple[float, str]]] = [[] for _ in range(DEVICES)]
        floors = Floors(helpers=frozenset({HELPER}), max_day_epsilon=100, max_life_epsilon=1000)
        self.devices = [self._device(folder / str(number), clicks, floors) for number, clicks in enumerate(self.clicks)]

    def collect(self, task, window):
        self.collected.append(self.site.collect(window))
        return self.collected[-1]

    def contribute(self, task, window, contribution):
        self.site.client.upload(window, contribution)

    def run_window(self, window):
        """Let a window end, devices contribute, and the server learn."""
        end = self.task.begins(window + 1)
        self.clock.now = end + 0.5
        self.learner.close_windows()
        for part in (0.3, 0.6, 0.95):  # drawn times are in the first nine tenths
            self.clock.now = end + part * WINDOW
            for device in self.devices:
                device.contribute_due()
        self.learner.learn()
        self.clock.now = self.task.sent_until(window) + 0.1
        self.learner.learn()
        self.service.updater.step()

    def popularity(self):
        snapshot = self.service.updater.snapshot
        return dict(zip(snapshot.ids, self.service.updater.rates.of(snapshot).tolist(), strict=True))

    def close(self):
        self.site.close()
        self.service.store.close()

    def _device(self, folder, clicks, floors):
        def clicked(begin, end):
            return list(dict.fromkeys(article for time, article in clicks if begin <= time < end))

        def ask(method, url, headers, body):
            answer = self.web.request(method, url, headers=headers, content=body)
            return HttpReply(answer.status_code, answer.content)

        contributor = Contributor(folder, clicked, self, floors, clock=self.clock)
        contributor._client = TaskClient("http://testserver", contributor, transport=ask)
        self.clock.now = float(START)
        contributor._client.refresh()
        assert contributor._client.refused == []
        return contributor


class SameSum:
    """A collector that gives the same sum whenever it is asked: 9 clicks on the first article of a window."""

    def collect(self, task, window):
        values = np.zeros(task.length, np.int64)
        values[0] = 9
        return NoisySum(values, task.guarantee(), 30)


def small_learner(folder):
    """A server whose first window has been sent, and what learns from it."""
    clock = Clock(START + WINDOW + 1.0)
    service = served(folder, clock)
    service.lease.held = lambda: True  # the lease of one that was killed would hold for some seconds
    learner = WindowLearner(service, [learning_task(1.0)], SameSum(), folder / "cells")
    learner.close_windows()
    clock.now = START + 2 * WINDOW + 1.0
    return service, learner


def killed(folder, when):
    """Learn, and be killed before or after what was learnt is kept."""
    _, learner = small_learner(folder)
    use = learner._store.use

    def dies(*given):
        if when == "after":
            assert use(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    learner._store.use = dies
    learner.learn()


if __name__ == "__main__":
    killed(Path(sys.argv[1]), sys.argv[2])
