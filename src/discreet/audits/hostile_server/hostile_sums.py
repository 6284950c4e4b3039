"""A publisher that lies about its tasks, drawn from a seed, and what must hold of two readers who click differently.

Both devices receive the same lies at the same times, run at the same times, and have the same secret from which they
draw when to send. All that leaves them must be the same but for what is sealed: addresses, order, times, task, window,
and the size of every part. Nothing may throw, and nothing may cost more than the floors allow. With `honest` the
publisher lies about nothing, and every window must be contributed to.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.task import DAY, OF_EACH_WINDOW, Task
from discreet.audits.hostile_server.lies import BODIES, LIES, STATUSES, as_bytes
from discreet.edge.reader.http_client import HttpReply
from discreet.edge.reader.sums.contributor import ContributorInMemory
from discreet.edge.reader.sums.floors import Floors
from discreet.edge.reader.sums.sums_client import TaskClient
from discreet.edge.reader.views import View
from discreet.methods.front_page.learnt_weights import weights_task
from discreet.protocol.quality_cells import EVERYBODY
from discreet.protocol.weight_cells import FEATURES, UNITS, ToldWeights, weight_cells

START = 20_000 * DAY
ARTICLES, DIRECTIONS = 12, 5
HELPER, LEADER = "https://helper.test/", "https://news.test/"
FLOORS = Floors(helpers=frozenset({HELPER}))

Event = tuple[Any, ...]


def cells_page(count: int) -> bytes:
    """The public list of what each of so many values stands for."""
    return json.dumps({"cells": [f"N{number}" for number in range(count)]}).encode()


def public_tasks(rng: Random) -> list[dict[str, Any]]:
    """Some tasks that a device takes."""
    tasks = []
    for number in range(rng.randrange(1, 4)):
        kind = rng.choice(("sumvec", "multihot", "histogram", "count", "sum", "signedvec"))
        if kind == "signedvec":
            tasks.append(_weights(rng, number).to_json())
            continue
        with_cells = kind in ("sumvec", "multihot", "histogram")
        per = "window" if kind == "histogram" else rng.choice(("window", "day"))
        length = rng.choice((3, ARTICLES)) if with_cells else 1
        values = {"sumvec": 60, "sum": 7}.get(kind, 1)
        window = rng.choice((900, 3600, DAY // 2))
        tasks.append(
            Task(
                name=f"task {number}",
                purpose="to see what is read",
                kind=kind,  # type: ignore[arg-type]
                length=length,
                max_value=values,
                max_total=None if kind in ("histogram", "sum", "count") else values * rng.randrange(1, 3),
                start=START,
                window_seconds=window,
                windows=rng.choice((5, 400)),
                send_seconds=rng.choice((600, window)),
                per=per,  # type: ignore[arg-type]
                epsilon=rng.choice((0.01, 0.3, 0.9)),
                measure="clicks by cell" if with_cells else "clicks",
                cells=_cells(rng, length) if with_cells else "",
                leader=LEADER,
                helper=HELPER,
            ).to_json()
        )
    return tasks


def told_cells(window: int) -> list[str]:
    """The weights that devices are told for a window, in every second time with those of a head."""
    directions = DIRECTIONS if window % 4 == 1 else 0
    candidate = (window % 5, -1, 0, 1e6, 0.1, 1e-7, *range(directions))
    units = (*UNITS, *(10.0 ** -(number % 9) for number in range(directions)))
    return weight_cells(ToldWeights(candidate, (1.0,) * len(candidate), units))


def _weights(rng: Random, number: int) -> Task:
    """A task whose values are of either sign, and depend on what was shown."""
    epsilon, directions = rng.choice((0.01, 0.3)), rng.choice((0, DIRECTIONS))
    task = weights_task(epsilon, directions=directions, start=START, windows=5, leader=LEADER, helper=HELPER)
    window = rng.choice((3600, DAY // 2))
    return replace(task, name=f"task {number}", window_seconds=window, send_seconds=window, windows=400)


def _cells(rng: Random, length: int) -> str:
    return OF_EACH_WINDOW if rng.random() < 0.4 else hashlib.sha256(cells_page(length)).hexdigest()


class LyingPublisher:
    """Announces tasks, perhaps not what it should."""

    def __init__(self, rng: Random, honest: bool) -> None:
        self._rng, self._honest = rng, honest
        self.tasks = public_tasks(rng)
        self.heard: list[Event] = []

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        """An answer, or a lie."""
        self.heard.append((method, url, tuple(sorted(headers.items())), body))
        path = urlsplit(url).path
        answer: Any = {"tasks": copy.deepcopy(self.tasks)}
        if path.startswith("/v1/cells/") and path.count("/") == 4:
            window = int(path.rpartition("/")[2])
            answer = {"cells": [f"N{(number + window) % ARTICLES}" for number in range(3)]}
            if window % 2:
                answer = {"cells": told_cells(window)}
        elif path.startswith("/v1/cells/"):
            pages = [cells_page(count) for count in (1, 3, ARTICLES)]
            answer = next((page for page in pages if hashlib.sha256(page).hexdigest() == path[10:]), b"{}")
        if self._honest:
            return HttpReply(200, answer if isinstance(answer, bytes) else json.dumps(answer).encode())
        how = self._rng.random()
        if how < 0.05:
            raise ConnectionError("no answer")
        if how < 0.15:
            return HttpReply(self._rng.choice(STATUSES), self._rng.choice(BODIES))
        for _ in range(self._rng.randrange(3)):
            if isinstance(answer, dict) and answer:
                answer = self._rng.choice(LIES)(answer, self._rng)
        return HttpReply(200, as_bytes(answer, self._rng))

    def change(self) -> None:
        """Other terms under a known name, or another task."""
        if self._honest:
            return
        changed = self._rng.choice(self.tasks)
        name = self._rng.choice(("epsilon", "windows", "min_batch", "name", "purpose", "max_total", "helper"))
        changed[name] = self._rng.choice(public_tasks(self._rng))[name]


@dataclass
class Recorded:
    """Takes contributions, and keeps of them what a network sees."""

    events: list[Event]
    now: list[float]
    given: list[tuple[Task, int]] = field(default_factory=list)

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """Shard it, and keep the sizes."""
        prio3 = task.prio3()
        measurement = task.measurement(contribution.values)
        public, shares = prio3.shard(task.id, measurement, bytes(16), bytes(prio3.rand_size))
        self.events.append(("report", self.now[0], task.id, window, len(public), *map(len, shares)))
        self.given.append((task, window))


def talk(seed: int, reader: int, *, honest: bool) -> tuple[list[Event], list[str]]:
    """All that one reader's device lets be seen in the conversation of a seed, and what went wrong."""
    script, taste = Random(f"{seed} sums"), Random(f"{seed} reader {reader}")
    now = [float(START - 100)]
    publisher = LyingPublisher(script, honest)
    clicks: list[tuple[float, str]] = []

    def clicked(begin: int, end: int) -> Sequence[str]:
        if taste.random() < 0.05:
            raise OSError("the history cannot be read")
        return list(dict.fromkeys(article for time, article in clicks if begin <= time < end))

    def seen(begin: int, end: int) -> Sequence[View]:
        size, width = taste.choice((0.1, 3.0, 1e6)), len(FEATURES) + taste.choice((0, DIRECTIONS))
        shown = [article for time, article in clicks if begin <= time < end]
        rows = tuple(tuple(taste.uniform(-size, size) for _ in range(width)) for _ in shown)
        return [View(EVERYBODY, tuple(taste.random() < 0.3 for _ in shown), rows)] * taste.randrange(3)

    sender = Recorded(publisher.heard, now)
    contributor = ContributorInMemory(Path("nowhere"), clicked, sender, FLOORS, views=seen, clock=lambda: now[0])
    client, problems = TaskClient("https://news.test", contributor, transport=publisher), []
    try:
        client.refresh()
        for _ in range(script.randrange(5, 40)):
            clicks += [(now[0], f"N{taste.randrange(ARTICLES + 3)}") for _ in range(taste.choice((0, 0, 1, 4)))]
            due = contributor.next_due()
            waits = script.choice((60, 3600, 3 * 3600, DAY)) if script.random() < 0.3 and not honest else None
            now[0] = now[0] + (waits or 600) if due is None or waits else max(due, now[0]) + 0.001
            contributor.contribute_due()
            if script.random() < 0.2:
                publisher.change()
                client.refresh()
            if script.random() < 0.02 and not honest:
                contributor.forget()
                contributor._store.secret = bytes(32)
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
    spent = contributor.statement()
    if spent.today > FLOORS.max_day_epsilon + 1e-9 or spent.life > FLOORS.max_life_epsilon + 1e-9:
        problems.append(f"a reader paid more than allowed: {spent}")
    windows = [(task.id, window) for task, window in sender.given]
    if len(set(windows)) < len(windows):
        problems.append("a window was contributed to twice")
    if honest and not windows:
        problems.append("nothing was contributed")
    return [*publisher.heard, *((d.purpose, d.part, d.epsilon, d.time) for d in spent.debits)], problems


def sums_problems(seed: int, *, honest: bool = False) -> list[str]:
    """What is wrong in the conversation of a seed; nothing, if the device is safe against it."""
    (one, found), (other, more) = (talk(seed, reader, honest=honest) for reader in (0, 1))
    found = [*found, *more]
    if one != other:
        found.append(f"what is seen of one reader differs from what is seen of another, {len(one)} and {len(other)}")
    return [f"seed {seed}: {problem}" for problem in found]
