"""The page in headless Chromium for every reader: keyboard, structure, contrast, small screens, the way back.

`DISCREET_SCREENSHOTS=docs/images pytest tests/browser/test_browser_page_access.py` renews the pictures of the
documentation.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from chromium import WEB
from page_visit import DESKTOP, PHONE, Visit, expect


def test_everything_works_by_keyboard(visit: Visit) -> None:
    page = visit.open().page
    press = page.keyboard.press
    press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    press("Enter")
    press("Tab")
    expect(page.locator("#again")).to_be_focused()
    press("Tab")
    second = page.locator("#articles > li:nth-child(2)")
    press("Tab")
    title = second.locator("button")
    expect(title).to_be_focused()
    opened = second.get_attribute("data-article")
    press("Enter")
    expect(page.locator("#reader-title")).to_be_focused()
    press("Tab")
    expect(page.get_by_role("button", name="Back to the news")).to_be_focused()
    press("Enter")
    expect(page.locator("#reader")).to_be_hidden()
    expect(title).to_be_focused()
    expect(second).not_to_have_attribute("data-article", str(opened))
    page.locator("#epsilon").focus()
    press("ArrowLeft")
    expect(page.locator("#epsilon-value")).to_have_text("ε = 0.95")
    expect(page.locator("#epsilon-words")).to_contain_text("Sketches only")


def test_back_closes_the_article_and_does_not_leave(visit: Visit) -> None:
    page = visit.open().page
    for _ in range(2):
        page.locator("#articles > li button").first.click()
        expect(page.locator("#reader")).to_be_visible()
        page.wait_for_function("() => history.state?.reader")
        page.go_back()
        expect(page.locator("#reader")).to_be_hidden()
    steps = page.evaluate("history.length")
    for _ in range(3):
        page.locator("#articles > li button").first.click()
        page.keyboard.press("Escape")
        expect(page.locator("#reader")).to_be_hidden()
    page.wait_for_function("() => !history.state?.reader")
    assert page.evaluate("history.length") == steps, "closing leaves no steps behind"
    assert page.url == f"{visit.url}/"


def test_structure_names_and_contrast(visit: Visit) -> None:
    page = visit.open().page
    visit.read("[data-category=sports]", 1)
    for role in ("banner", "main", "complementary", "contentinfo", "navigation"):
        expect(page.get_by_role(role)).to_have_count(1)
    script = "items => items.filter(item => item.checkVisibility()).map(item => Number(item.tagName[1]))"
    levels = page.locator("h1, h2, h3, h4").evaluate_all(script)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper <= level + 1 for level, deeper in pairwise(levels))
    ids = page.locator("[id]").evaluate_all("items => items.map(item => item.id)")
    assert len(ids) == len(set(ids))
    named = """items => items.filter(item => !(item.textContent.trim() || item.getAttribute("aria-label")
        || item.labels?.length || document.getElementById(item.getAttribute("aria-labelledby")))).length"""
    assert page.locator("button, a[href], input, meter, progress, dialog, pre[tabindex]").evaluate_all(named) == 0
    assert page.locator("img, iframe, link[href^=http], script:not([src])").count() == 0
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        token = "name => getComputedStyle(document.documentElement).getPropertyValue(name)"
        colours = {name: page.evaluate(token, f"--{name}") for name in ("ink", "faded", "accent", "danger")}
        for ground in ("paper", "card", "wash"):
            behind = page.evaluate(token, f"--{ground}")
            assert {name: contrast(colour, behind) >= 4.5 for name, colour in colours.items()} == dict.fromkeys(
                colours, True
            )
        assert contrast(page.evaluate(token, "--on-accent"), colours["accent"]) >= 4.5


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours as #rrggbb (WCAG 2)."""

    def luminance(colour: str) -> float:
        parts = [int(colour.strip()[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("size", "picture"), [(DESKTOP, "page.png"), (PHONE, "page-phone.png")])
def test_it_fits_and_stays_in_place(visit: Visit, size: dict[str, int], picture: str) -> None:
    page = visit.page
    page.set_viewport_size(size)
    page.emulate_media(reduced_motion="reduce")
    visit.open()
    shifts = """() => new Promise(resolve => new PerformanceObserver(list => resolve(
        list.getEntries().filter(e => !e.hadRecentInput).reduce((sum, entry) => sum + entry.value, 0)
        )).observe({type: "layout-shift", buffered: true}) || setTimeout(() => resolve(0), 500))"""
    assert page.evaluate(shifts) < 0.1
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    small = (
        """items => items.filter(item => item.checkVisibility() && item.getBoundingClientRect().height < 24).length"""
    )
    assert page.locator("aside button, nav button, main > button, #again, label:has(input)").evaluate_all(small) == 0
    visit.read("[data-category=weather]", 3)
    page.click("#again")
    visit.end_epoch()
    visit.wait_for("Sketch")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    if folder := os.environ.get("DISCREET_SCREENSHOTS"):
        page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        page.mouse.move(0, 0)
        page.screenshot(path=Path(folder) / picture)


def test_no_name_is_looked_up_when_an_article_is_opened() -> None:
    """A browser may resolve the host of a link that it shows, and each article could have a host of its own."""
    page = (WEB / "index.html").read_text(encoding="utf-8")
    assert '<meta http-equiv="x-dns-prefetch-control" content="off">' in page
