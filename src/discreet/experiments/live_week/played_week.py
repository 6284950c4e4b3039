"""The week itself: readers read, windows close, sums are learnt from, and how good the ranking is comes from sums too.

The clock stands still while something is at work, so a slow machine takes longer and loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from discreet.aggregation.task import DAY
from discreet.data.synthetic.local_paper import LocalPaper
from discreet.experiments.live_week.live_site import LiveSite
from discreet.progress import track
from discreet.serving.learning.public_terms import PublicTerms
from discreet.serving.learning.quality_estimates import (
    MeasuredWindow,
    Quality,
    QualityDifference,
    differences,
    qualities,
)
from discreet.serving.learning.window_store import WindowStore

DEMO_TERMS = partial(PublicTerms, epsilon=10.0, max_clicks=3, window_seconds=DAY // 3, quality=0.3)
"""Of the devices of a played week, for a text source: few readers need less noise to show anything."""


class ReadingDevices(Protocol):
    """Devices that read and contribute."""

    def read(self, begin: float, end: float) -> int:
        """Let everybody come who comes in these hours."""
        ...

    def contribute(self, now: float) -> int:
        """Let every device contribute what is due."""
        ...


@dataclass(frozen=True)
class PlayedDay:
    """What sums tell of a day.

    Attributes:
        number: From 1.
        visits: How often readers came.
        contributions: How many contributions arrived.
        arms: How good each way to rank was.
    """

    number: int
    visits: int
    contributions: int
    arms: tuple[Quality, ...]


@dataclass(frozen=True)
class PlayedWeek:
    """All days, all days together, and the ways to rank compared."""

    days: tuple[PlayedDay, ...]
    arms: tuple[Quality, ...]
    compared: tuple[QualityDifference, ...]


def play_week(
    site: LiveSite, devices: ReadingDevices, paper: LocalPaper, done: Callable[[PlayedDay], None]
) -> PlayedWeek:
    """Play all days; `done` is called with each when sums tell of it."""
    days, visits, contributions = [], 0, 0
    a_day = DAY // site.tasks[0].window_seconds
    for window in track(range(site.tasks[0].windows), f"{len(paper.appeal.readers)} devices read for a week"):
        came, sent = _play_window(site, devices, paper, window)
        visits, contributions = visits + came, contributions + sent
        if (window + 1) % a_day == 0:
            number = (window + 1) // a_day
            measured = [one for one in _measured(site) if one.window == number - 1]
            days.append(PlayedDay(number, visits, contributions, tuple(qualities(measured).values())))
            done(days[-1])
            visits = contributions = 0
    found = qualities(_measured(site))
    return PlayedWeek(tuple(days), tuple(found.values()), tuple(differences(found, len(days))))


def _play_window(site: LiveSite, devices: ReadingDevices, paper: LocalPaper, window: int) -> tuple[int, int]:
    """How often readers came, and how many contributions arrived."""
    task = site.tasks[0]
    begin, end = task.begins(window), task.begins(window + 1)
    site.publish(paper, begin)
    came = devices.read(begin, end)
    site.clock.now = end + 0.5
    site.learner.close_windows()
    sending = task.sent_until(window) - 1.0  # whenever devices draw, they have drawn by then
    site.clock.now = sending
    sent = devices.contribute(sending)
    site.clock.now = float(task.sent_until(window))
    site.learner.learn()
    return came, sent


def arm_name(arm: str) -> str:
    """The name of an arm as its experiment has it."""
    return arm.partition("/")[2]


def _measured(site: LiveSite) -> list[MeasuredWindow]:
    quality = site.tasks[1]
    return [one for one in WindowStore(site.service.store).measured() if one.task.id == quality.id]
