"""An open page follows the publisher: what is taken down leaves, what is corrected changes, and nothing else moves.

Times are those of the browser's own clock, which the tests put forward.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from changing_site import ELEMENT, SHOWN, ChangingSite, changing_site
from chromium import ORIGIN

TITLES = """() => [...document.querySelector("discreet-front-page").shadowRoot.querySelectorAll("li[part='article'] a")]
  .map((link) => link.textContent)"""
IDS = "(items) => items.map(({ dataset }) => dataset.article)"
WITHOUT = "(name) => ![...document.querySelectorAll('#articles > li')].some(({ dataset }) => dataset.article === name)"
TOPS = """() => [...document.querySelector("discreet-front-page").shadowRoot.querySelectorAll("li[part='article']")]
  .map((item) => [item.dataset.article, Math.round(item.getBoundingClientRect().top)])"""
DELAYS = """window.delays = []; const begin = window.setTimeout;
  window.setTimeout = (work, delay, ...rest) => {
    if (delay > 20_000) delays.push(delay);
    return begin(work, delay, ...rest);
  };"""
CLICK_FIVE = """async () => {
  const { device } = document.querySelector("discreet-front-page");
  for (const { id } of device.here(5).articles) await device.clicked(id);
}"""
SENT = "document.querySelector('discreet-front-page').device.sent()"
FORGET = """async () => {
  const { device } = document.querySelector("discreet-front-page");
  await device.forget();
  await device.refresh();
}"""
LONGEST = 100_000
"""Milliseconds: with the seconds that a server needs, a takedown shows within two minutes."""


@pytest.fixture
def opened(browser: Any) -> Iterator[tuple[ChangingSite, Any]]:
    """A page with the element, whose clock is set by hand."""
    with changing_site(browser) as (site, context):
        page = context.new_page()
        page.clock.install()
        page.add_init_script(DELAYS)
        page.goto(f"{ORIGIN}/story/open")
        page.evaluate(ELEMENT, {"limit": "12"})
        yield site, page


def forward(page: Any) -> None:
    """Until the page has looked again, and waits for the next time."""
    before = len(page.evaluate("delays"))
    page.clock.fast_forward(LONGEST)
    page.wait_for_function("(count) => delays.length > count", arg=before)


def test_a_takedown_and_a_correction_reach_an_open_page(opened: tuple[ChangingSite, Any]) -> None:
    site, page = opened
    before = page.evaluate(SHOWN)
    gone, corrected = before[2], next(one for one in site.articles if one["id"] == before[4])
    corrected["title"] = "The corrected title"
    site.take_down(gone)
    forward(page)
    after = page.evaluate(SHOWN)
    assert after[:11] == [name for name in before if name != gone]
    assert len(after) == 12
    assert page.evaluate(TITLES)[3] == "The corrected title"


def test_what_is_held_is_named_and_costs_no_body(opened: tuple[ChangingSite, Any]) -> None:
    site, page = opened
    first = len(site.asked)
    for _ in range(3):
        forward(page)
    assert site.asked[first:] == [("/v1/model", 204), ("/v1/catalogue", 204)] * 3
    log = page.evaluate(f"() => {SENT}")
    assert [entry["times"] for entry in log if entry["status"] == 204] == [3, 3]
    page.evaluate(FORGET)
    assert site.asked[-2:] == [("/v1/model", 200), ("/v1/catalogue", 200)], "what was forgotten is not held"


@pytest.mark.parametrize("event", ["visibilitychange", "pageshow"])
def test_a_page_that_is_shown_again_looks_at_once(opened: tuple[ChangingSite, Any], event: str) -> None:
    site, page = opened
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 2)  # no drawn time comes
    gone = page.evaluate(SHOWN)[0]
    site.take_down(gone)
    where = "document" if event == "visibilitychange" else "window"
    page.evaluate(f"() => {where}.dispatchEvent(new Event('{event}'))")
    page.wait_for_function(f"(name) => !({SHOWN})().includes(name)", arg=gone)


def test_new_articles_wait_until_the_reader_asks(opened: tuple[ChangingSite, Any]) -> None:
    site, page = opened
    before = page.evaluate(TOPS)
    site.articles.insert(0, {**site.articles[0], "id": "new", "title": "News", "url": f"{ORIGIN}/story/new"})
    forward(page)
    button = page.get_by_role("button", name="Show what is new")
    button.wait_for()
    assert page.evaluate(TOPS) == before
    button.click()
    assert "new" in page.evaluate(SHOWN)
    assert button.is_hidden()


def test_clicks_neither_ask_nor_move_the_times(browser: Any) -> None:
    """The times are drawn, and below the two minutes in which a takedown has to show."""
    with changing_site(browser) as (site, context):
        page = context.new_page()
        page.clock.install()
        page.add_init_script(DELAYS)
        page.goto(f"{ORIGIN}/story/open")
        page.evaluate(ELEMENT, {"limit": "12"})
        for cycle in range(1, 5):
            asked = len(site.asked)
            page.evaluate(CLICK_FIVE)
            assert len(site.asked) == asked
            assert len(page.evaluate("delays")) == cycle
            forward(page)
            assert len(site.asked) == asked + 2
        delays = page.evaluate("delays")
        assert all(30_000 <= delay <= LONGEST for delay in delays)
        assert len(set(delays)) > 1


def test_the_page_follows_too(browser: Any) -> None:
    with changing_site(browser) as (site, context):
        page = context.new_page()
        page.clock.install()
        page.add_init_script(DELAYS)
        page.goto(f"{ORIGIN}/")
        page.wait_for_selector("html[data-ready]")
        opened = page.locator("#articles > li").nth(1)
        name = opened.get_attribute("data-article")
        opened.locator("button").click()
        page.locator("#reader").wait_for()
        page.wait_for_function(WITHOUT, arg=name)
        before = page.locator("#articles > li").evaluate_all(IDS)
        site.take_down(before[2])
        site.take_down(str(name))
        forward(page)
        page.wait_for_function(WITHOUT, arg=before[2])
        page.locator("#reader").wait_for(state="hidden")
        after = page.locator("#articles > li").evaluate_all(IDS)
        assert after[:24] == [other for other in before if other != before[2]]
