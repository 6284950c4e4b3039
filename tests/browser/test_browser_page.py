"""The page in headless Chromium against the real server: what is read stays, what is shown as sent is what was sent."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chromium import LAUNCH
from page_visit import DESKTOP, Visit, expect
from served_world import small_world

from discreet.privacy.release import Release


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
        profile = str(tmp_path / "profile")
        context = playwright.chromium.launch_persistent_context(profile, **LAUNCH, viewport=DESKTOP)
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
