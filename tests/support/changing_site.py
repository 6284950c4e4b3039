"""A publisher whose articles change while its pages are open: what it was asked, and how often it had no news."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from chromium import BLANK, ORIGIN
from small_site import answers_of, articles_of, fulfil

ELEMENT = """async (attributes) => {
  await import("/web/element/main.js");
  const element = document.createElement("discreet-front-page");
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  const ready = new Promise((resolve) => element.addEventListener("discreet-ready", resolve));
  document.body.append(element);
  await ready;
}"""
"""Puts the element into a page, and waits until its list is there."""
SHOWN = """() => [...document.querySelector("discreet-front-page").shadowRoot.querySelectorAll("li[part='article']")]
  .map((item) => item.dataset.article)"""


class ChangingSite:
    """Articles to change, and `asked`: the path of each request with the status of its answer."""

    def __init__(self, count: int = 40) -> None:
        self.articles = articles_of(count)
        for article in self.articles:
            article["url"] = f"{ORIGIN}/story/{article['id']}"
        self.asked: list[tuple[str, int]] = []

    def lists(self) -> list[int]:
        """The status of each answer about the list."""
        return [status for path, status in self.asked if path == "/v1/catalogue"]

    def take_down(self, article: str) -> None:
        """One article is gone."""
        self.articles = [one for one in self.articles if one["id"] != article]

    def answer(self, route: Any) -> None:
        """Without a body, if the device names what it would get."""
        parts, answers = urlsplit(route.request.url), answers_of(self.articles)
        if parts.path.startswith("/story/"):
            return route.fulfill(body=BLANK, content_type="text/html")
        digest = hashlib.sha256(answers.get(parts.path, b"")).hexdigest()
        same = parse_qs(parts.query).get("holds") == [digest]
        self.asked.append((parts.path, 204 if same else 200))
        return route.fulfill(status=204) if same else fulfil(route, answers)


@contextmanager
def changing_site(browser: Any) -> Iterator[tuple[ChangingSite, Any]]:
    """A site, and a new reader's context."""
    site, context = ChangingSite(), browser.new_context(viewport={"width": 1000, "height": 700})
    context.set_default_timeout(60_000)
    context.route("**/*", site.answer)
    yield site, context
    context.close()
