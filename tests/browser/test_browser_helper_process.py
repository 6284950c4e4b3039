"""The page in Chromium beside a helper in another process: it contributes to both aggregators, and a sum comes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from discreet.aggregation.task import DAY
from discreet.data.synthetic.local_paper import local_paper
from discreet.experiments.live_week.live_site import live_site
from discreet.experiments.live_week.played_week import DEMO_TERMS
from discreet.serving.addresses import listen
from discreet.serving.learning.window_learner import teaches

PATIENCE, NUMBER = 300_000, 50
CLOCK = "{ const now = Date.now; Date.now = () => now() + 1000 * Number(localStorage.ahead ?? %f); }"
CONTRIBUTED = "() => document.getElementById('sums-words').textContent.includes('1 contribution has left')"


@pytest.mark.long
def test_the_page_contributes_to_two_processes(browser: Any, tmp_path: Path) -> None:
    start = int(time.time()) // DAY * DAY - 3 * DAY  # the page's own sums begin the day before yesterday
    paper = local_paper(1, start, 1, articles_a_day=20, seed=1)
    terms, token = DEMO_TERMS("hashed"), "a token of an operator"
    with (
        live_site(tmp_path / "served", listen("127.0.0.1", 0), paper, terms, token) as site,
        browser.new_context() as context,
    ):
        task = next(one for one in site.service.offer.tasks if teaches(one))
        assert task.helper == site.helper

        def turn(now: float) -> None:
            """The server's clock and the page's."""
            site.clock.now = now
            page.evaluate("(ahead) => { localStorage.ahead = ahead; }", now - time.time())

        site.publish(paper, task.begins(NUMBER) - 100.0)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.add_init_script(CLOCK % (task.begins(NUMBER) - 100.0 - DAY - time.time()))
        page.goto(site.address)
        page.wait_for_function("() => document.getElementById('sums-words').textContent.includes('a later day (UTC)')")
        turn(task.begins(NUMBER) - 100.0)
        page.reload()
        page.wait_for_selector("html[data-ready]")
        page.wait_for_function("() => document.getElementById('sums-words').textContent.includes('the other.')")
        assert task.helper.removeprefix("http://") in page.locator("#sums-words").inner_text()
        turn(task.begins(NUMBER) + 100.0)
        page.locator("#articles > li button").first.click()
        page.wait_for_function("() => document.querySelectorAll('#read li').length === 1")
        page.keyboard.press("Escape")
        site.clock.now = task.begins(NUMBER + 1) + 0.5
        site.learner.close_windows()
        turn(task.sent_until(NUMBER) - 1.0)  # whatever the drawn time, it has come
        page.wait_for_function(CONTRIBUTED)

        site.clock.now = float(task.sent_until(NUMBER))
        site.learner.learn()
        (found,) = (row for row in site.service.status({})["tasks"] if row["task"] == task.id.hex())
        assert (found["collected"], found["contributions"]) == (1, 1)
        assert site.service.status({})["running"]["aggregators"][f"helper of {task.name}"] == "answers"
        assert complaints == []
