"""A server that lies learns nothing: each of these once read exact clicks, or tracked a reader, with certainty."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from chromium import blank_page, files_only, fresh_device, open_device

WEEK = 604800


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with files_only(browser) as context:
        page = blank_page(context)
        yield page
        assert page.complaints == []


def reports(page: Any) -> list[Any]:
    found: list[Any] = page.evaluate("() => publisher.bodies('/v1/reports')")
    return found


def problem(page: Any) -> str:
    return str(page.evaluate("() => device.status().problem"))


def test_a_spent_slate_id_with_other_articles_is_another_slate(page: Any) -> None:
    """Whether a report comes said whether the old click was among the new articles."""
    open_device(page)
    page.evaluate("""async () => {
      const front = await device.front(5);
      await device.clicked("N3", front.slate);
      await device.front(5);
      await device.releaseDue();
      for (const from of [0, 10, 20]) {
        publisher.recommend = () => ({ model: "model-1", slate: "1".padStart(32, "0"), signature: "signed-1",
          articles: publisher.articles.slice(from, from + 12).map(({ id, base }) => ({ id, base })) });
        await device.front(5);
        await device.releaseDue();
      }
      window.now += 604800;
      await device.releaseDue();
    }""")
    assert [report["kind"] for report in reports(page)] == ["label", "sketch"]
    assert len(page.evaluate("() => device.budget().debits")) == 2


def test_the_same_slate_again_takes_no_second_label(page: Any) -> None:
    open_device(page)
    page.evaluate("""async () => {
      const first = publisher.recommend({ limit: 30 }), second = publisher.recommend({ limit: 30 });
      for (const [answer, click] of [[first, "N3"], [second, null], [first, "N7"], [second, null]]) {
        publisher.recommend = () => answer;
        const front = await device.front(5);
        if (click) await device.clicked(click, front.slate);
        await device.releaseDue();
      }
    }""")
    assert [report["kind"] for report in reports(page)] == ["label"]


def test_the_devices_name_of_a_slate_is_the_protocols(page: Any) -> None:
    name = page.evaluate("""async () => {
      const { slateName } = await import("/web/device/slates.js");
      const articles = [{ id: "Nø1" }, { id: 'N"2' }];
      return slateName({ model: "m", slate: "0a".repeat(16), signature: "s-1", articles });
    }""")
    content = json.dumps([3, "m", "0a" * 16, "s-1", ["Nø1", 'N"2']], ensure_ascii=False, separators=(",", ":"))
    assert name == hashlib.sha256(content.encode()).hexdigest()[:32]


def test_a_slate_of_few_known_articles_takes_no_clicks(page: Any) -> None:
    script = """async (known) => {
      const honest = publisher.recommend({ limit: known });
      const made = Array.from({ length: 20 }, (_, n) => ({ id: `made-up-${n}`, base: 1 }));
      publisher.recommend = () => ({ ...honest, articles: [...honest.articles, ...made] });
      const front = await device.front(50);
      await device.clicked("N3", front.slate);
      window.now += 604800;
      await device.releaseDue();
      return front.slate;
    }"""
    for known in (9, 10):
        fresh_device(page, known)
        slate = page.evaluate(script, known)
        assert (slate is None) == (known < 10)
        assert ("label" in [report["kind"] for report in reports(page)]) == (known >= 10)


LIES = [
    {"topic": 1.5},
    {"topic": 6},
    {"topic": 1e30},
    {"vector": "AAAA"},
    {"id": "N4"},
    {"title": 3},
    {"category": None},
]


def test_a_malformed_article_is_refused_before_anybody_can_click_it(page: Any) -> None:
    script = """async (lie) => {
      publisher.articles.push({ ...publisher.articles[39], id: "N40", base: 0 });
      Object.assign(publisher.articles[3], lie);
      await device.refresh();
      const { problem } = await device.complete();
      await device.clicked("N3");
      window.now += 604800;
      await device.releaseDue();
      return problem;
    }"""
    for lie in LIES:
        fresh_device(page, lie)
        said = page.evaluate(script, lie)
        assert "catalogue" in said or "not as agreed" in said, lie
        assert page.evaluate("() => device.status().articles") == 40, f"{lie}: whole or not at all"
        assert [report["kind"] for report in reports(page)] == ["sketch"], lie


def test_a_page_that_is_not_what_its_name_says_changes_nothing(page: Any) -> None:
    open_device(page, whole=False)
    page.evaluate("""async () => {
      const honest = publisher.answer.bind(publisher), [first] = publisher.pages();
      publisher.answer = (method, path, body) => path.endsWith(first.name)
        ? [200, first.text.replace("Title of N1", "Another title")] : honest(method, path, body);
      await device.complete();
      publisher.honest = honest;
    }""")
    assert "not what its name says" in problem(page)
    assert page.evaluate("() => device.status().articles") == 12, "the first articles serve until all is there"
    asked = page.evaluate("() => publisher.sent.length")
    status = page.evaluate("async () => { publisher.answer = publisher.honest; return device.complete(); }")
    assert (status["articles"], page.evaluate("() => publisher.sent.length")) == (40, asked + 1), "only what is lacking"


def test_what_is_told_beside_a_release_was_decided_with_it(page: Any) -> None:
    """The number of clicks was hidden when the sketch was made, and stays hidden under other terms."""
    open_device(page, adjacency="add/remove")
    page.evaluate("""async () => {
      for (const id of ["N1", "N2", "N5"]) await device.clicked(id);
      window.now += 604800;
      await device.front(5);
      publisher.model = { ...publisher.model, adjacency: "substitute" };
      await device.refresh();
      await device.front(5);
      await device.releaseDue();
    }""")
    told = page.evaluate("() => publisher.bodies('/v1/recommend').flatMap((body) => body.sketches)")
    assert [sketch["clicks"] for sketch in told] == [None, None]
    assert [report["clicks"] for report in reports(page)] == [None]
    assert "adjacency" in page.evaluate("() => device.status().stopped")


def test_the_readers_limit_holds_over_all_terms(page: Any) -> None:
    open_device(page)
    page.evaluate("() => device.settings({ epsilon: 0.5 })")
    page.evaluate("""async () => {
      for (const [sketch, label] of [[0.1, 0.4], [0.4, 0.1], [0.5, 0]]) {
        publisher.model = { ...publisher.model, epsilon: { sketch, label, lifetime: 1 } };
        await device.refresh();
        const front = await device.front(5);
        await device.clicked(front.articles[0].id, front.slate);
        await device.front(5);
        await device.releaseDue();
      }
      window.now += 604800;
      await device.releaseDue();
    }""")
    assert page.evaluate("() => device.budget().worst") <= 0.5


def test_an_opened_category_means_the_articles_that_were_in_it(page: Any) -> None:
    open_device(page)
    page.evaluate("""async () => {
      await device.settings({ openCategories: ["sports"] });
      publisher.articles[1].category = "sports";
      publisher.articles[4].title = "Something else";
      await device.refresh();
      await device.complete();
      for (const id of ["N0", "N1", "N4"]) await device.clicked(id);
      await device.front(5);
    }""")
    assert page.evaluate("() => publisher.bodies('/v1/recommend')[0].open") == [1, 0, 0, 0, 0, 0]
    sports = page.evaluate("() => device.categories().find((entry) => entry.category === 'sports')")
    assert sports == {"category": "sports", "articles": 11, "isOpen": True, "opened": 9, "later": 2}
    page.evaluate("async () => { await device.settings({ openCategories: [] }); }")
    page.evaluate("async () => { await device.settings({ openCategories: ['sports'] }); }")
    assert page.evaluate("() => device.categories().find((entry) => entry.isOpen).later") == 0


def test_terms_that_make_a_promise_empty_are_refused_in_plain_words(page: Any) -> None:
    lies: list[tuple[dict[str, Any], str]] = [
        ({"schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": 3600}}, "a day at least"),
        ({"schedule": {"start": "2036-01-01T00:00:00+00:00", "length_seconds": WEEK}}, "not begun"),
        ({"schedule": {"start": "2026-02-30T00:00:00+00:00", "length_seconds": WEEK}}, "not begun"),
        ({"epsilon": {"sketch": 5, "label": 5, "lifetime": 1e6}}, "protects nothing"),
        ({"epsilon": {"sketch": 0.7, "label": 0.4, "lifetime": 1}}, "more than the lifetime"),
        ({"epsilon": {"sketch": 0.0001, "label": 0, "lifetime": 1}}, "noise alone"),
        ({"vectors": {"dimension": 8, "scale": 1, "unit": 1, "centre": []}}, "fit together"),
        ({"topics": 1}, "topics"),
        ({"api": 2}, "another language"),
    ]
    for terms, words in lies:
        fresh_device(page, terms, **terms)
        assert page.evaluate("() => device.model") is None, terms
        assert words in problem(page)
        assert page.evaluate("() => publisher.sent.map((request) => request.url)") == ["/v1/model"]


def test_topics_of_single_articles_make_no_sketch(page: Any) -> None:
    open_device(page)
    page.evaluate("""async () => {
      await device.clicked("N3");
      publisher.articles.forEach((article, n) => (article.topic = n === 3 ? 5 : n % 5));
      await device.refresh();
      await device.complete();
      window.now += 604800;
      await device.releaseDue();
    }""")
    assert reports(page) == []


def test_a_topic_of_a_single_article_is_not_kept_for_later(page: Any) -> None:
    """The topic of a click is looked at when the sketch is made, but an article that has gone has the one it had."""
    open_device(page)
    kept = page.evaluate("""async () => {
      publisher.articles.forEach((article, n) => (article.topic = n === 3 ? 5 : n % 5));
      await device.refresh();
      await device.complete();
      await device.clicked("N3");
      await device.clicked("N4");
      publisher.articles = publisher.articles.filter(({ id }) => id !== "N3" && id !== "N4");
      await device.refresh();
      await device.complete();
      return device.kept().topics;
    }""")
    assert kept == [1, 0, 0, 0, 1, 0]


def test_nothing_is_echoed_and_nothing_handed_out_outlives_forgetting(page: Any) -> None:
    open_device(page, space="tracked-space", model="tracked-model")
    page.evaluate("async () => { await device.refresh(); await device.front(5); await device.forget(); }")
    page.evaluate("""async () => {
      publisher.sent = [];
      Object.assign(publisher.model, { space: "space-2", model: "model-2" });
      await device.refresh(); await device.complete(); await device.front(5);
    }""")
    sent = page.evaluate("() => publisher.sent")
    assert {name for request in sent for name in request["headers"]} == {"Content-Type"}
    pages = page.evaluate("() => publisher.pages().length")
    assert len(sent) == 3 + pages, "the pages are fetched anew"
    assert "tracked" not in json.dumps(sent)
    kept = page.evaluate("""async () => {
      const { STORES, openStorage } = await import("/web/device/storage.js");
      const rows = await (await openStorage("test")).transaction(Object.keys(STORES), "readonly", (stores) =>
        Promise.all(Object.values(stores).map((store) => store.all())));
      return JSON.stringify(rows);
    }""")
    assert "tracked" not in kept


def test_reports_are_kept_until_they_are_taken_or_refused_for_good(page: Any) -> None:
    answers = [
        (201, "{}", 0),
        (200, "what?", 0),
        (409, '{"error": "known"}', 0),
        (422, '{"error": "no"}', 0),
        (409, "a proxy's page", 1),
        *((status, '{"error": "no"}', 1) for status in (400, 403, 404, 413, 429, 500)),
    ]
    script = """async ([status, body]) => {
      await device.clicked("N3");
      window.now += 604800;
      publisher.report = () => [status, body];
      await device.releaseDue();
      publisher.sent = [];
      await device.releaseDue();
      return publisher.sent.length;
    }"""
    for status, body, kept in answers:
        fresh_device(page, (status, body))
        assert page.evaluate(script, [status, body]) == kept, (status, body)


def test_one_refusal_does_not_stop_other_reports(page: Any) -> None:
    open_device(page)
    page.evaluate("""async () => {
      for (const id of ["N3", "N8"]) { await device.clicked(id); window.now += 604800; }
      publisher.report = () => [404, { error: "nothing here" }];
      await device.releaseDue();
    }""")
    assert len(reports(page)) == 2


def test_an_answer_without_end_is_cut_off(page: Any) -> None:
    open_device(page)
    page.evaluate("""async () => {
      const pull = (stream) => stream.enqueue(new Uint8Array(1 << 22));
      publisher.fetch = async () => new Response(new ReadableStream({ pull }));
      await device.refresh();
    }""")
    assert "does not end" in problem(page)


def test_a_clock_that_was_ahead_silences_nobody(page: Any) -> None:
    open_device(page)
    page.evaluate("""async () => {
      const right = window.now;
      window.now += 9 * 52 * 604800;
      await device.clicked("N1");
      await device.releaseDue();
      await device.forget();
      await device.refresh();
      await device.complete();
      window.now = right;
      await device.refresh();
      await device.clicked("N2");
      window.now += 604800;
      await device.releaseDue();
    }""")
    assert [report["epoch"] for report in reports(page)] == [10]


def test_a_request_says_nothing_of_what_is_looked_at(page: Any) -> None:
    open_device(page)
    page.evaluate(
        "async () => { await device.front(5); device.here(3, { category: 'food' }); await device.front(200); }"
    )
    first, second = page.evaluate("() => publisher.bodies('/v1/recommend')")
    assert first == second == {"space": "space-1", "sketches": [], "limit": 30}


def test_names_that_javascript_knows_are_names(page: Any) -> None:
    open_device(page)
    page.evaluate("""async () => {
      publisher.articles.forEach((article, n) => {
        article.category = ["__proto__", "constructor"][n % 2];
        if (n < 3) article.id = ["__proto__", "toString", "hasOwnProperty"][n];
      });
      await device.refresh(); await device.complete();
      await device.clicked("__proto__"); await device.clicked("toString");
    }""")
    kept = page.evaluate("() => { const k = device.kept(); return [k.clicks, Object.entries(k.categories)]; }")
    assert kept == [2, [["__proto__", 1], ["constructor", 1]]]
    assert "__proto__" not in page.evaluate("() => device.here(50).articles.map((article) => article.id)")
