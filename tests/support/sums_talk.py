"""A conversation about sums with a whole Python device: what it sent, and what it gave. The twin of `sums_talk.mjs`."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.task import Task
from discreet.edge.reader.http_client import HttpReply
from discreet.edge.reader.sums import measures
from discreet.edge.reader.sums.contributor import ContributorInMemory
from discreet.edge.reader.sums.floors import Floors
from discreet.edge.reader.sums.sums_client import TaskClient
from discreet.protocol.check import limits


class Talk:
    """One reader's side. What it sends is in `seen`, what it gives in `given`: [time, task, window's time, values]."""

    def __init__(self, conversation: Mapping[str, Any], clicks: Sequence[tuple[float, str]]) -> None:
        self._conversation, self._clicks = conversation, clicks
        self._now = float(conversation["now"])
        self._announced: list[Any] = []
        self._fails = False
        self.seen: list[Any] = []
        self.given: list[Any] = []
        for name, value in conversation["limits"].items():
            object.__setattr__(limits, name, value)
        floors = Floors(helpers=frozenset(conversation["helpers"]))
        self._contributor = ContributorInMemory(Path(), self._clicked, self, floors, clock=lambda: self._now)
        self._client = TaskClient("https://news.test", self._contributor, transport=self._answer)
        self._opened = False

    def run(self) -> dict[str, Any]:
        thrown = []
        for step, *given in self._conversation["steps"]:
            try:
                getattr(self, f"_{step}")(*given)
            except Exception:
                thrown.append(f"{step}: {traceback.format_exc()}")
        spent = self._contributor.statement()
        return {"seen": self.seen, "given": self.given, "thrown": thrown, "isTrial": spent.is_trial}

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """As a `Sender`."""
        self.seen.append([self._now, "report", task.id.hex(), window])
        self.given.append([self._now, task.id.hex(), task.begins(window) // task.window_seconds, _plain(contribution)])
        if self._fails:
            raise ConnectionError("no way there")

    def _open(self) -> None:
        self._opened = True
        self._client.refresh()

    def _announce(self, places: Sequence[int] | None) -> None:
        tasks = self._conversation["tasks"]
        self._announced = [tasks[place] for place in (range(len(tasks)) if places is None else places)]
        if self._opened:
            self._client.refresh()

    def _clock(self, now: float) -> None:
        self._now = now

    def _until(self, end: float) -> None:
        while (due := self._contributor.next_due()) is not None and due < end:
            self._now = max(self._now, due) + 0.001
            self._contributor.contribute_due()
        self._now = max(self._now, end)
        self._contributor.contribute_due()

    def _contribute(self) -> None:
        self._contributor.contribute_due()

    def _fail(self, fails: bool) -> None:
        self._fails = fails

    def _lose(self) -> None:
        with self._contributor._store._transaction() as connection:
            connection.execute("UPDATE task SET window = -1, period = -1, given = 0, counted = '[]'")

    def _break(self, how: str) -> None:
        def broken(task: Task, observed: measures.Observed, left: int) -> Any:
            values = task.nothing()
            if how == "throws" and observed.clicked:
                raise RuntimeError("a bug")
            values[:] = 0 if how == "throws" else task.max_value
            values[1:] *= how != "again"
            return values

        measures.MEASURES["clicks by cell"] = broken

    def _forget(self) -> None:
        self._contributor.forget()
        self._client.refresh()

    def _clicked(self, begin: int, end: int) -> Sequence[str]:
        return list(dict.fromkeys(article for time, article in self._clicks if begin <= time < end))

    def _answer(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        self.seen.append([self._now, method, url])
        path, cells = url.removeprefix("https://news.test"), self._conversation["cells"]
        if path == "/v1/tasks":
            return HttpReply(200, json.dumps({"tasks": self._announced}).encode())
        name = path.removeprefix("/v1/cells/")
        found = cells.get(name) or cells.get(name.rpartition("/")[2])
        return HttpReply(200, found.encode()) if found else HttpReply(404, b"{}")


def _plain(contribution: Contribution) -> list[int]:
    return [int(value) for value in contribution.values]
