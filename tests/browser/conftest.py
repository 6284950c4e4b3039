"""One Chromium, and one served page, for all tests of this folder; each test has a context of its own.

This folder is a package, so that the browser ends with it: as long as Playwright runs, no other test of the process
could start an event loop.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from chromium import LAUNCH
from page_visit import DAY, DESKTOP, Visit
from served_world import serving, small_service
from tools import require

from discreet.serving.database_tables import open_engine
from discreet.serving.server_store import ServerStore


@pytest.fixture(scope="package")
def playwright() -> Iterator[Any]:
    require(LAUNCH["executable_path"], "there is no Chromium here; install one or set DISCREET_CHROMIUM to its path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as run:
        yield run


@pytest.fixture(scope="package")
def browser(playwright: Any) -> Iterator[Any]:
    chromium = playwright.chromium.launch(**LAUNCH)
    yield chromium
    chromium.close()


@pytest.fixture(scope="package")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The small world, served with epochs of a day, the first of which began an hour ago."""
    folder = tmp_path_factory.mktemp("served")
    start = time.strftime("%Y-%m-%dT%H:%M:00+00:00", time.gmtime(time.time() - 3600))
    store = ServerStore(open_engine(folder / "serving.sqlite"))
    store.setting("schedule", json.dumps({"start": start, "length_seconds": DAY}))
    store.close()
    with serving(small_service(folder, ranking="shortlist")) as address:
        yield address


@pytest.fixture
def visit(browser: Any, url: str) -> Iterator[Visit]:
    """A new reader's visit; at its end nothing may have been asked of others, and nothing complained of."""
    context = browser.new_context(viewport=DESKTOP)
    visit = Visit(context, url)
    yield visit
    context.close()
    assert [request.url for request in visit.requests if not request.url.startswith(f"{url}/")] == []
    assert visit.complaints == []
