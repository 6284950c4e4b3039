"""The page in headless Chromium where something is missing: the network, the server, or a database."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from page_visit import Visit, expect


def test_offline_is_said_kindly_and_reading_goes_on(visit: Visit) -> None:
    page = visit.open().page
    page.context.set_offline(True)
    page.click("#again")
    expect(page.locator("#notice")).to_contain_text("cannot be reached just now")
    expect(page.locator("#ranking")).to_contain_text("Ranked on this device alone")
    visit.read("[data-category=sports]", 1)
    expect(page.locator("#strip-kept")).to_have_text("1")
    page.context.set_offline(False)
    expect(page.locator("#notice")).to_be_hidden()
    expected = [text for text in visit.complaints if "ERR_INTERNET_DISCONNECTED" in text]
    assert visit.complaints == expected
    visit.complaints.clear()


def test_a_first_visit_without_a_server_waits_for_it(visit: Visit) -> None:
    visit.page.route("**/v1/*", lambda route: route.abort())
    visit.open()
    expect(visit.page.locator("#empty")).to_contain_text("The newsroom cannot be reached")
    expect(visit.page.locator("#forget")).to_be_disabled()
    visit.page.unroute("**/v1/*")
    visit.page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(visit.page.locator("#articles > li").first).to_be_visible()
    assert all("ERR_FAILED" in text for text in visit.complaints)
    visit.complaints.clear()


def test_an_offline_reload_shows_the_page_and_its_news(visit: Visit) -> None:
    page = visit.open().page
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.wait_for_function("async () => (await (await caches.open('discreet shell')).keys()).length > 30")
    page.context.set_offline(True)
    page.reload()
    expect(page.locator("#articles > li").first).to_be_visible()
    expect(page.locator("#notice")).to_contain_text("cannot be reached just now")
    page.context.set_offline(False)
    visit.complaints.clear()


def test_the_worker_keeps_every_file_of_the_page(visit: Visit) -> None:
    asked = visit.open().page.evaluate("() => performance.getEntriesByType('resource').map(({ name }) => name)")
    loaded = {urlsplit(name).path for name in asked if "/web/" in name}
    text = visit.page.evaluate("async () => (await fetch('/worker.js')).text()")
    kept = set(json.loads(text[text.index("[", text.index("const FILES")) : text.index("];") + 1]))
    assert len(loaded) > 20
    assert kept >= {"/", "/web/device/sums/contributor.js", "/web/device/prio3/worker.js", *loaded}
    assert "/web/index.html" not in kept


def test_without_a_database_the_page_works_and_says_so(visit: Visit) -> None:
    visit.page.add_init_script("Object.defineProperty(window, 'indexedDB', { value: undefined })")
    page = visit.open().page
    expect(page.locator("#notice")).to_contain_text("does not let the page keep anything")
    visit.read("li", 1)
    expect(page.locator("#strip-kept")).to_have_text("1")
