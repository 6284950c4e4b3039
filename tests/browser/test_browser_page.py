"""The page in headless Chromium against the real server: what is read stays, what is shown as sent is what was sent.

`DISCREET_SCREENSHOTS=docs/images pytest tests/browser/test_browser_page.py` renews the pictures of the documentation.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import CHROMIUM, WEB
from served_world import serving, small_service, small_world

from discreet.privacy.release import Release
from discreet.serving.database_tables import open_engine
from discreet.serving.server_store import ServerStore

sync_api = pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
expect = sync_api.expect
expect.set_options(timeout=60_000)

DAY = 86_400
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PATIENCE = 60_000  # milliseconds that a busy machine may need; conditions are waited for, and not times
AHEAD = "{ const now = Date.now; Date.now = () => now() + 1000 * (localStorage.ahead ?? 0); }"
"""The page's clock, which a test can put ahead: no epoch is shorter than a day."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; install one or set DISCREET_CHROMIUM")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The small world, served with epochs of a day, the first of which began an hour ago."""
    folder = tmp_path_factory.mktemp("served")
    start = time.strftime("%Y-%m-%dT%H:%M:00+00:00", time.gmtime(time.time() - 3600))
    store = ServerStore(open_engine(folder / "serving.sqlite"))
    store.setting("schedule", json.dumps({"start": start, "length_seconds": DAY}))
    store.close()
    with serving(small_service(folder, ranking="shortlist")) as address:
        yield address


@pytest.fixture(scope="module")
def playwright() -> Iterator[Any]:
    with sync_api.sync_playwright() as run:
        yield run


@pytest.fixture(scope="module")
def browser(playwright: Any) -> Iterator[Any]:
    chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    yield chromium
    chromium.close()


class Visit:
    """A page, and everything that it asked for and complained of."""

    def __init__(self, context: Any, url: str) -> None:
        self.url = url
        self.requests: list[Any] = []
        self.answers: list[Any] = []
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.add_init_script(AHEAD)
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.on("response", lambda answer: self.answers.append(answer))
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self) -> Visit:
        self.page.goto(self.url)
        self.page.wait_for_selector("html[data-ready]")
        return self

    def end_epoch(self) -> None:
        """A day passes; the page sees it at its next second."""
        self.page.evaluate(f"localStorage.ahead = Number(localStorage.ahead ?? 0) + {DAY}")

    def posts(self) -> list[str]:
        return [request.post_data for request in self.requests if request.method == "POST"]

    def read(self, which: str, times: int) -> list[str]:
        """Open that many articles of the front page, the highest of a kind (a CSS selector) each time; their ids."""
        read = []
        for _ in range(times):
            article = self.page.locator(f"#articles > {which}").first
            read.append(str(article.get_attribute("data-article")))
            article.locator("button").click()
            expect(self.page.locator(f"#articles > [data-article={read[-1]}]")).to_have_count(0)
            self.page.keyboard.press("Escape")
            self.page.wait_for_function("() => !history.state?.reader && !document.getElementById('reader').open")
        return read

    def order(self) -> list[tuple[str, str]]:
        """Id and topic of every ranked article, best first."""
        self.page.evaluate("() => { const more = document.getElementById('more'); while (!more.hidden) more.click(); }")
        script = "items => items.map(item => [item.dataset.article, item.dataset.topic])"
        return [(article, topic) for article, topic in self.page.locator("#articles > li").evaluate_all(script)]

    def sent(self) -> list[tuple[str, str, str, str]]:
        """Title, time with size, numbers and exact text of what the panel shows as sent, oldest first."""
        script = """items => items.map(item => [item.querySelector(".head").firstChild.data,
            item.querySelector(".head span").textContent,
            [...item.querySelectorAll(".numbers")].map(line => line.textContent).join(";"),
            item.querySelector("pre").textContent])"""
        return [tuple(row) for row in reversed(self.page.locator("#sent > li").evaluate_all(script))]

    def wait_for(self, title: str) -> None:
        expect(self.page.locator("#sent .head", has_text=title).first).to_be_visible()


