"""The browser's part in sums: the bytes that Python makes, and a contribution from Chromium to two aggregators."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from chromium import BLANK
from dap_processes import Deployment
from device_server import PublisherServer, serving
from sums_tools import CELLS, CELLS_PAGE, DAY, START, task
from sums_tools import HELPER as SUMS_HELPER
from sums_vectors import HELPER, vectors, verdicts
from tools import tool

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.dap_sums import DapSums
from discreet.aggregation.dap.hpke import generate_key
from discreet.aggregation.dap.messages import HpkeConfigList
from discreet.aggregation.task import Task
from discreet.audits.hostile_server.publisher import WEEK, public_model

ROOT = Path(__file__).parents[2]
DEVICE = ROOT / "src" / "discreet" / "serving" / "web" / "device"
SUPPORT = ROOT / "tests" / "support"
RFC_9180 = {  # appendix A.1.1, the first encryption
    "info": "4f6465206f6e2061204772656369616e2055726e",
    "pkEm": "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
    "skEm": "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
    "pkRm": "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
    "pt": "4265617574792069732074727574682c20747275746820626561757479",
    "aad": "436f756e742d30",
    "ct": "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
}


def run_node(script: str, *arguments: Path) -> Any:
    node = tool("node")
    command = [node, str(SUPPORT / script), *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_tasks_costs_times_and_reports_are_byte_for_byte_those_of_python(tmp_path: Path) -> None:
    made = {**vectors(seed=1, count=40), "rfc": RFC_9180, "verdicts": verdicts(2, 400), "helpers": [HELPER]}
    (tmp_path / "vectors.json").write_text(json.dumps(made), encoding="utf-8")
    found = run_node("sums_check.mjs", DEVICE, tmp_path / "vectors.json")
    assert found["wrong"] == []
    assert (found["tasks"], found["spent"]) == (40, 12)
    assert found["verdicts"] > 100


def world(**changes: Any) -> dict[str, Any]:
    """A publisher with tasks, and readers who click differently. The page was opened before, a day earlier."""
    window = {"kind": "histogram", "length": 6, "max_value": 1, "max_total": 1, "per": "window", "epsilon": 0.01}
    tasks = [
        task(),
        task(name="each hour", **window),
        task(name="how many", kind="count", length=1, max_value=1, max_total=1, measure="clicks", cells=""),
        task(name="too dear", epsilon=3.0),
        task(name="of each window", cells="window", length=4, epsilon=0.2),
    ]
    readers: list[list[tuple[int, str]]] = [
        [],
        [(START + 60, "N1"), (START + 61, "N5"), (START + 3700, "N2"), (START + 90_000, "N2")],
        [(START + 600 * number, f"N{number % 9}") for number in range(100)],
    ]
    of_windows = {str(window): json.dumps({"cells": [f"N{window % 10}", "N5", "N6"]}) for window in range(40)}
    return {
        "model": {**public_model(6), "schedule": {"start": "2020-01-01T00:00:00+00:00", "length_seconds": WEEK}},
        "catalogue": None,
        "tasks": [each.to_json() for each in tasks],
        "cells": {task().cells: CELLS_PAGE.decode(), **of_windows},
        "keys": HpkeConfigList((generate_key(3).config,)).encode().hex(),
        "helpers": [SUMS_HELPER],
        "now": START - DAY - 100,
        "steps": [["open"], ["clock", START - 100], ["announce", None], ["open"], ["until", START + 30 * 3600]],
        "readers": readers,
        **changes,
    }


def seen(tmp_path: Path, **changes: Any) -> Any:
    (tmp_path / "world.json").write_text(json.dumps(world(**changes)), encoding="utf-8")
    found = run_node("sums_talks.mjs", DEVICE, tmp_path / "world.json")
    assert [each["thrown"] for each in found] == [[]] * len(found)
    return found


def test_what_is_seen_of_a_browser_does_not_depend_on_clicks(tmp_path: Path) -> None:
    quiet, some, many = seen(tmp_path)
    assert quiet["seen"] == some["seen"] == many["seen"]
    assert len(quiet["given"]) == 4 * 29
    assert values_of(quiet) != values_of(some) != values_of(many)
    assert quiet["debits"] == some["debits"] == 2 + 29 + 2 + 2
    assert [reason.split(":")[0] for reason in quiet["refused"]] == ["task too dear is refused"]
    assert quiet["life"] == pytest.approx(0.1 * 4 + 0.01 * 29 + 0.2 * 2)


def values_of(found: Any) -> list[Any]:
    return [values for _, _, _, values in found["given"]]


def test_devices_of_one_origin_share_the_reader_s_budget(tmp_path: Path) -> None:
    """A server under several names has several devices in a browser; together they pay what one may."""
    alone = seen(tmp_path)
    together = seen(tmp_path, together=True)
    assert values_of(together[0]) == values_of(alone[0])
    assert together[0]["life"] == alone[0]["life"]
    assert 0 < len(together[1]["given"]) < len(alone[1]["given"])
    assert together[2]["debits"] < sum(each["debits"] for each in alone)
    assert together[2]["life"] <= 2.0, "two days"
    assert sum(each["life"] for each in alone) > 3.0


def test_a_browser_gives_what_was_clicked_and_a_day_has_one_total(tmp_path: Path) -> None:
    given = values_of(seen(tmp_path)[1])
    vectors_of_day = [values for values in given if isinstance(values, list) and len(values) == len(CELLS)]
    assert [values for values in vectors_of_day if any(values)] == [[0, 30, 0, 0, 0, 30], [0, 0, 60, 0, 0, 0]]
    of_each_window = [values for values in given if isinstance(values, list) and len(values) == 4 and any(values)]
    assert of_each_window == [[0, 60, 0, 0]]


def test_a_report_that_could_not_be_sent_is_not_sent_again(tmp_path: Path) -> None:
    steps = [*world()["steps"][:-1], ["fail", True], *world()["steps"][-1:]]
    quiet, some, many = seen(tmp_path, steps=steps)
    assert quiet["seen"] == some["seen"] == many["seen"]
    assert len(quiet["given"]) == 4 * 29
    assert quiet["problem"] is not None


def test_tasks_are_forgotten_with_the_history(tmp_path: Path) -> None:
    quiet, *_ = seen(tmp_path, steps=[*world()["steps"], ["announce", []], ["forget"]])
    assert (quiet["tasks"], quiet["debits"]) == (0, 35)


CONTRIBUTE = """async ({ url, helpers, start, article }) => {
  const { openDevice } = await import("/web/device/device.js");
  const { LIMITS } = await import("/web/device/check.js");
  Object.assign(LIMITS, { max_window_epsilon: 100, max_day_epsilon: 100, max_life_epsilon: 100 }); // to see the sum
  let now = start - 86_500;
  const device = await openDevice({ url, now: () => now, database: `sums ${Math.random()}` });
  await device.refresh();
  await device.joinSums({ helpers }); // on the day before
  now = start - 100;
  const sums = await device.joinSums({ helpers });
  await sums.refresh();
  now = start + 5;
  await device.clicked(article);
  now = (await sums.nextDue()) + 0.001;
  const delivered = await Promise.all([sums.contributeDue(), sums.contributeDue()]);
  return { delivered, problem: sums.problem, refused: sums.refused, sent: device.sent() };
}"""


class WithTasks(PublisherServer):
    """A publisher that announces tasks."""

    tasks: tuple[Task, ...] = ()

    def answer(self, method: str, path: str, body: str | None) -> tuple[int, Any]:
        if path == "/v1/tasks":
            return 200, {"tasks": [each.to_json() for each in self.tasks]}
        return (200, CELLS_PAGE) if path.startswith("/v1/cells/") else super().answer(method, path, body)


@pytest.mark.long
def test_chromium_and_python_devices_contribute_to_two_aggregators(browser: Any, tmp_path: Path) -> None:
    """A leader, a helper and a collector as processes; what they sum is what was clicked."""
    start = int(time.time()) // 600 * 600 - 1800
    terms = {
        "kind": "multihot",
        "length": len(CELLS),
        "max_total": 1,
        "measure": "clicks by cell",
        "cells": task().cells,
    }
    site = Deployment(tmp_path, start=start, windows=3, **terms)
    publisher = WithTasks()
    publisher.tasks = (site.task,)
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "blank.html").write_text(BLANK, encoding="utf-8")
    with browser.new_context() as context, serving(publisher, ("/web/", DEVICE.parent), ("/test/", folder)) as url:
        try:
            site.start("helper")
            site.start("leader")
            for values in (site.task.nothing(), [0, 0, 0, 1, 0, 0]):
                DapSums().contribute(site.task, 0, Contribution.of(site.task, values))
            page = context.new_page()
            page.goto(f"{url}/test/blank.html")
            wanted = {"url": url, "helpers": [site.task.helper], "start": start, "article": CELLS[4]}
            found = page.evaluate(CONTRIBUTE, wanted)
            assert sorted(found["delivered"]) == [0, 1], found
            assert [entry["status"] for entry in found["sent"]] == [200] * len(found["sent"])
            collected = DapSums(site.collector()).collect(site.task, 0)
        finally:
            site.stop()
    assert collected.values.tolist() == [0, 0, 0, 1, 1, 0]
    assert collected.contributions == 3
