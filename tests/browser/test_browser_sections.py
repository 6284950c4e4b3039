"""Sections and articles as the page names them: whatever a feed calls them, and however many there are."""

from __future__ import annotations

from typing import Any

from changing_site import changing_site
from chromium import ORIGIN
from small_site import articles_of

NAMES = {
    "FOOTBALL_PRO": "Football pro",
    "football_nfl": "Football nfl",
    "TV": "TV",
    "foodanddrink": "Food & drink",
    "POLITIK ÖSTERREICH": "Politik österreich",
    "_": "Other",
    "": "Other",
    "constructor": "Constructor",
    "iPhone": "IPhone",
}
UNSEEN = """(all) => all.filter((one) => {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  return !one.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
}).length"""
"""How many of some buttons a mouse cannot click."""


def test_sections_have_names_that_people_write(browser: Any) -> None:
    with changing_site(browser) as (_, context):
        page = context.new_page()
        page.goto(f"{ORIGIN}/story/open")
        script = """async (names) => {
          const { sectionName } = await import("/web/page/words.js");
          return names.map(sectionName);
        }"""
        assert page.evaluate(script, list(NAMES)) == list(NAMES.values())


def test_all_sections_can_be_reached(browser: Any) -> None:
    """By a mouse without a sideways wheel, at a click that moves the rest; by a finger on a phone."""
    with changing_site(browser) as (site, context):
        site.articles = articles_of(90, categories=45)
        page = context.new_page()
        page.goto(ORIGIN)
        page.wait_for_selector("html[data-ready]")
        buttons = page.locator("#sections button")
        more = page.get_by_role("button", name="All sections")
        for width in (1366, 820):
            page.set_viewport_size({"width": width, "height": 768})
            top = page.locator("#news").bounding_box()["y"]
            more.click()
            assert page.locator("#news").bounding_box()["y"] > top
            assert buttons.count() == 45 + 1
            assert buttons.evaluate_all(UNSEEN) == 0
            page.get_by_role("button", name="Fewer").click()
            assert page.locator("#news").bounding_box()["y"] == top
            assert buttons.evaluate_all(UNSEEN) > 0
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        site.articles = articles_of(90, categories=3)
        page.locator("#again").click()
        more.wait_for(state="hidden")
        assert buttons.evaluate_all(UNSEEN) == 0
        site.articles = articles_of(90, categories=45)
        page.locator("#again").click()
        more.wait_for()
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        last = buttons.last
        last.scroll_into_view_if_needed()
        assert last.bounding_box()["x"] < 390


def test_an_article_has_a_text_or_none(browser: Any) -> None:
    with changing_site(browser) as (site, context):
        site.articles[0]["abstract"] = ""
        page = context.new_page()
        page.goto(ORIGIN)
        page.wait_for_selector("html[data-ready]")
        for name, has_text in (("N0", False), ("N1", True)):
            page.locator(f"#articles > [data-article={name}] button").click()
            page.locator("#reader").wait_for()
            assert ("no text" in page.locator("#reader-text").inner_text()) is not has_text
            assert ("text" in page.locator("#reader-note").inner_text()) is has_text
            page.keyboard.press("Escape")
            page.locator("#reader").wait_for(state="hidden")
