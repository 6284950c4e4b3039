"""The browser's device in headless Chromium: Python's releases from the same bytes, and Python's manners."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import FOLDERS, WEB, blank_page, files_only, open_device
from tools import tool

from discreet.edge.reader.device import Device
from discreet.edge.reader.device_catalogue import Article, DeviceCatalogue
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.privacy.release import Release
from discreet.protocol.check import check

VECTORS = FOLDERS["vectors"] / "test_vectors.json"


def test_every_vector_in_node() -> None:
    node = tool("node")
    command = [node, str(FOLDERS["support"] / "check_vectors.mjs"), str(VECTORS), str(WEB / "device" / "releases.js")]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert result == {"vectors": len(json.loads(VECTORS.read_text(encoding="utf-8"))), "wrong": []}


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with files_only(browser) as context:
        page = blank_page(context)
        yield page
        assert page.complaints == []


def next_epoch(page: Any) -> None:
    page.evaluate("() => { window.now += 604800; }")


def bodies(page: Any, path: str) -> list[Any]:
    found: list[Any] = page.evaluate("(path) => publisher.bodies(path)", path)
    return found


def test_every_vector_and_every_answer_in_chromium(page: Any) -> None:
    result = page.evaluate("""async () => {
      const { checkVectors } = await import("/support/device_vectors.mjs");
      const { wrongVerdicts } = await import("/support/check_answers.mjs");
      const vectors = await (await fetch("/vectors/test_vectors.json")).json();
      const answers = await (await fetch("/protocol/answers.json")).json();
      const changed = vectors.slice(0, 1).map((v) => ({ ...v, seed: v.seed + 1 }));
      const releases = await import("/web/device/releases.js");
      const verdicts = wrongVerdicts(answers, await import("/web/device/check.js"));
      const { wrongRankings } = await import("/support/ranking_vectors.mjs");
      const ranked = await (await fetch("/vectors/ranking_vectors.json")).json();
      const names = ["personal", "ranking", "features", "first_page"];
      const parts = await Promise.all(names.map((name) => import(`/web/device/${name}.js`)));
      const found = { verdicts, rankings: wrongRankings(ranked, ...parts) };
      return { ...checkVectors(vectors, releases), notices: checkVectors(changed, releases).wrong.length, ...found };
    }""")
    assert result["wrong"] == result["verdicts"] == result["rankings"] == []
    assert result["vectors"] > 500
    assert result["notices"] == 1, "other bytes must give another release, or the comparison says nothing"


def test_a_readers_fortnight(page: Any) -> None:
    open_device(page)
    front = page.evaluate("() => device.front(5)")
    assert [article["id"] for article in front["articles"]] == ["N0", "N1", "N2", "N3", "N4"]
    page.evaluate("(slate) => device.clicked('N3', slate)", front["slate"])
    again = page.evaluate("() => device.front(5)")
    assert "N3" not in [article["id"] for article in again["articles"]]
    next_epoch(page)
    sent = page.evaluate("() => device.releaseDue()")
    assert [entry["status"] for entry in sent] == [201, 201]
    assert page.evaluate("() => device.releaseDue()") == []
    reports = {report["kind"]: report for report in bodies(page, "/v1/reports")}
    assert reports["label"]["slate"]["articles"] == [f"N{number}" for number in range(30)]
    assert (reports["sketch"]["epoch"], reports["sketch"]["clicks"]) == (10, 1)
    for kind, report in reports.items():
        guarantee = Release.from_bytes(base64.b64decode(report["release"])).guarantee
        assert guarantee.epsilon == {"sketch": 0.7, "label": 0.3}[kind]
    budget = page.evaluate("() => device.budget()")
    assert (budget["worst"], budget["purposes"]) == (1, {"sketch": 0.7, "label": 0.3})
    assert page.evaluate("() => device.kept()")["categories"] == {"food": 1}
    logged = [(entry["method"], entry["json"]) for entry in page.evaluate("() => device.sent()")]
    heard = [(request["method"], request["body"]) for request in page.evaluate("() => publisher.sent")]
    assert logged == heard, "the log shows all that left"


def test_a_click_names_its_article_by_any_form_of_its_address(page: Any) -> None:
    open_device(page)
    page.evaluate("""async () => {
      publisher.articles.forEach((article, number) => { article.url = `https://news.example/read?id=${number}`; });
      await device.refresh();
      await device.complete();
      await device.clicked("http://NEWS.example/read?utm_source=mail&id=3#top");
    }""")
    assert [one["id"] for one in page.evaluate("() => device.kept().read")] == ["N3"]
    assert "N3" not in [article["id"] for article in page.evaluate("() => device.here(40).articles")]


def test_asking_again_costs_nothing_even_after_a_reload(page: Any) -> None:
    open_device(page)
    page.evaluate("() => device.clicked('N1')")
    next_epoch(page)
    page.evaluate("() => device.front(3)")
    first = bodies(page, "/v1/recommend")
    page.reload()
    open_device(page, epoch=11)
    page.evaluate("() => device.front(3)")
    assert first[0]["sketches"] == bodies(page, "/v1/recommend")[0]["sketches"] != []
    assert len(page.evaluate("() => device.budget().debits")) == 1


def test_a_release_that_was_not_made_was_not_paid(page: Any) -> None:
    """Debit and bytes are one transaction: a page that is closed in it leaves neither."""
    open_device(page)
    page.evaluate("() => device.clicked('N1')")
    next_epoch(page)
    page.evaluate("""async () => {
      const { openDevice } = await import("/web/device/device.js");
      const random = (count) => { if (count > 16) throw new Error("closed"); return new Uint8Array(count); };
      const fetch = (...request) => publisher.fetch(...request);
      const other = await openDevice({ database: "test", now: () => window.now, random, fetch });
      await other.front(3);
      await device.load();
    }""")
    assert page.evaluate("() => device.budget().debits") == []
    assert bodies(page, "/v1/recommend")[0]["sketches"] == []
    page.evaluate("() => device.releaseDue()")
    assert len(page.evaluate("() => device.budget().debits")) == 1


def test_the_length_is_hidden_where_the_publisher_says_so(page: Any) -> None:
    open_device(page, adjacency="add/remove")
    page.evaluate("async () => { const f = await device.front(3); await device.clicked('N1', f.slate); }")
    next_epoch(page)
    next_epoch(page)
    page.evaluate("() => device.releaseDue()")
    assert [(report["kind"], report["epoch"], report["clicks"]) for report in bodies(page, "/v1/reports")] == [
        ("sketch", 10, None),
        ("sketch", 11, None),
    ]


def test_open_categories_and_a_smaller_epsilon(page: Any) -> None:
    open_device(page)
    page.evaluate("() => device.settings({ openCategories: ['sports'] })")
    for name in ("N0", "N4", "N1"):
        page.evaluate("(name) => device.clicked(name)", name)
    next_epoch(page)
    page.evaluate("() => device.front(3)")
    body = bodies(page, "/v1/recommend")[-1]
    assert body["open"] == [1, 0, 0, 0, 1, 0]
    assert [sketch["clicks"] for sketch in body["sketches"]] == [1]
    assert page.evaluate("() => device.kept().open") == 2
    page.evaluate("() => { publisher.sent = []; return device.settings({ epsilon: 0 }); }")
    assert page.evaluate("() => device.front(3)")["ranking"] == "local"
    page.evaluate("() => device.releaseDue()")
    assert page.evaluate("() => publisher.sent") == []
    refusal = page.evaluate("() => device.settings({ epsilon: 2 }).catch((error) => error.message)")
    assert "publisher's 1" in refusal


def test_forgetting(page: Any) -> None:
    open_device(page)
    page.evaluate("() => device.clicked('N1')")
    next_epoch(page)
    page.evaluate("() => device.releaseDue()")
    page.evaluate("() => device.clicked('N2')")
    page.evaluate("() => device.forget()")
    assert page.evaluate("() => device.articles()") == []
    page.evaluate("() => device.refresh()")
    next_epoch(page)
    page.evaluate("() => device.releaseDue()")
    assert page.evaluate("() => device.kept()")["clicks"] == 0
    debits = page.evaluate("() => device.budget().debits")
    assert [(debit["epsilon"], debit["state"]) for debit in debits] == [(0.7, "forgotten")]


def test_offline(page: Any) -> None:
    open_device(page)
    page.evaluate("() => device.clicked('N1')")
    next_epoch(page)
    page.evaluate("() => { publisher.offline = true; }")
    front = page.evaluate("() => device.front(3)")
    assert (front["ranking"], front["slate"], len(front["articles"])) == ("local", None, 3)
    page.evaluate("() => device.releaseDue()")
    status = page.evaluate("() => device.status()")
    assert not status["online"]
    assert "cannot be reached" in status["problem"]
    page.evaluate("() => { publisher.offline = false; return device.releaseDue(); }")
    assert page.evaluate("() => publisher.reports.size") == 1


def test_the_first_articles_come_with_the_list_of_pages(page: Any) -> None:
    open_device(page, whole=False)
    asked = page.evaluate("() => publisher.sent.map((request) => request.url)")
    assert asked == ["/v1/model", "/v1/catalogue"]
    assert [article["id"] for article in page.evaluate("() => device.here(3)")["articles"]] == ["N0", "N1", "N2"]
    status = page.evaluate("() => device.complete()")
    assert (status["articles"], status["isComing"]) == (40, False)
    names = page.evaluate("() => publisher.pages().map((page) => `/v1/catalogue/${page.name}`)")
    assert page.evaluate("() => publisher.sent.slice(2).map((request) => request.url)") == names[::-1]
    page.evaluate("async () => { await device.refresh(); await device.complete(); }")
    assert len(page.evaluate("() => publisher.sent")) == 4 + len(names), "what is here is not asked for again"


def test_both_devices_rank_alike(page: Any, tmp_path: Path) -> None:
    """Without a click, where the first page is mixed, and after some."""
    open_device(page, ranking="local", diversity=0.4)
    published = page.evaluate("() => publisher.articles")
    terms = PublisherTerms.from_json(check("model", page.evaluate("() => publisher.model")))
    articles = DeviceCatalogue(Article.from_json(fields, fields["base"], terms) for fields in published)
    device = Device(tmp_path / "python", terms, articles, clock=lambda: float(page.evaluate("() => window.now")))
    for clicked in ((), ("N3", "N17")):
        for name in clicked:
            device.clicked(name)
            page.evaluate("(name) => device.clicked(name)", name)
        ours = [(shown.article.id, shown.score) for shown in device.rank()]
        theirs = page.evaluate("() => device.front(50)")["articles"]
        assert [article["id"] for article in theirs] == [name for name, _ in ours]
        assert [article["score"] for article in theirs] == pytest.approx([score for _, score in ours])


def test_a_newcomers_first_page_is_mixed(page: Any) -> None:
    """As the protocol's page says it, computed here in the plainest way."""
    script = """async (diversity) => {
      const { Publisher, open } = await import("/support/mock_publisher.mjs");
      window.publisher = new Publisher({ ranking: "local", diversity });
      publisher.articles.forEach((article, n) => (article.category = n < 25 ? "news" : n % 2 ? "sports" : "food"));
      await open({ database: null, firstPage: { places: 0 } });
      return device.here(40).articles;
    }"""
    plain, mixed = page.evaluate(script, 0), page.evaluate(script, 0.3)
    scores, left, chosen = [article["score"] for article in plain], list(plain), []
    while left:
        before = [article["category"] for article in chosen]
        values = [a["score"] - 0.3 * np.std(scores) * before.count(a["category"]) for a in left]
        chosen.append(left.pop(int(np.argmax(values))))
    assert [article["id"] for article in mixed] == [article["id"] for article in chosen]
    assert [article["category"] for article in plain[:10]] == ["news"] * 10
    assert {article["category"] for article in mixed[:10]} == {"news", "sports", "food"}
    page.evaluate("() => device.clicked('N39')")
    ranked = page.evaluate("() => device.here(40).articles.map((article) => article.score)")
    assert ranked == sorted(ranked, reverse=True), "who reads is known, and gets the plain order"


