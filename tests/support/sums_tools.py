"""Devices that contribute to sums, for tests: tasks that pass, a clock, and a sender that seals as a client does."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.hpke import generate_key, input_share_info, seal
from discreet.aggregation.dap.messages import PlaintextInputShare, Role
from discreet.aggregation.task import Task
from discreet.edge.reader.sums import Contributor, Floors

DAY = 86_400
START = 20_000 * DAY
HELPER, LEADER = "https://helper.example/", "https://news.example/"
CELLS = [f"N{number}" for number in range(6)]
CELLS_PAGE = json.dumps({"cells": CELLS}).encode()
FLOORS = Floors(helpers=frozenset({HELPER}))


def task(**terms: Any) -> Task:
    """A task that every device takes, or one with other terms."""
    defaults: dict[str, Any] = {
        "name": "popularity",
        "purpose": "which articles are read now",
        "kind": "sumvec",
        "length": len(CELLS),
        "max_value": 60,
        "max_total": 60,
        "start": START,
        "window_seconds": 3600,
        "windows": 240,
        "send_seconds": 600,
        "per": "day",
        "epsilon": 0.1,
        "measure": "clicks by cell",
        "cells": hashlib.sha256(CELLS_PAGE).hexdigest(),
        "leader": LEADER,
        "helper": HELPER,
    }
    return Task(**{**defaults, **terms})


class Sealing:
    """Seals contributions to both aggregators, and keeps what a network sees of them: sizes, in order, with times."""

    def __init__(self, clock: Any) -> None:
        self._keys = {role: generate_key(1).config for role in (Role.LEADER, Role.HELPER)}
        self._clock = clock
        self.seen: list[tuple[Any, ...]] = []
        self.given: list[tuple[Task, int, Contribution]] = []
        self.fails = False

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        prio3 = task.prio3()
        public, shares = prio3.shard(
            task.id, task.measurement(contribution.values), os.urandom(16), os.urandom(prio3.rand_size)
        )
        sizes = []
        for (role, key), share in zip(self._keys.items(), shares, strict=True):
            plain = PlaintextInputShare((), share).encode()
            sizes.append(len(seal(key, input_share_info(role), task.id, plain).encode()))
        self.seen.append((self._clock(), task.id, window, len(public), *sizes))
        self.given.append((task, window, contribution))
        if self.fails:
            raise ConnectionError("no way there")


class Reader:
    """A device with a clock that the test sets."""

    def __init__(self, folder: Path, floors: Floors = FLOORS) -> None:
        self.now = float(START - 100)
        self.clicks: list[tuple[float, str]] = []
        self.sender = Sealing(lambda: self.now)
        self.folder, self.floors = folder, floors
        self.contributor = self.open()

    def open(self) -> Contributor:
        return Contributor(self.folder, self.clicked, self.sender, self.floors, clock=lambda: self.now)

    def clicked(self, begin: int, end: int) -> Sequence[str]:
        return list(dict.fromkeys(article for time, article in self.clicks if begin <= time < end))

    def click(self, article: str, time: float) -> None:
        self.clicks.append((time, article))

    def run(self, until: float) -> None:
        """Let time pass, and wake whenever something is due."""
        while (due := self.contributor.next_due()) is not None and due < until:
            self.now = max(self.now, due) + 0.001
            self.contributor.contribute_due()
        self.now = max(self.now, until)
        self.contributor.contribute_due()

    def values(self) -> list[list[int]]:
        return [contribution.values.tolist() for _, _, contribution in self.sender.given]
