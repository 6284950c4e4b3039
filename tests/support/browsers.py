"""A page in Chromium or in Firefox, with the same few methods: before, goto, evaluate, wait_for, screenshot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from firefox import PATIENCE, firefox, until_true

BROWSERS = ("chromium", "firefox")


class ChromiumPage:
    """As `firefox.FirefoxPage`."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.errors: list[str] = []
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def before(self, script: str) -> None:
        self._page.add_init_script(f"({script})()")

    def goto(self, url: str) -> None:
        self._page.goto(url)

    def evaluate(self, function: str, *given: Any) -> Any:
        return self._page.evaluate(f"(given) => ({function})(...given)", list(given))

    def wait_for(self, function: str, *given: Any) -> Any:
        return until_true(lambda: self.evaluate(function, *given), function)

    def screenshot(self, path: Path) -> None:
        self._page.screenshot(path=path, full_page=True)


@contextmanager
def page_in(name: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page in the browser of this name; the test is skipped where that is missing."""
    if name == "firefox":
        with firefox() as page:
            yield page
        return
    context = request.getfixturevalue("browser").new_context()
    yield ChromiumPage(context.new_page())
    context.close()