def test_the_first_page_keeps_its_limits_whatever_was_read(page: Any) -> None:
    script = """async ({ clicks, firstPage }) => {
      const { Publisher, open, START } = await import("/support/mock_publisher.mjs");
      window.publisher = new Publisher({ ranking: "local", articles: 80 });
      publisher.model.weights.interest = 0.1;
      publisher.articles.forEach((article, n) => {
        article.category = n < 40 ? "sports" : `c${n % 4}`;
        article.published = START + n;
      });
      await open({ database: null, firstPage });
      for (let n = 0; n < clicks; n++) await device.clicked(`N${n}`);
      const { articles } = device.here(12), newest = START + 80 - Math.ceil((80 - clicks) / 10);
      const count = (isOne) => articles.filter(isOne).length;
      return [count(({ category }) => category === "sports"), count(({ published }) => published >= newest)];
    }"""
    for clicks in (0, 1, 10):
        sports, new = page.evaluate(script, {"clicks": clicks})
        assert sports <= 4 <= new
        sports, new = page.evaluate(script, {"clicks": clicks, "firstPage": {"places": 0}})
        assert sports > 4 > new, "without limits the test would say nothing"
    assert page.evaluate(script, {"clicks": 1, "firstPage": {"maxOfSection": 3, "minNew": 6}}) == [3, 6]


def test_epsilon_is_shown_with_three_digits_and_never_below_the_truth(page: Any) -> None:
    script = """async (all) => {
      const { shownEpsilon } = await import("/web/device/statement.js");
      return all.map((epsilon) => shownEpsilon(epsilon));
    }"""
    shown = {0.8999999999999999: "0.9", 0.1 + 0.2: "0.3", 0.7001: "0.701", 12.34: "12.4", 0: "0", 1234.5: "1240"}
    assert page.evaluate(script, list(shown)) == list(shown.values())
