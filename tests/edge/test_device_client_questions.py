"""What the client asks a server, by ranking, topics and open categories."""

from __future__ import annotations

from pathlib import Path

import pytest
from device_server import START, PublisherServer, bodies
from device_tools import Clock, client_of

from discreet.edge.reader.first_page import FirstPage
from discreet.edge.reader.reader_client import ReaderClient
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.privacy.release import Release


def test_topics_of_single_articles_are_not_sketched(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    server.articles["N0"]["topic"] = 5
    for number in range(1, 40):
        server.articles[f"N{number}"]["topic"] = number % 2
    client = client_of(server, tmp_path, clock)
    client.refresh()
    client.clicked("N0")
    clock.next_epoch()
    assert client.send_due() == 0
    assert client.device.statement().ledger.debits == ()
    server.articles["N0"]["topic"] = 1
    client.refresh()
    assert client.send_due() == 1


@pytest.mark.parametrize("change", ["the article has gone", "no catalogue fits the terms"])
def test_a_topic_of_a_single_article_is_not_kept_for_later(
    server: PublisherServer, client: ReaderClient, clock: Clock, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """The topic of a click is looked at when the sketch is made, but an article that has gone has the one it had."""
    monkeypatch.setattr("discreet.privacy.noise.urandom", bytes)
    for number in range(40):
        server.articles[f"N{number}"]["topic"] = 5 if number == 3 else number % 2
    client.refresh()
    client.clicked("N3")
    clock.next_epoch()
    if change == "the article has gone":
        server.remove("N3")
    else:
        server.model = {**server.model, "topics": 7}
        server.pages = list  # type: ignore[method-assign]
    client.refresh()
    counts = [Release.from_bytes(sketch.release).payload.integers.tolist() for sketch in client.device.sketches()]
    assert counts == ([[1, 0, 0, 0, 0, 0]] if change == "the article has gone" else [])


def test_a_category_that_was_closed_is_closed(server: PublisherServer, client: ReaderClient) -> None:
    """Also if another one, which is still open, differs from it by what comes after a zero byte."""
    server.articles["N1"]["category"] = "health"
    server.articles["N2"]["category"] = "health\0care"
    client.refresh()
    client.settings = ReaderSettings(open_categories=frozenset({"health", "health\0care"}))
    client.settings = ReaderSettings(open_categories=frozenset({"health\0care"}))
    client.clicked("N1")
    assert client.device.open_counts() is None
    client.clicked("N2")
    assert client.device.open_counts() is not None


def test_a_category_is_what_it_was_when_the_reader_opened_it(server: PublisherServer, client: ReaderClient) -> None:
    client.settings = ReaderSettings(open_categories=frozenset({"sports"}))
    server.articles["N1"]["category"] = "sports"
    server.articles["N4"]["title"] = "Another title"
    server.publish("N40", "sports", 1, bytes(8), 0.0)
    client.refresh()
    for name in ("N1", "N4", "N40"):
        client.clicked(name)
    assert client.device.open_counts() is None
    client.settings = ReaderSettings()
    client.settings = ReaderSettings(open_categories=frozenset({"sports"}))
    client.clicked("N40")
    assert client.device.open_counts() == [0, 1, 0, 0, 0, 0]


def test_a_newcomers_page_takes_categories_in_turns(tmp_path: Path, clock: Clock) -> None:
    server = PublisherServer(diversity=0.5, ranking="local")
    for number, article in enumerate(server.articles.values()):
        article["category"] = "sports" if number < 20 else f"c{number % 4}"
    client = client_of(server, tmp_path, clock)
    client.refresh()
    shown = [ranked.article.category for ranked in client.front(10).articles]
    assert 2 < len(set(shown)) < 10
    client.clicked("N39")
    scores = [ranked.score for ranked in client.front(10).articles]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("clicks", [0, 1, 10])
def test_the_first_page_is_mixed_and_new_whatever_was_read(clicks: int, tmp_path: Path, clock: Clock) -> None:
    """Base scores and clicks speak for the old articles of one section; the limits are the device's setting."""
    server = PublisherServer(articles=80, ranking="local")
    for number, article in enumerate(server.articles.values()):
        article |= {"category": "sports" if number < 40 else f"c{number % 4}", "published": START + number}
    for places in (12, 0):
        folder = tmp_path / str(places)
        client = client_of(server, folder, clock, first_page=FirstPage(places=places))
        client.refresh()
        for number in range(clicks):
            client.clicked(f"N{number}")
        first = [ranked.article for ranked in client.front(12).articles]
        newest = START + 80 - -(-(80 - clicks) // 10)
        kept = sum(a.category == "sports" for a in first) <= 4, sum((a.published or 0) >= newest for a in first) >= 4
        assert kept == (places > 0, places > 0)


def test_an_article_that_is_open_or_was_read_under_its_address_is_not_shown(tmp_path: Path, clock: Clock) -> None:
    server = PublisherServer(ranking="local")
    for name, article in server.articles.items():
        article["url"] = f"https://news.test/{name}"
    client = client_of(server, tmp_path, clock)
    client.refresh()
    client.clicked("https://news.test/N5#comments")
    client.clicked("https://news.test/later#x")
    for current in ("N3", "https://news.test/N3#top"):
        shown = {ranked.article.id for ranked in client.front(40, current=current).articles}
        assert shown == set(server.articles) - {"N3", "N5"}
    server.articles["N6"]["url"] = "https://news.test/later"
    client.refresh()
    assert "N6" not in {ranked.article.id for ranked in client.front(40).articles}


def test_local_ranking_asks_for_nothing_personal(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    server.model["ranking"] = "local"
    client = client_of(server, tmp_path, clock)
    client.refresh()
    assert client.front(5).ranking == "local"
    client.settings = ReaderSettings(epsilon=0.0)
    client.clicked("N1")
    clock.next_epoch()
    assert client.send_due() == 0
    assert {method for method, _, _, _ in server.sent} == {"GET"}


def test_a_reader_with_epsilon_0_is_silent_under_any_ranking(
    server: PublisherServer, client: ReaderClient, clock: Clock
) -> None:
    client.settings = ReaderSettings(epsilon=0.0)
    client.clicked("N1", client.front(5).slate)
    clock.next_epoch()
    client.front(5)
    client.send_due()
    assert {method for method, _, _, _ in server.sent} == {"GET"}


def test_in_the_servers_order_if_the_server_ranks(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    server.model["ranking"] = "server"
    client = client_of(server, tmp_path, clock)
    client.refresh()
    client.clicked("N1")
    assert [shown.article.id for shown in client.front(4).articles] == ["N0", "N2", "N3", "N4"]


def test_open_counts_are_sent_only_if_there_are_any(server: PublisherServer, client: ReaderClient) -> None:
    client.front(3)
    client.settings = ReaderSettings(open_categories=frozenset({"sports"}))
    client.clicked("N4")
    client.front(3)
    first, second = bodies(server, "/v1/recommend")
    assert "open" not in first
    assert second["open"] == [0, 0, 0, 0, 1, 0]


def test_no_article_that_was_read_is_named_by_the_device(server: PublisherServer, client: ReaderClient) -> None:
    server.bases["N39"] = -9.0
    client.clicked("N39")
    client.front(5)
    sections = client.front(5, section="sports")
    assert {shown.article.category for shown in sections.articles} == {"sports"}
    client.send_due()
    assert not any("N39" in body or "sports" in body for _, _, _, body in server.sent)
    assert len({body for _, url, _, body in server.sent if "recommend" in url}) == 1
