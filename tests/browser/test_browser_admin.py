"""The operator's page in Chromium, from a running server: figures, plots, a rollback, and nothing without the token."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_site import START, small_learner

from discreet.aggregation.sums import NoisySum
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.protocol.quality_cells import LATTICE, quality_cells
from discreet.serving.addresses import listen, url_of
from discreet.serving.database_tables import model_versions
from discreet.serving.endpoints import create_app
from discreet.serving.http import http_server
from discreet.serving.learning.experiment import Experiment, ExperimentArm, arm_names
from discreet.serving.learning.quality_estimates import quality_task
from discreet.serving.learning.window_store import ClosedWindow, WindowStore
from discreet.serving.status import Running

TOKEN = "0123456789abcdef"
ARMS = arm_names(Experiment("less popularity", (ExperimentArm("now"), ExperimentArm("half", popularity=0.5))))


BROKEN_WORDS = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll("#shown :is(td span, th, p, h3)")) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      for (const { index, 0: word } of walker.currentNode.data.matchAll(/\\S{1,24}/g)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, index);
        range.setEnd(walker.currentNode, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word);
      }
    }
  }
  return broken;
}"""
"""Words that stand on two lines."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A server that has learnt from a window, and has measured two arms for six days."""
    service, learner = small_learner(tmp_path)
    learner.learn()
    with service.store.engine.begin() as connection:
        old = {"version": "f" * 32, "model": "m", "made": START, "sums": 0, "reason": "an older window", "state": None}
        connection.execute(model_versions.insert().values(old))
    store, task = WindowStore(service.store), quality_task(ARMS, 0.1, start=START, windows=9, name="ranking quality")
    rng = np.random.default_rng(1)
    for window in range(6):
        shares = np.concatenate(
            [[auc, 1 - auc, auc - 0.2, click, 1 - click] for auc, click in ((0.66, 0.4), (0.69, 0.5))]
        )
        values = np.rint(4000 * LATTICE * shares + rng.laplace(0, 3 * LATTICE / 0.1, len(shares))).astype(np.int64)
        closed = ClosedWindow(task.id.hex(), window, task.begins(window + 1), quality_cells(ARMS), np.zeros(0))
        store.close_window(closed)
        assert store.measure(closed, task, NoisySum(values, task.guarantee(), 12_000))
    service.running = lambda: Running([*learner._tasks.values(), task], {"report_replayed": 3}, {"leader": "serving"})
    listener = listen("127.0.0.1", 0)
    server = http_server(create_app(service, admin_token=TOKEN))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield url_of(listener)
    server.should_exit = True
    thread.join()


@pytest.fixture
def many_versions(tmp_path: Path) -> Iterator[str]:
    """A server that has learnt from many windows."""
    service, _ = small_learner(tmp_path)
    known = {"model": "m", "sums": 1, "reason": "a window of clicks", "state": None}
    with service.store.engine.begin() as connection:
        for number in range(20):
            connection.execute(model_versions.insert().values(version=f"{number:032x}", made=START + number, **known))
    listener = listen("127.0.0.1", 0)
    server = http_server(create_app(service, admin_token=TOKEN))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield url_of(listener)
    server.should_exit = True
    thread.join()


@pytest.mark.long
def test_old_versions_do_not_fill_a_phone(browser: Any, many_versions: str) -> None:
    """They are unfolded on request, and stay so when the page looks again."""
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{many_versions}/admin")
        page.get_by_label("token").fill(TOKEN)
        page.get_by_role("button", name="Show").click()
        rows = page.locator("#model tbody tr:visible")
        rows.first.wait_for()
        assert rows.count() == 5
        assert page.evaluate("document.documentElement.scrollHeight") < 4000
        page.locator("#model summary").click()
        for _ in range(2):  # with the second answer, the first one is shown
            with page.expect_response(lambda answer: answer.url.endswith("/v1/admin/status")):
                page.clock.fast_forward(6000)
        assert rows.count() == 20


@pytest.mark.long
def test_what_nothing_bounds_is_not_proved(browser: Any, many_versions: str) -> None:
    """As in a trial, where one party runs both aggregators."""
    show = """async (day) => (await import("/web/admin/tables.js")).budgetOf({ tasks: [{ task: "a trial", day }] })
      .map((part) => part.textContent).join(" ")"""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{many_versions}/admin")
        shown = page.evaluate(show, Guarantee.unprotected("a trial", Scope.DAY).to_json())
    assert "nothing is promised: ε = ∞ against the server" in shown
    assert "proved" not in shown


@pytest.mark.long
def test_the_operators_page(browser: Any, site: str, tmp_path: Path) -> None:
    with browser.new_context(viewport={"width": 1200, "height": 900}) as context:
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{site}/admin")
        page.get_by_label("token").fill("a wrong token of some length")
        page.get_by_role("button", name="Show").click()
        page.get_by_text("this is not the administrator's token").wait_for()
        assert page.locator("#shown").is_hidden()
        page.get_by_label("token").fill(TOKEN)
        page.get_by_role("button", name="Show").click()
        page.locator("#quality svg").first.wait_for()
        quality = page.locator("#quality").inner_text()
        assert "half, views with a click" in quality
        assert "better" in quality
        assert page.locator("#quality svg").count() == 2  # views with a click, and AUC
        assert page.locator("#quality svg polyline").count() == 4
        assert "by day ― now ― half" in quality
        assert "front page popularity" in page.locator("#sums").inner_text()
        budget = page.locator("#budget").inner_text()
        assert "per user (zero out), against the publisher and one aggregator, one day, proved" in budget
        assert "report_replayed" in page.locator("#health").inner_text()
        rows = page.locator("#model tbody tr")
        assert [row.get_by_role("button").count() for row in rows.all()] == [0, 1]
        assert "not kept" in rows.first.inner_text()
        for answer in ("Change nothing", None, "Yes, roll back"):
            assert page.get_by_text("Rolled back to").count() == 0
            page.get_by_role("button", name="Roll back", exact=True).click()
            page.get_by_text("until you lift it").wait_for()
            if answer is None:
                page.keyboard.press("Escape")
            else:
                page.get_by_role("button", name=answer).click()
            page.locator("#asking").wait_for(state="hidden")
        page.get_by_text("Rolled back to").wait_for()
        assert "This one ranks now." in rows.last.inner_text()
        page.get_by_role("button", name="Lift").click()
        page.get_by_text("Rolled back to").wait_for(state="detached")
        page.screenshot(path=os.environ.get("DISCREET_SCREENSHOT", str(tmp_path / "admin.png")), full_page=True)
        for width in (390, 1366):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert page.evaluate(BROKEN_WORDS) == []
            sections = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length"
            assert page.locator("#shown section").evaluate_all(sections) == 0
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollHeight") < 4000
        page.get_by_role("button", name="Forget the token").click()
        assert page.locator("#shown").is_hidden()
        assert complaints == []


def test_there_is_no_page_where_there_is_no_token(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    service, _ = small_learner(tmp_path)
    with TestClient(create_app(service)) as web:
        assert web.get("/admin").status_code == 404
        assert web.get("/v1/admin/status").status_code == 404
