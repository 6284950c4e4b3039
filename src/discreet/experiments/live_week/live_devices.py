"""Some hundred shipped devices in a process of their own: they read as a generated paper's readers do, and contribute.

Each is a whole device (`ReaderClient`): it fetches terms, catalogue and tasks from the server, ranks by itself, keeps
its reader's clicks and its own ledger, draws its arm, and sends contributions to two aggregators. Two things are not as
with real readers. Files are in memory. What is public, and the same for all, is fetched once for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.dap_sums import DapSums
from discreet.aggregation.task import Task
from discreet.data.synthetic.local_paper import LocalPaper
from discreet.edge.reader.device_in_memory import ReaderClientInMemory
from discreet.edge.reader.http_client import HttpReply, over_http
from discreet.edge.reader.reader_client import ReaderClient
from discreet.edge.reader.sums.floors import Floors
from discreet.errors import DiscreetError
from discreet.experiments.live_week.own_process import start_process

_SHOWN = 20
_AT_ONCE = 4


class LiveDevices:
    """All devices of a paper's readers.

    Args:
        address: The server.
        helper: The second aggregator, which they trust.
        paper: What they read, and when.
        max_day_epsilon: What a day may cost each of them. Shipped devices allow much less.
        seed: Of what readers open.
    """

    def __init__(self, address: str, helper: str, paper: LocalPaper, max_day_epsilon: float, seed: int) -> None:
        self._paper, self._rng = paper, np.random.default_rng([seed, 1])
        self._now = float(paper.start)
        self._answers: dict[str, HttpReply] = {}
        self._sums = _SentTogether()
        floors = Floors(
            frozenset({helper}), max_day_epsilon=max_day_epsilon, max_life_epsilon=max_day_epsilon * paper.days
        )
        self._first = ReaderClientInMemory(address, Path(), transport=self._ask, clock=self._clock)
        self._first.refresh()
        self._clients = []
        for _ in range(len(paper.appeal.readers)):
            client = _Neighbour(address, Path(), transport=self._ask, clock=self._clock)
            client.take_from(self._first)
            client.join_sums(self._sums, floors)
            client.fetch_tasks()
            self._clients.append(client)

    def read(self, begin: float, end: float) -> int:
        """Let everybody who comes in these hours look at a front, and open what they like; how many came."""
        self._answers.clear()
        self._first.refresh()
        visits = self._paper.visits
        first, last = np.searchsorted(visits.time, (begin, end))
        for reader, time in zip(visits.reader[first:last].tolist(), visits.time[first:last].tolist(), strict=True):
            self._now = float(time)
            client = self._clients[reader]
            client.take_from(self._first)
            ids = (one.article.id for one in client.front(_SHOWN).articles)
            shown = {name.partition(":")[2]: name for name in ids}  # the feed's name stands before the paper's
            for article in self._paper.opened(reader, list(shown), time, self._rng):
                client.clicked(shown[article])
        return int(last - first)

    def contribute(self, now: float) -> int:
        """Let every device contribute what is due; how many contributions have arrived."""
        self._answers.clear()
        self._now = now
        for client in self._clients:
            assert client.contributor is not None
            client.contributor.contribute_due()
            if client.contributor.problem is not None:
                raise DiscreetError(f"a device could not contribute: {client.contributor.problem}")
        return self._sums.arrived()

    def _clock(self) -> float:
        return self._now

    def _ask(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        if method != "GET":
            return over_http(method, url, headers, body)
        if url not in self._answers:
            self._answers[url] = over_http(method, url, headers, body)
        return self._answers[url]


class _SentTogether:
    """Seals and sends contributions, some at a time, so that no device waits for another's."""

    def __init__(self) -> None:
        self._sums, self._pool = DapSums(), ThreadPoolExecutor(_AT_ONCE)
        self._under_way: list[Future[None]] = []

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """Send one; `arrived` says what came of it."""
        self._under_way.append(self._pool.submit(self._sums.contribute, task, window, contribution))

    def arrived(self) -> int:
        """Wait for all that are under way; how many have arrived, or an error if one has not."""
        done, self._under_way = self._under_way, []
        for one in done:
            one.result()
        return len(done)


class _Neighbour(ReaderClientInMemory):
    """A device that takes what is public from another one on the same machine, which has checked it."""

    def take_from(self, other: ReaderClient) -> None:
        """Adopt its terms and its catalogue."""
        self._adopt(other.device.terms)
        self.device.catalogue = other.device.catalogue

    def fetch_tasks(self) -> None:
        """Ask which sums there are."""
        assert self._tasks is not None
        self._tasks.refresh()
        if self._tasks.refused or self._tasks.problem:
            raise DiscreetError(f"a device does not take part: {self._tasks.problem or self._tasks.refused[0]}")


class DeviceProcess:
    """The same in a process of its own."""

    def __init__(self, address: str, helper: str, paper: LocalPaper, max_day_epsilon: float, seed: int) -> None:
        import multiprocessing

        self._pipe, theirs = multiprocessing.Pipe()
        given = (address, helper, paper, max_day_epsilon, seed)
        self._process = start_process(_play, theirs, *given)
        theirs.close()
        self._answer()

    def read(self, begin: float, end: float) -> int:
        """As `LiveDevices` does."""
        self._pipe.send(("read", begin, end))
        return self._answer()

    def contribute(self, now: float) -> int:
        """As `LiveDevices` does."""
        self._pipe.send(("contribute", now))
        return self._answer()

    def close(self) -> None:
        """All devices are gone."""
        self._pipe.close()
        self._process.terminate()
        self._process.join()

    def _answer(self) -> int:
        try:
            found = self._pipe.recv()
        except EOFError:
            raise DiscreetError("the process of the devices has ended") from None
        if isinstance(found, str):
            raise DiscreetError(found)
        return int(found)


def _play(pipe: Connection, *given: object) -> None:
    """Do what is asked until nobody asks any more."""
    try:
        devices = LiveDevices(*given)  # type: ignore[arg-type]
        pipe.send(0)
        while True:
            what, *when = pipe.recv()
            pipe.send(getattr(devices, what)(*when))
    except EOFError:
        return
    except DiscreetError as error:
        pipe.send(str(error))
