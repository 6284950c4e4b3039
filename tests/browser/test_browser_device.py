"""The browser's device in headless Chromium: Python's releases from the same bytes, and Python's manners."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from device_server import START, WEEK, PublisherServer, serving

from discreet.privacy.release import Release

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "discreet" / "serving" / "web"
SUPPORT = ROOT / "tests" / "support"
VECTORS = ROOT / "tests" / "device" / "test_vectors.json"
CHROMIUM = os.environ.get("DISCREET_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")

OPEN = """async ({url, database, now, seed}) => {
  const { openDevice } = await import("/web/device/device.js");
  const { scripted } = await import("/support/device_vectors.mjs");
  window.now = window.now ?? now;
  const random = seed ? scripted("", seed) : undefined;
  window.device = await openDevice({ url, database, random, now: () => window.now });
  await window.device.refresh();
}"""


def test_every_vector_in_node() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; the same vectors are checked in Chromium")
    command = [node, str(SUPPORT / "check_vectors.mjs"), str(VECTORS), str(WEB / "device" / "releases.js")]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert result == {"vectors": len(json.loads(VECTORS.read_text(encoding="utf-8"))), "wrong": []}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here; install one or set DISCREET_CHROMIUM to its path")
    playwright = pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
    with playwright.sync_playwright() as run:
        chromium = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def server() -> PublisherServer:
    return PublisherServer()


@pytest.fixture
def page(browser: Any, server: PublisherServer, tmp_path: Path) -> Iterator[Any]:
    blank = "<!doctype html><title>device</title><link rel=icon href=data:,>"  # no request of the browser's own
    (tmp_path / "blank.html").write_text(blank, encoding="utf-8")
    folders = (("/web/", WEB), ("/support/", SUPPORT), ("/vectors/", VECTORS.parent), ("/test/", tmp_path))
    with serving(server, *folders) as url:
        context = browser.new_context()
        page = context.new_page()
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(f"{url}/test/blank.html")
        page.address = url
        yield page
        context.close()


def open_device(page: Any, *, seed: int = 0, epoch: int = 10) -> None:
    options = {"url": page.address, "database": "test", "now": START + epoch * WEEK + 3600, "seed": seed}
    page.evaluate(OPEN, options)


def next_epoch(page: Any) -> None:
    page.evaluate(f"() => {{ window.now += {WEEK}; }}")


def test_every_vector_in_chromium(page: Any) -> None:
    result = page.evaluate("""async () => {
      const { checkVectors } = await import("/support/device_vectors.mjs");
      const vectors = await (await fetch("/vectors/test_vectors.json")).json();
      const changed = vectors.slice(0, 1).map((v) => ({ ...v, seed: v.seed + 1 }));
      const releases = await import("/web/device/releases.js");
      return { ...checkVectors(vectors, releases), notices: checkVectors(changed, releases).wrong.length };
    }""")
    assert result["wrong"] == []
    assert result["vectors"] > 500
    assert result["notices"] == 1, "other bytes must give another release, or the comparison says nothing"


def test_a_readers_fortnight(page: Any, server: PublisherServer) -> None:
    open_device(page)
    front = page.evaluate("() => device.front(5)")
    assert [article["id"] for article in front["articles"]] == ["N0", "N1", "N2", "N3", "N4"]
    page.evaluate("(slate) => device.clicked('N3', slate)", front["slate"])
    again = page.evaluate("() => device.front(5)")
    assert "N3" not in [article["id"] for article in again["articles"]]
    next_epoch(page)
    sent = page.evaluate("() => device.releaseDue()")
    assert [entry["status"] for entry in sent] == [201, 201]
    assert page.evaluate("() => device.releaseDue()") == []
    reports = {report["kind"]: report for report in server.reports.values()}
    assert reports["label"]["slate"]["articles"] == [f"N{number}" for number in range(30)]
    assert (reports["sketch"]["epoch"], reports["sketch"]["clicks"]) == (10, 1)
    for kind, report in reports.items():
        guarantee = Release.from_bytes(base64.b64decode(report["release"])).guarantee
        assert guarantee.epsilon == server.model["epsilon"][kind]
    budget = page.evaluate("() => device.budget()")
    assert (budget["worst"], budget["purposes"]) == (1, {"sketch": 0.7, "label": 0.3})
    assert page.evaluate("() => device.kept()")["categories"] == {"food": 1}
    assert all(url.startswith(page.address) for url in page.asked), "no request goes to anybody else"
    logged = page.evaluate("() => device.sent()")
    heard = [(method, body) for method, url, _, body in server.sent if url.startswith("/v1/")]
    assert [(entry["method"], entry["json"]) for entry in logged] == heard, "the log shows all that left"


def test_asking_again_costs_nothing_even_after_a_reload(page: Any, server: PublisherServer) -> None:
    open_device(page)
    page.evaluate("() => device.clicked('N1')")
    next_epoch(page)
    page.evaluate("() => device.front(3)")
    page.reload()
    open_device(page, epoch=11)
    page.evaluate("() => device.front(3)")
    bodies = [json.loads(body) for _, url, _, body in server.sent if url.endswith("/v1/recommend")]
    assert bodies[0]["sketches"] == bodies[1]["sketches"] != []
    assert len(page.evaluate("() => device.budget().debits")) == 1


def test_a_page_closed_between_debit_and_release_stays_paid(page: Any) -> None:
    open_device(page)
    page.evaluate("() => device.clicked('N1')")
    next_epoch(page)
    page.evaluate("""async () => {
      const { openDevice } = await import("/web/device/device.js");
      const random = (count) => { if (count > 16) throw new Error("closed"); return new Uint8Array(count); };
      const other = await openDevice({ url: "", database: "test", now: () => window.now, random });
      await other.front(3).catch(() => {});
      await device.load();
    }""")
    debits = page.evaluate("() => device.budget().debits")
    assert [(debit["epsilon"], debit["state"]) for debit in debits] == [(0.7, "never finished")]
    page.evaluate("() => device.releaseDue()")
    assert len(page.evaluate("() => device.budget().debits")) == 1, "a second sketch would pass the lifetime ε"


def test_the_length_is_hidden_where_the_publisher_says_so(page: Any, server: PublisherServer) -> None:
    server.model["adjacency"] = "add/remove"
    open_device(page)
    page.evaluate("async () => { const f = await device.front(3); await device.clicked('N1', f.slate); }")
    next_epoch(page)
    next_epoch(page)
    page.evaluate("() => device.releaseDue()")
    reports = list(server.reports.values())
    assert [(report["kind"], report["epoch"], report["clicks"]) for report in reports] == [
        ("sketch", 10, None),
        ("sketch", 11, None),
    ]


def test_open_categories_and_a_smaller_epsilon(page: Any, server: PublisherServer) -> None:
    open_device(page)
    page.evaluate("() => device.settings({ openCategories: ['sports'] })")
    for name in ("N0", "N4", "N1"):
        page.evaluate("(name) => device.clicked(name)", name)
    next_epoch(page)
    page.evaluate("() => device.front(3)")
    body = json.loads([body for _, url, _, body in server.sent if url.endswith("/v1/recommend")][-1])
    assert body["open"] == [1, 0, 0, 0, 1, 0]
    assert [sketch["clicks"] for sketch in body["sketches"]] == [1]
    assert page.evaluate("() => device.kept().open") == 2
    server.sent.clear()
    page.evaluate("() => device.settings({ epsilon: 0 })")
    assert page.evaluate("() => device.front(3)")["ranking"] == "local"
    page.evaluate("() => device.releaseDue()")
    assert server.sent == []
    refusal = page.evaluate("() => device.settings({ epsilon: 2 }).catch((error) => error.message)")
    assert "publisher's 1" in refusal


def test_forgetting(page: Any) -> None:
    open_device(page)
    page.evaluate("() => device.clicked('N1')")
    next_epoch(page)
    page.evaluate("() => device.releaseDue()")
    page.evaluate("() => device.clicked('N2')")
    page.evaluate("() => device.forget()")
    next_epoch(page)
    page.evaluate("() => device.releaseDue()")
    assert page.evaluate("() => device.kept()")["clicks"] == 0
    debits = page.evaluate("() => device.budget().debits")
    assert [(debit["epsilon"], debit["state"]) for debit in debits] == [(0.7, "forgotten")]


def test_offline(page: Any, server: PublisherServer) -> None:
    open_device(page)
    page.evaluate("() => device.clicked('N1')")
    next_epoch(page)
    server.offline = True
    front = page.evaluate("() => device.front(3)")
    assert (front["ranking"], front["slate"], len(front["articles"])) == ("local", None, 3)
    page.evaluate("() => device.releaseDue()")
    status = page.evaluate("() => device.status()")
    assert not status["online"]
    assert "cannot be reached" in status["problem"]
    server.offline = False
    page.evaluate("() => device.releaseDue()")
    assert len(server.reports) == 1


def test_both_devices_rank_alike(page: Any, server: PublisherServer, tmp_path: Path) -> None:
    from device_tools import Clock, device_of

    device = device_of(server, tmp_path / "python", Clock())
    open_device(page)
    for name in ("N3", "N17"):
        device.clicked(name)
        page.evaluate("(name) => device.clicked(name)", name)
    server.offline = True
    ours = [(shown.article.id, shown.score) for shown in device.rank()]
    theirs = page.evaluate("() => device.front(50)")["articles"]
    assert [article["id"] for article in theirs] == [name for name, _ in ours]
    assert [article["score"] for article in theirs] == pytest.approx([score for _, score in ours])


def test_other_clicks_send_the_same_bytes_beside_the_releases(page: Any, server: PublisherServer) -> None:
    """The releases differ, of course; all else, and their length, must not."""
    server.model["adjacency"] = "add/remove"
    heard = []
    for database, clicks in (("a", []), ("b", ["N1"]), ("c", ["N8", "N9", "N9", "N30"])):
        server.sent.clear()
        server.slates = 0
        page.evaluate("() => { window.now = undefined; }")
        options = {"url": page.address, "database": database, "now": START + WEEK * 10, "seed": 3}
        page.evaluate(OPEN, options)
        for name in clicks:
            page.evaluate("(name) => device.clicked(name)", name)
        page.evaluate("() => device.front(5)")
        next_epoch(page)
        page.evaluate("async () => { await device.releaseDue(); await device.front(5); await device.refresh(); }")
        heard.append([(method, url, _masked(body)) for method, url, _, body in server.sent])
    assert heard[0] == heard[1] == heard[2]
    assert sum("/v1/reports" in url for _, url, _ in heard[0]) == 1


def _masked(body: str) -> str:
    """Blank what was released, and the random names that were drawn after it."""
    fields = json.loads(body) if body else {}
    for holder in (fields, *fields.get("sketches", [])):
        for name in {"release", "id"} & set(holder):
            holder[name] = len(holder[name])
    return json.dumps(fields)
