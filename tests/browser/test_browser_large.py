"""A catalogue of 50,000 articles: headlines at once, the rest behind them, and the page stays usable meanwhile."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import ORIGIN
from small_site import answers_of, articles_of, fulfil

ARTICLES = 50_000
WATCH = """window.longest = 0; new PerformanceObserver((list) => { for (const { duration } of list.getEntries())
    window.longest = Math.max(window.longest, duration); }).observe({ type: "longtask" });"""


@pytest.mark.long
def test_headlines_come_first_and_the_page_stays_usable(browser: Any) -> None:
    answers = answers_of(articles_of(ARTICLES))
    asked: list[str] = []
    waiting: list[Any] = []
    seen = False

    def answer(route: Any) -> None:
        path = urlsplit(route.request.url).path
        asked.append(path)
        if path.startswith("/v1/catalogue/") and not seen:
            waiting.append(route)  # no page of the catalogue comes before the headlines were seen
        else:
            fulfil(route, answers)

    context = browser.new_context()
    context.route("**/*", answer)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(WATCH)
    page.goto(ORIGIN)
    page.locator("#articles > li").first.wait_for()
    print(f"\nfirst headline after {page.evaluate('performance.now() / 1000'):.2f} s")
    page.evaluate("() => { window.longest = 0; }")
    seen = True
    for route in waiting:
        fulfil(route, answers)
    page.locator("#articles > li button").first.click()
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.getElementById('strip-kept').textContent === '1'")
    page.wait_for_selector("html[data-ready]")
    print(f"all {ARTICLES:,} articles after {page.evaluate('performance.now() / 1000'):.1f} s")
    print(f"the page never stood still for longer than {page.evaluate('window.longest'):.0f} ms")
    assert len([path for path in asked if path.startswith("/v1/catalogue/")]) == len(answers) - 2
    page.locator("#sections button").nth(1).click()
    page.locator("#articles > li").first.wait_for()
    script = 'async () => (await (await import("/web/device/device.js")).openDevice()).status().articles'
    assert page.evaluate(script) == ARTICLES, "it is kept for the next visit"
    context.close()
