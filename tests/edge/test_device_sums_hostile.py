"""Whatever a publisher says about tasks, what is seen of a device does not depend on its reader's clicks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sums_tools import CELLS, CELLS_PAGE, START, Reader, task

from discreet.aggregation.task import Task
from discreet.audits.hostile_server.hostile_sums import sums_problems, talk
from discreet.edge.reader.http_client import HttpReply
from discreet.edge.reader.sums import measures
from discreet.edge.reader.sums.sums_client import TaskClient

HOUR = 3600


@pytest.mark.parametrize("honest", [True, False])
def test_nothing_is_seen_of_clicks(honest: bool) -> None:
    assert [problem for seed in range(40) for problem in sums_problems(seed, honest=honest)] == []


def test_the_conversations_have_contributions_in_them() -> None:
    events = [event for seed in range(10) for event in talk(seed, 0, honest=False)[0]]
    assert sum(event[0] == "report" for event in events) > 40


@pytest.mark.parametrize("fault", ["silent", "throws", "too much"])
def test_a_device_that_lets_clicks_be_seen_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check would notice a device that is silent without clicks, and one that shows an error or another size."""
    from discreet.edge.reader.sums.contributor import Contributor

    genuine = Contributor._contribution

    def leaky(self: Any, known: Any, window: int) -> Any:
        contribution = genuine(self, known, window)
        if contribution is not None and contribution.values.sum():
            return contribution
        if fault == "throws":
            raise ValueError("no clicks")
        return None if fault == "silent" else genuine(self, known, window + 1)

    monkeypatch.setattr(Contributor, "_contribution", leaky)
    assert any(sums_problems(seed) for seed in range(15))


def test_what_cannot_be_measured_is_sent_as_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(some: Task, clicked: object, left: int) -> None:
        raise RuntimeError("a bug")

    reader = Reader(tmp_path)
    reader.contributor.adopt(task(), CELLS)
    reader.click("N1", START + 1)
    monkeypatch.setitem(measures.MEASURES, "clicks by cell", broken)
    reader.run(START + 2 * HOUR)
    assert reader.values() == [[0] * 6]


def served(tasks: list[Task], cells: bytes = CELLS_PAGE) -> Any:
    def answer(method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        if url.endswith("/v1/tasks"):
            return HttpReply(200, json.dumps({"tasks": [each.to_json() for each in tasks]}).encode())
        return HttpReply(200, cells)

    return answer


def test_public_tasks_are_fetched_and_contributed_to(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    tasks = [
        task(),
        task(name="dear", epsilon=2),
        task(name="how many", kind="count", length=1, max_value=1, max_total=1, measure="clicks", cells=""),
    ]
    client = TaskClient("https://news.example/", reader.contributor, transport=served(tasks))
    client.refresh()
    assert client.problem is None
    assert [reason.split(":")[0] for reason in client.refused] == ["task dear is refused"]
    reader.click("N3", START + 1)
    reader.run(START + 2 * HOUR)
    assert sorted(reader.values()) == [[0, 0, 0, 60, 0, 0], [1]]


def test_a_window_may_have_a_list_of_its_own(tmp_path: Path) -> None:
    """An article counts once a day, in whichever cell it stands; a list that is not there is as if nothing was read."""
    some, reader = task(cells="window", length=3), Reader(tmp_path)
    lists = {0: ["N7", "N8"], 1: ["N9", "N7"], 2: ["N1", "N1"], 3: ["a", "b", "c", "d"]}
    asked = []

    def answer(method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        if url.endswith("/v1/tasks"):
            return HttpReply(200, json.dumps({"tasks": [some.to_json()]}).encode())
        asked.append(url.rpartition("/v1/cells/")[2])
        cells = lists.get(int(url.rpartition("/")[2]))
        return HttpReply(200, json.dumps({"cells": cells}).encode()) if cells else HttpReply(404, b"{}")

    TaskClient("https://news.example", reader.contributor, transport=answer).refresh()
    for hour, articles in enumerate((["N8"], ["N8", "N7"], ["N1"], ["a"], ["N7"])):
        for article in articles:
            reader.click(article, START + hour * HOUR + 1)
    reader.run(START + 6 * HOUR)
    assert reader.values() == [[0, 60, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert asked == [f"{some.id.hex()}/{window}" for window in range(5)]


def test_two_tasks_under_one_name_are_not_both_taken(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    client = TaskClient("https://news.example", reader.contributor, transport=served([task(), task(windows=9)]))
    client.refresh()
    assert reader.contributor.tasks == [task()]
    assert "under its name" in client.refused[0]


def test_cells_must_be_those_that_the_terms_name(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    other = json.dumps({"cells": CELLS[::-1]}).encode()
    client = TaskClient("https://news.example", reader.contributor, transport=served([task()], other))
    client.refresh()
    assert reader.contributor.tasks == []
    assert "not the one that it names" in client.refused[0]
    assert hashlib.sha256(other).hexdigest() != task().cells
