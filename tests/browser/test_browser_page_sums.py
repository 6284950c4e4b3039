"""The served page takes part in sums: a window ends, Chromium contributes, and popularity is learnt."""

from __future__ import annotations

from typing import Any

import pytest
from sums_site import NUMBER, SumsSite, sums_site
from sums_tools import DAY

PATIENCE = 120_000
AHEAD = "{ const now = Date.now; Date.now = () => now() + 1000 * Number(localStorage.ahead ?? %f); }"
CONTRIBUTED = "() => document.getElementById('sums-words').textContent.includes('1 contribution has left')"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with sums_site(tmp_path_factory.mktemp("sums")) as running:
        yield running


def set_clock(page: Any, site: SumsSite) -> None:
    page.evaluate("(ahead) => { localStorage.ahead = ahead; }", site.ahead)


@pytest.mark.long
def test_the_page_contributes_once_a_window_and_the_server_learns(browser: Any, site: SumsSite) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.add_init_script(AHEAD % (site.ahead - DAY))
        page.goto(site.url)
        words = page.locator("#sums-words")
        page.wait_for_function("() => document.getElementById('sums-words').textContent.includes('a later day (UTC)')")
        assert "Nothing is contributed from here now" in words.inner_text()
        set_clock(page, site)
        page.reload()
        page.wait_for_selector("html[data-ready]")
        page.wait_for_function("() => document.getElementById('sums-words').textContent.includes('the other.')")
        shown = words.inner_text()
        assert shown.count("ONE PARTY RUNS BOTH AGGREGATORS") == 1
        assert page.locator("#words").inner_text().count("ONE PARTY RUNS BOTH AGGREGATORS") <= 1
        assert "of 0" not in page.locator("#privacy").inner_text()
        assert not page.locator("#meter").is_visible()  # a bar of nothing
        assert site.task.helper.removeprefix("http://") in shown
        assert "No contribution has left this device yet" in shown

        site.clock.now = site.task.begins(NUMBER) + 100.0  # the window before can be sent no more
        set_clock(page, site)
        page.locator("#articles > li button").first.click()
        page.wait_for_function("() => document.querySelectorAll('#read li').length === 1")  # the click is kept
        page.keyboard.press("Escape")
        site.end_window()
        site.clock.now = site.task.sent_until(NUMBER) - 1.0  # whatever the drawn time, it has come
        set_clock(page, site)
        page.wait_for_function(CONTRIBUTED)
        assert "1 of the articles you read is counted" in words.inner_text()
        assert "ε = 1 of 1 on the latest day" in words.inner_text()
        assert page.locator("#sent .head").first.inner_text().startswith("Part of a sum")
        assert site.learn() == 1

        page.locator("#sums-choice").click()  # stopping is remembered
        page.wait_for_function("() => document.getElementById('sums-words').textContent.includes('You stopped this')")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        page.wait_for_function("() => document.getElementById('sums-words').textContent.includes('You stopped this')")
        assert page.locator("#sums-choice").inner_text() == "Take part again"
        assert page.locator("#strip-spent").text_content() == "ε ∞"
        page.locator("#forget").click()  # that it was a trial is not forgotten
        page.locator("#forgetting button[value=yes]").click()
        page.wait_for_function("() => document.getElementById('sums-words').textContent.includes('was forgotten here')")
        assert "if the two were different parties: ε = 1" in words.inner_text()
        page.goto(f"{site.url}/notice")
        assert "ONE PARTY RUNS BOTH AGGREGATORS" in page.locator(".warning").inner_text()
        assert complaints == []
