"""What the reader of an article sees, and what the panel says of open sections: on a small site made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from chromium import ORIGIN
from page_visit import PATIENCE, expect
from small_site import answers_of, articles_of, fulfil

LONG_WORD = "Donaudampfschiffahrt" * 20


@pytest.fixture
def site(browser: Any) -> Iterator[tuple[Any, dict[str, bytes]]]:
    """A page, and the answers that it gets, which a test may change."""
    articles = articles_of(48, categories=3)
    articles[0] |= {"url": "https://news.example/0?a=1", "image": "https://news.example/0.png", "section": "tennis"}
    articles[2] |= {"title": LONG_WORD, "abstract": LONG_WORD, "category": ""}
    answers = answers_of(articles, page_size=16, front=6)
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.asked = []

    def answer(route: Any) -> None:
        page.asked.append(route.request.url)
        fulfil(route, answers)

    context.route("**/*", answer)
    page.goto(ORIGIN)
    page.wait_for_selector("html[data-ready]")
    yield page, answers
    assert [url for url in page.asked if not url.startswith(f"{ORIGIN}/")] == [], "no picture, nothing from elsewhere"
    context.close()


def test_an_article_says_when_it_came_and_links_to_its_text(site: tuple[Any, dict[str, bytes]]) -> None:
    page, _ = site
    page.locator("#articles [data-article=N0] button").click()
    link = page.locator("#reader-url")
    expect(link).to_have_attribute("href", "https://news.example/0?a=1")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(page.locator("#reader-link")).to_contain_text("tells the publisher that you read the article")
    expect(page.locator("#reader time")).to_have_attribute("datetime", "2026-01-01")
    expect(page.locator("#reader-kicker")).to_have_text("Category0 · Tennis · 1 January 2026")
    assert page.locator("img").count() == 0
    page.keyboard.press("Escape")
    page.locator("#articles [data-article=N1] button").click()
    expect(page.locator("#reader-link")).to_be_hidden()


def test_a_newcomers_first_page_has_every_section(site: tuple[Any, dict[str, bytes]]) -> None:
    page, _ = site
    assert page.locator("#sections [aria-pressed=true]").all_inner_texts() == ["Front page"]
    script = "items => items.slice(0, 6).map(item => item.dataset.category)"
    assert len(set(page.locator("#articles > li").evaluate_all(script))) >= 3


def test_articles_without_a_category_are_a_section(site: tuple[Any, dict[str, bytes]]) -> None:
    page, _ = site
    page.get_by_role("button", name="Other", exact=True).click()
    expect(page.locator("#articles > li")).to_have_count(1)
    assert page.locator("#sections [aria-pressed=true]").all_inner_texts() == ["Other"]


def test_the_panel_says_what_an_open_section_means(site: tuple[Any, dict[str, bytes]]) -> None:
    page, answers = site
    answers["/v1/model"] = answers["/v1/model"].replace(b'"reports": false', b'"reports": true')
    page.click("#again")
    page.get_by_role("checkbox", name="Category1").uncheck()
    words = page.locator("#sensitive li", has_text="Category1").locator(".opened")
    expect(words).to_have_text("16 articles in clear")
    model = answers["/v1/model"]
    answers |= answers_of(articles_of(60, categories=3), page_size=16, front=6) | {"/v1/model": model}
    page.click("#again")
    expect(words).to_have_text("16 articles in clear, 4 articles came later and stay sensitive")


def test_terms_that_are_refused_are_explained(site: tuple[Any, dict[str, bytes]]) -> None:
    page, answers = site
    answers["/v1/model"] = answers["/v1/model"].replace(b"604800", b"60")
    page.click("#again")
    expect(page.locator("#notice")).to_contain_text("an epoch must last a day at least")
    expect(page.locator("#articles > li").first).to_be_visible()


def test_a_budget_is_shown_with_few_digits(site: tuple[Any, dict[str, bytes]]) -> None:
    page, answers = site
    answers["/v1/model"] = answers["/v1/model"].replace(b'"lifetime": 1.0', b'"lifetime": 1.0999999999999999')
    page.click("#again")
    expect(page.locator("#guarantee")).to_contain_text("ε = 1.1 per click (substitute), δ = 0")
    expect(page.locator("#notice")).to_contain_text("changed its lifetime ε")


def test_a_publisher_that_asks_nothing_gets_nothing_and_the_panel_says_so(site: tuple[Any, dict[str, bytes]]) -> None:
    page, _ = site
    expect(page.locator("#countdown")).to_have_text("never: none is asked for")
    expect(page.locator("#strip-countdown")).to_have_text("never")
    expect(page.locator("#report-choices")).to_be_hidden()


def test_a_word_without_a_break_stays_within_its_column(site: tuple[Any, dict[str, bytes]]) -> None:
    page, _ = site
    page.set_viewport_size({"width": 360, "height": 700})
    expect(page.locator("#articles [data-article=N2] h3")).to_contain_text(LONG_WORD)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
