"""The page of a server that has a feed and no run: it ranks at ε = 0, and asks for nothing but what is public."""

import pytest
from feed_server import discreet_serve
from feed_site import rss
from page_visit import PATIENCE, expect

TITLES = ["Harbour opens a new pier", "Striker scores in the derby", "Choir sings Bach", "Council debates the harbour"]


@pytest.mark.long
def test_the_page_of_a_feed_ranks_by_itself_and_sends_nothing(browser, tmp_path):
    (tmp_path / "feed.xml").write_bytes(rss(*TITLES))
    with (
        discreet_serve(tmp_path, "--feed", "feed.xml", "--text", "hashed") as base,
        browser.new_context() as context,
    ):
        page, asked, wrong = context.new_page(), [], []
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: asked.append((request.method, request.url.removeprefix(base))))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        page.goto(base)
        articles = page.locator("#articles > li")
        expect(articles).to_have_count(4)
        expect(page.locator("#lifetime")).to_have_text("for ranking: nothing about your clicks is sent")
        articles.filter(has_text=TITLES[0]).locator("button").click()
        page.keyboard.press("Escape")
        expect(articles).to_have_count(3)
        expect(page.locator("#sent-empty")).to_be_visible(timeout=PATIENCE)
        public = [path for method, path in asked if path.startswith("/v1/") and method == "GET"]
        assert {path.split("/")[2] for path in public} <= {"model", "catalogue", "tasks"}
        assert {method for method, _ in asked} == {"GET"}
        assert not wrong