@pytest.fixture
def visit(browser: Any, url: str) -> Iterator[Visit]:
    """A new reader's visit; at its end nothing may have been asked of others, and nothing complained of."""
    context = browser.new_context(viewport=DESKTOP)
    visit = Visit(context, url)
    yield visit
    context.close()
    assert [request.url for request in visit.requests if not request.url.startswith(f"{url}/")] == []
    assert visit.complaints == []


def mean_place(order: list[tuple[str, str]], topic: str, without: list[str]) -> float:
    """The mean place of a topic's articles among those that were not read, from 0 (best) to 1."""
    unread = [found for article, found in order if article not in without]
    places = [place for place, found in enumerate(unread) if found == topic]
    return sum(places) / len(places) / len(unread)


def test_reading_lifts_a_topic_at_once_and_asks_nothing(visit: Visit) -> None:
    """Topics, because the small world's vectors are hashed titles: these tell topics apart, but sections hardly."""
    visit.open()
    before = visit.order()
    topic = before[0][1]
    asked = len(visit.requests)
    read = visit.read(f"[data-topic='{topic}']", 4)
    after = visit.order()
    assert {article for article, _ in before} - {article for article, _ in after} == set(read)
    assert mean_place(after, topic, read) < mean_place(before, topic, read)
    assert [request.url for request in visit.requests[asked:] if not request.url.endswith("/v1/reports")] == []
    visit.page.click("#again")
    expect(visit.page.locator("#announce")).to_have_text("The news was fetched.")
    assert mean_place(visit.order(), topic, read) < mean_place(before, topic, read)
    expect(visit.page.locator("#strip-kept")).to_have_text("4")


def test_the_panel_shows_exactly_what_left_and_no_article_that_was_read(visit: Visit) -> None:
    visit.open()
    read = visit.read("[data-category=sports]", 2) + visit.read("[data-category=news]", 1)
    visit.page.click("#again")
    visit.end_epoch()
    visit.wait_for("Sketch")
    visit.wait_for("Label")
    visit.page.click("#again")
    expect(visit.page.locator("#sent .numbers", has_text="epoch").first).to_be_visible()
    while len(shown := visit.sent()) < len(visit.posts()):  # the panel follows what was sent
        visit.page.wait_for_timeout(50)
    assert visit.posts() == [text for *_, text in shown]
    for _, head, numbers, text in shown:
        assert f"{len(text.encode()):,} bytes" in head
        body = json.loads(text)
        releases = [body["release"]] if "release" in body else [sketch["release"] for sketch in body["sketches"]]
        for release in releases:
            integers = Release.from_bytes(base64.b64decode(release)).payload.integers.tolist()
            if body.get("kind") == "label":
                integers = [place + 1 for place in integers]
            assert " ".join(map(str, integers)) in numbers
    slates = [answer.json() for answer in visit.answers if answer.url.endswith("/v1/recommend")]
    as_sent = {slate["slate"]: [article["id"] for article in slate["articles"]] for slate in slates}
    bodies = [json.loads(text) for *_, text in shown]
    labels = [body for body in bodies if body.get("kind") == "label"]
    assert labels
    for label in labels:
        slate = label.pop("slate")
        assert slate["articles"] == as_sent[slate["id"]]
    everything = " ".join([*(json.dumps(body) for body in bodies), *(request.url for request in visit.requests)])
    for article in set(read) | set(small_world().articles.ids):
        assert not re.search(rf"\b{article}\b", everything)


