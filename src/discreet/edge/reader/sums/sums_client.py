"""Fetches the public tasks of a publisher, and hands those that pass to a `Contributor`.

    tasks = TaskClient("https://news.example", contributor)
    tasks.refresh()
    contributor.contribute_due()

What it asks for depends on what the publisher announces and on which tasks are known, never on clicks.
"""

from __future__ import annotations

import hashlib
from http.client import HTTPException

from discreet.aggregation.task import OF_EACH_WINDOW, Task
from discreet.edge.reader.http_client import Transport, over_http
from discreet.edge.reader.sums.contributor import Contributor
from discreet.errors import DiscreetError
from discreet.protocol.check import read


class TaskClient:
    """A contributor's side of the conversation with a publisher.

    Args:
        url: The publisher's address.
        contributor: Who contributes to the tasks that pass.
        transport: How to reach it.
    """

    def __init__(self, url: str, contributor: Contributor, *, transport: Transport = over_http) -> None:
        self._url = url.rstrip("/")
        self._contributor = contributor
        self._transport = transport
        contributor.cells_of = self._cells_of
        self.problem: str | None = None
        self.refused: list[str] = []

    def refresh(self) -> None:
        """Fetch the announced tasks, and what their values stand for; what cannot be used is named in `refused`."""
        self.problem = None
        answer = self._fetch("/v1/tasks")
        if answer is None:
            return
        try:
            announced = read("tasks", answer)["tasks"]
        except DiscreetError as error:
            self.problem = f"{self._url}: {error}"
            return
        self.refused = []
        for terms in announced:
            try:
                self._take(Task.from_json(terms))
            except DiscreetError as error:
                self.refused.append(str(error))

    def _take(self, task: Task) -> None:
        if not self._contributor.offers(task):
            return
        cells = self._cells(task) if task.cells not in ("", OF_EACH_WINDOW) else []
        self._contributor.adopt(task, cells)

    def _cells_of(self, task: Task, window: int) -> list[str]:
        answer = self._fetch(f"/v1/cells/{task.id.hex()}/{window}")
        if answer is None:
            raise DiscreetError(f"the list of cells of window {window} could not be fetched")
        cells: list[str] = read("cells", answer)["cells"]
        return cells

    def _cells(self, task: Task) -> list[str]:
        answer = self._fetch(f"/v1/cells/{task.cells}")
        if answer is None:
            raise DiscreetError(f"task {task.name} must wait: its list of cells could not be fetched")
        if hashlib.sha256(answer).hexdigest() != task.cells:
            raise DiscreetError(f"task {task.name} is refused: its list of cells is not the one that it names")
        cells: list[str] = read("cells", answer)["cells"]
        return cells

    def _fetch(self, path: str) -> bytes | None:
        try:
            reply = self._transport("GET", self._url + path, {}, None)
        except (OSError, HTTPException) as error:
            self.problem = f"{self._url} cannot be reached ({error})"
            return None
        if reply.status != 200:
            self.problem = f"{self._url}{path}: {reply.status}, {reply.error() or 'no reason given'}"
            return None
        return reply.body
