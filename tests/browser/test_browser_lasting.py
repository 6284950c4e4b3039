"""A browser takes part in sums with a ledger that lasts, and ranks with any: Chromium that keeps nothing, or not now.

A visit is a page load on a day: the device is opened, and its windows of that day are contributed to if they may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from chromium import TESTS, WEB, files_only
from device_server import PublisherServer, serving
from sums_tools import CELLS_PAGE, DAY, HELPER, START, task

from discreet.aggregation.dap.hpke import generate_key
from discreet.aggregation.dap.messages import HpkeConfigList
from discreet.audits.hostile_server.publisher import WEEK, Publisher

SITE = "https://news.test"
"""Its pages may seal; they come from files, so nothing needs a certificate."""
VISIT = """async (conversation) => {
  const { Talk } = await import("/support/sums_talk.mjs");
  return new Talk((name) => import(`/web/device/${name}`), conversation, [], { own: "device", seed: 7 }).run();
}"""
CLEARED = "for (const name of ['device', 'discreet sums']) indexedDB.deleteDatabase(name);"
FRAME = """<script type=module>
  import { Talk } from "SITE/support/sums_talk.mjs";
  const load = (name) => import("SITE/web/device/" + name);
  const parts = { own: "device", seed: 7 };
  onmessage = async ({ data }) => parent.postMessage(await new Talk(load, data, [], parts).run(), "*");
  parent.postMessage("ready", "*");
</script>"""
ASK_FRAME = """([text, conversation]) => new Promise((resolve) => {
  const frame = Object.assign(document.createElement("iframe"), { sandbox: "allow-scripts", srcdoc: text });
  onmessage = ({ data }) => (data === "ready" ? frame.contentWindow.postMessage(conversation, "*") : resolve(data));
  document.body.append(frame);
})"""
REFUSED = {
    "there is none": "Object.defineProperty(window, 'indexedDB', { value: undefined });",
    "it may not be used": "Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no'); } });",
    "opening fails": """indexedDB.open = () => { const request = { error: new Error("refused") };
        setTimeout(() => request.onerror()); return request; };""",
    "opening never ends": "indexedDB.open = () => ({});",
    "the sums' own is refused": """{ const open = indexedDB.open.bind(indexedDB);
        indexedDB.open = (name, version) => {
          if (name !== "device") throw new Error("refused");
          return open(name, version);
        }; }""",
    "it is cleared at every load": CLEARED,
    "the sums' own is cleared at every load": CLEARED.replace("'device', ", ""),
    "the device's own is cleared at every load": CLEARED.replace(", 'discreet sums'", ""),
    "the page has no origin": "Object.defineProperty(window, 'origin', { value: 'null' });",
}


def conversation(day: int) -> dict[str, Any]:
    publisher = Publisher(12, schedule={"start": "2020-01-01T00:00:00+00:00", "length_seconds": WEEK})
    now = START + day * DAY + 1800
    return {
        "model": publisher.model,
        "catalogue": publisher.catalogue(),
        "tasks": [task().to_json()],
        "cells": {task().cells: CELLS_PAGE.decode()},
        "keys": HpkeConfigList((generate_key(3).config,)).encode().hex(),
        "helpers": [HELPER],
        "now": now,
        "steps": [["announce", None], ["open"], ["until", now + DAY // 2]],
    }


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    with files_only(browser) as context:
        yield context


def visit(page: Any, day: int) -> Any:
    page.goto(f"{SITE}/")
    found = page.evaluate(VISIT, conversation(day))
    assert found["thrown"] == []
    assert found["ranked"] == 5, "it ranks in any case"
    return found


def requests_of_reports(found: Any) -> list[str]:
    return [url for _, method, url, *_ in found["seen"] if method == "POST"]


def test_a_ledger_that_was_found_again_on_a_later_day_pays(context: Any) -> None:
    page = context.new_page()
    for _ in range(2):
        first = visit(page, 0)
        assert (first["given"], first["obstacle"] is None) == ([], False)
    later = visit(page, 1)
    assert later["obstacle"] is None
    assert len(later["given"]) == len(requests_of_reports(later)) == 12
    assert later["life"] == pytest.approx(0.1)
    assert visit(page, 2)["life"] == pytest.approx(0.2)
    assert visit(page, 1)["given"] == [], "the clock went back: that day was contributed to"


@pytest.mark.parametrize(
    "why", [pytest.param(why, marks=pytest.mark.long) if "never" in why else why for why in REFUSED]
)
def test_without_such_a_ledger_nothing_is_contributed(context: Any, why: str) -> None:
    page = context.new_page()
    page.add_init_script(REFUSED[why])
    for day in range(1 if "never" in why else 3):
        found = visit(page, day)
        assert found["obstacle"]
        assert requests_of_reports(found) == found["given"] == []


def test_a_page_that_was_left_open_over_midnight_waits_for_the_next_load(context: Any) -> None:
    page = context.new_page()
    page.goto(f"{SITE}/")
    steps = [["announce", None], ["open"], ["until", START + 3 * DAY]]
    assert page.evaluate(VISIT, {**conversation(0), "steps": steps})["given"] == []
    assert visit(page, 3)["given"]


@pytest.mark.parametrize("name", ["device", "discreet sums"])
def test_a_tab_that_holds_an_older_database_is_waited_for(context: Any, name: str) -> None:
    other, page = context.new_page(), context.new_page()
    other.goto(f"{SITE}/")
    other.evaluate(
        """(name) => new Promise((resolve) => {
          const request = indexedDB.open(name, 1);
          request.onsuccess = () => { window.kept = request.result; resolve(); };
        })""",
        name,
    )
    found = visit(page, 0)
    assert (found["given"], found["obstacle"] is None) == ([], False)
    other.close()
    assert visit(page, 1)["given"] == [], "an older database has no record that was found again"
    assert visit(page, 2)["given"]


def test_a_sandboxed_frame_ranks_and_contributes_nothing(browser: Any) -> None:
    """The page around it asks the frame, whose origin is "null"."""
    folders = (("/web/", WEB), ("/support/", TESTS / "support"))
    with serving(PublisherServer(), *folders) as url, browser.new_context() as context:
        text = FRAME.replace("SITE", url)
        page = context.new_page()
        page.goto(f"{url}/web/admin.html")
        for day in range(2):
            found = page.evaluate(ASK_FRAME, [text, conversation(day)])
            assert (found["thrown"], found["ranked"]) == ([], 5)
            assert found["obstacle"]
            assert requests_of_reports(found) == found["given"] == []
