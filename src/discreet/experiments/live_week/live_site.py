"""The server of a played week: the shipped one, with its leader inside, a helper in another process, and a clock.

The week lies in the past, so aggregators keep the real clock. The server's own clock is played until the week is over,
and then real: whoever opened the page meanwhile goes on with the same server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from socket import socket

from discreet.aggregation.dap.config import Config
from discreet.aggregation.task import DAY, Task
from discreet.data.synthetic.local_paper import LocalPaper
from discreet.experiments.live_week.own_process import start_process
from discreet.progress import hidden
from discreet.protocol.quality_cells import quality_cells
from discreet.serving.addresses import listen, url_of
from discreet.serving.aggregation import PREFIX, mount_leader, open_helper, open_leader, run_aggregator
from discreet.serving.endpoints import create_app
from discreet.serving.feeds.follow import Feeds, FeedSettings
from discreet.serving.feeds.formats import read_feed
from discreet.serving.http import http_server, within_reach
from discreet.serving.learning.experiment import Experiment, ExperimentArm, arm_names
from discreet.serving.learning.one_process_trial import (
    WARNING,
    make_secrets,
    trial_configs,
    trial_quality_task,
    trial_task,
    trial_words,
)
from discreet.serving.learning.public_terms import PublicTerms
from discreet.serving.learning.served_sums import ServedSums
from discreet.serving.learning.window_learner import WindowLearner
from discreet.serving.limits import ServerLimits
from discreet.serving.logs import configure
from discreet.serving.public_tasks import publish_cells
from discreet.serving.server import DATABASE, open_service
from discreet.serving.service import Service

ARMS = Experiment("what sums teach", (ExperimentArm("public", popularity=0.0), ExperimentArm("learnt")))
"""Half of the devices rank with what sums taught, half without."""
_ROOM = 240
"""For how many articles a window has room."""
_START_SECONDS = 0.01


@dataclass
class PlayedClock:
    """Tells a moment that somebody sets, or the time."""

    now: float | None

    def __call__(self) -> float:
        """Seconds since 1970."""
        return time.time() if self.now is None else self.now


@dataclass(frozen=True)
class LiveSite:
    """A server that runs, and what plays its week.

    Attributes:
        address: Where it is.
        helper: Where the second aggregator is.
        tasks: Popularity and quality of the week.
        service: What is served.
        clock: Its clock.
        learner: What closes windows and learns.
        feeds: What reads the feed.
        feed: The feed.
        wait: Returns when the server has ended.
    """

    address: str
    helper: str
    tasks: tuple[Task, Task]
    service: Service
    clock: PlayedClock
    learner: WindowLearner
    feeds: Feeds
    feed: Path
    wait: Callable[[], None]

    def publish(self, paper: LocalPaper, now: float) -> None:
        """Turn the clock, write the feed as it is then, and let the server read it."""
        self.clock.now = now
        self.feed.write_text(paper.feed(now), encoding="utf-8")
        self.feeds.read(str(self.feed))
        self.service.updater.refresh()
        with hidden():
            self.service.updater.step()

    def end_week(self) -> None:
        """From now on the clock is real, every device ranks with what was learnt, and the server learns by itself."""
        self.clock.now = None
        self.service.end_experiment()
        self.learner.start()


@contextmanager
def live_site(folder: Path, listener: socket, paper: LocalPaper, terms: PublicTerms, token: str) -> Iterator[LiveSite]:
    """Serve a paper from a new folder, until the block is over.

    Args:
        folder: Where all files are.
        listener: Where the server listens.
        paper: What is published.
        terms: What the week's sums cost, and how long a window is.
        token: The administrator's.
    """
    configure("error")
    folder.mkdir(parents=True)
    feed, sums = (folder / "feed.json").absolute(), folder / "sums"
    feed.write_text(paper.feed(paper.start), encoding="utf-8")
    make_secrets(sums)
    theirs = listen("127.0.0.1", 0)
    address, helper = url_of(listener), url_of(theirs)
    week = _week_tasks(paper, terms, f"{address}{PREFIX}", helper)
    later = PublicTerms(terms.text)
    addresses = (f"{address}{PREFIX}", helper, paper.start + paper.days * DAY)
    after = trial_task(later, *addresses), trial_quality_task(later, None, *addresses)
    names = ("week.json", "week-quality.json", "task.json", "quality.json")
    leader_config, helper_config = trial_configs(sums, dict(zip(names, (*week, *after), strict=True)))
    process = start_process(_run_helper, helper_config, theirs)
    theirs.close()
    leader = open_leader(leader_config)
    assert leader.cells is not None
    publish_cells(leader.cells, quality_cells(arm_names(None)))
    words = trial_words(after)
    clock = PlayedClock(float(paper.start))
    settings = FeedSettings((str(feed),), terms.window_seconds, 0)
    with hidden():
        service = open_service(
            None,
            None,
            database=folder / DATABASE,
            feeds=settings,
            text=terms.text,
            sums=words,
            experiment=ARMS,
            tasks=after,
            warning=WARNING,
            clock=clock,
        )
        service.feeds = None  # whoever plays the week reads the feed when its clock has been turned
        service.updater.step()
    learner = ServedSums(leader, (), words).learner(service)
    assert learner is not None
    extend = partial(mount_leader, leader=leader, clock=clock)
    server = http_server(create_app(service, within_reach(ServerLimits(rate=0)), token, extend=extend))
    thread = threading.Thread(target=server.run, args=([listener],), name="server", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(_START_SECONDS)
        feeds = Feeds(service.store, settings, clock=clock, reader=read_feed)
        yield LiveSite(address, helper, week, service, clock, learner, feeds, feed, thread.join)
    finally:
        learner.close()
        server.should_exit = True
        thread.join()
        process.terminate()
        process.join()


def _week_tasks(paper: LocalPaper, terms: PublicTerms, leader: str, helper: str) -> tuple[Task, Task]:
    """Popularity and quality, with the time to send of a trial."""
    popularity = trial_task(terms, leader, helper, paper.start)
    quality = trial_quality_task(terms, ARMS, leader, helper, paper.start)
    named = [replace(task, name=f"{task.name}, played week") for task in (popularity, quality)]
    return (
        replace(named[0], windows=paper.days * DAY // terms.window_seconds, length=_ROOM),
        replace(named[1], windows=paper.days, send_seconds=popularity.send_seconds),
    )


def _run_helper(config: Config, listener: socket) -> None:
    run_aggregator(open_helper(config), config, listener, "error")