@pytest.mark.long
def test_the_ledger_outlives_the_browser_and_forgetting(playwright: Any, url: str, tmp_path: Path) -> None:
    @contextmanager
    def browsing() -> Iterator[Visit]:
        options = {"executable_path": CHROMIUM, "args": ["--no-sandbox"], "viewport": DESKTOP}
        context = playwright.chromium.launch_persistent_context(str(tmp_path / "profile"), **options)
        yield Visit(context, url).open()
        context.close()

    with browsing() as first:
        first.read("[data-category=sports]", 2)
        first.end_epoch()
        first.wait_for("Sketch")
        spent, words = first.page.inner_text("#spent"), first.page.inner_text("#budget-words")
        assert spent in ("ε = 0.7", "ε = 1")
    with browsing() as second:
        page = second.page
        expect(page.locator("#strip-kept")).to_have_text("2")
        second.wait_for("Sketch")
        spent = page.inner_text("#spent")
        assert float(spent.removeprefix("ε = ")) >= 0.7
        assert int(page.inner_text("#budget-words").split()[0]) >= int(words.split()[0])
        page.click("#forget")
        page.get_by_role("button", name="Keep it").click()
        expect(page.locator("#strip-kept")).to_have_text("2")
        page.click("#forget")
        page.locator("#forgetting").get_by_role("button", name="Forget everything").click()
        expect(page.locator("#kept-empty")).to_be_visible()
        expect(page.locator("#read > li")).to_have_count(0)
        expect(page.locator("#sent .head", has_text="Sketch")).to_have_count(0)
        expect(page.locator("#spent")).to_have_text(spent)
    with browsing() as third:
        expect(third.page.locator("#kept-empty")).to_be_visible()
        expect(third.page.locator("#spent")).to_have_text(spent)
        assert all(json.loads(text)["sketches"] == [] for *_, text in third.sent())


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


def test_a_smaller_epsilon_and_open_sections_do_what_they_say(visit: Visit) -> None:
    page = visit.open().page
    page.get_by_role("checkbox", name="Sports").uncheck()
    expect(page.locator("#sensitive li", has_text="Sports").locator(".opened")).to_contain_text("in clear")
    visit.read("[data-category=sports]", 2)
    expect(page.locator("#kept-open")).to_have_text("2 of these clicks are counted in clear, as you chose.")
    page.click("#again")
    expect(page.locator("#sent .numbers", has_text="counted in clear")).to_be_visible()
    asked = [json.loads(request.post_data) for request in visit.requests if request.url.endswith("/v1/recommend")]
    assert [sum(body.get("open", [])) for body in asked] == [0, 2]
    page.locator("#epsilon").fill("0")
    expect(page.locator("#ranking")).to_contain_text("Ranked on this device alone")
    told, spent = len(visit.posts()), page.inner_text("#spent")
    visit.read("[data-category=news]", 1)
    visit.end_epoch()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert len(visit.posts()) == told
    expect(page.locator("#epsilon-value")).to_have_text("ε = 0")
    expect(page.get_by_role("checkbox", name="Sports")).not_to_be_checked()
    expect(page.locator("#spent")).to_have_text(spent)


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


def test_without_a_database_the_page_works_and_says_so(visit: Visit) -> None:
    visit.page.add_init_script("Object.defineProperty(window, 'indexedDB', { value: undefined })")
    page = visit.open().page
    expect(page.locator("#notice")).to_contain_text("does not let the page keep anything")
    visit.read("li", 1)
    expect(page.locator("#strip-kept")).to_have_text("1")


def test_two_windows_are_one_reader(visit: Visit) -> None:
    visit.open()
    other = Visit(visit.page.context, visit.url).open()
    read = other.read("li", 2)
    expect(visit.page.locator("#strip-kept")).to_have_text("2")
    expect(visit.page.locator(f"#articles > [data-article={read[0]}]")).to_have_count(0)
    expect(visit.page.locator("#read > li")).to_have_count(2)
    other.page.click("#forget")
    other.page.locator("#forgetting").get_by_role("button", name="Forget everything").click()
    expect(visit.page.locator("#read > li")).to_have_count(0)
    expect(visit.page.locator("#strip-kept")).to_have_text("0")
    expect(visit.page.locator(f"#articles > [data-article={read[0]}]")).to_have_count(1)
    assert other.complaints == []


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
