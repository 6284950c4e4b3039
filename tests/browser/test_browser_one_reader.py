"""One reader of one server: page, element and documented call share what is kept, and never show the open article."""

from __future__ import annotations

from typing import Any

import pytest
from changing_site import ELEMENT, SHOWN, changing_site
from chromium import ORIGIN
from page_visit import Visit

KEPT = """async (server) => {
  const { openDevice } = await import("/discreet.js");
  return (await openDevice({ url: server })).kept().read.map(({ id }) => id);
}"""
ELEMENT_KEEPS = """async (server) => {
  const element = document.createElement("discreet-front-page");
  if (server !== null) element.setAttribute("server", server);
  const ready = new Promise((resolve) => element.addEventListener("discreet-ready", resolve));
  document.body.append(element);
  await ready;
  return element.device.kept().read.map(({ id }) => id);
}"""
CANONICAL = "(href) => document.head.append(Object.assign(document.createElement('link'), { rel: 'canonical', href }))"
CLICKED = """async (name) => {
  const { openDevice } = await import("/discreet.js");
  await (await openDevice({ url: location.origin })).clicked(name);
}"""


def test_page_element_and_call_are_one_device(visit: Visit) -> None:
    [read] = visit.open().read("li", 1)
    page, host = visit.page, visit.url.removeprefix("http://")
    page.goto(f"{visit.url}/notice")
    for server in ("", "/", visit.url, f"{visit.url}/", f"HTTP://{host}/#x"):
        assert page.evaluate(KEPT, server) == [read], server
    for server in (None, f"{visit.url}/"):
        assert page.evaluate(ELEMENT_KEEPS, server) == [read], server
    other = page.evaluate("() => document.querySelector('discreet-front-page').device.here(1).articles[0].id")
    page.evaluate(CLICKED, other)
    page.wait_for_function("() => document.querySelector('discreet-front-page').device.kept().clicks === 2")
    visit.open()
    assert page.locator(f"#articles > [data-article={other}]").count() == 0


@pytest.mark.parametrize(
    ("page_is", "canonical", "current"),
    [
        ("/story/N3?from=mail#top", None, "/story/N3#end"),
        ("/story/N3?from=mail", None, "N3"),
        ("/story/N3#top", None, None),
        ("/story/N3?from=mail", "/story/N3", None),
    ],
)
def test_the_open_article_is_never_recommended(
    browser: Any, page_is: str, canonical: str | None, current: str | None
) -> None:
    with changing_site(browser) as (_, context):
        page = context.new_page()
        page.goto(f"{ORIGIN}{page_is}")
        if canonical:
            page.evaluate(CANONICAL, canonical)
        page.evaluate(ELEMENT, {"limit": "100", **({"current": current} if current else {})})
        shown = page.evaluate(SHOWN)
        assert len(shown) == 39
        assert "N3" not in shown
        call = """async (current) => {
          const { openDevice } = await import("/web/device/device.js");
          return (await openDevice({ current })).here(100).articles.map(({ id }) => id);
        }"""
        assert sorted(page.evaluate(call, current)) == sorted(shown)


def test_an_article_read_under_its_address_is_read(browser: Any) -> None:
    """By the call on the article's page; before it was listed, too."""
    with changing_site(browser) as (site, context):
        site.take_down("N7")
        page = context.new_page()
        page.goto(f"{ORIGIN}/story/N5")
        page.evaluate(ELEMENT, {"limit": "100"})
        keep = "(name) => document.querySelector('discreet-front-page').device.clicked(name)"
        for name in ("N4", "N6#comments", "N7#end"):
            page.evaluate(keep, f"{ORIGIN}/story/{name}" if name != "N4" else name)
        read = page.evaluate(
            "() => document.querySelector('discreet-front-page').device.kept().read.map(({ id }) => id)"
        )
        assert read == ["N4", "N6", f"{ORIGIN.replace('http:', 'https:')}/story/N7"]
        site.articles = type(site)().articles
        page.goto(f"{ORIGIN}/story/N5")
        page.evaluate(ELEMENT, {"limit": "100"})
        assert {"N4", "N5", "N6", "N7"}.isdisjoint(page.evaluate(SHOWN))
