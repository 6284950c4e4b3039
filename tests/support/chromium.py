"""Chromium with pages that come from files alone: no server, and an origin without https, as on a local network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "discreet" / "serving" / "web"
TESTS = ROOT / "tests"
FOLDERS = {"web": WEB, "support": TESTS / "support", "vectors": TESTS / "edge", "protocol": TESTS / "protocol"}
CHROMIUM = os.environ.get("DISCREET_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
LAUNCH: dict[str, Any] = {"executable_path": CHROMIUM, "args": ["--no-sandbox"]}
ORIGIN = "http://discreet.test"
BLANK = "<!doctype html><title>device</title><link rel=icon href=data:,>"  # no request of the browser's own
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json"}

Changes = Mapping[str, Sequence[tuple[str, str]]]


def _text(path: str) -> str:
    """What the repository has at the path of an address."""
    folder, _, name = path.removeprefix("/").partition("/")
    return (FOLDERS[folder] / name).read_text(encoding="utf-8")


@contextmanager
def files_only(browser: Any, changes: Changes | None = None) -> Iterator[Any]:
    """A context whose pages are the repository's files.

    `changes` maps a file's path to texts in it and what stands in their place.
    """
    changes = changes or {}
    for path, texts in changes.items():
        served = _text(path)
        for old, _ in texts:
            assert old in served, f"{path} has no {old!r}: the change is out of date"

    def answer(route: Any) -> None:
        path = urlsplit(route.request.url).path
        name = path.removeprefix("/").partition("/")[2]
        if not name:
            route.fulfill(body=BLANK, content_type="text/html")
            return
        text = _text(path)
        for old, new in changes.get(path, ()):
            text = text.replace(old, new)
        route.fulfill(body=text, content_type=TYPES[Path(name).suffix])

    context = browser.new_context()
    context.route("**/*", answer)
    yield context
    context.close()


def blank_page(context: Any) -> Any:
    """A new page of the context, with what it complained of."""
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(f"{ORIGIN}/")
    return page


OPEN = 'async (options) => { const { open } = await import("/support/mock_publisher.mjs"); await open(options); }'


def open_device(page: Any, **options: Any) -> None:
    """A device with a publisher, both in the page, as `window.device` and `window.publisher`."""
    page.evaluate(OPEN, options)


def fresh_device(page: Any, name: object, **options: Any) -> None:
    """Another device with another publisher in the same page: much cheaper than another page."""
    page.evaluate("() => { delete window.publisher; delete window.now; }")
    open_device(page, database=str(name), **options)
