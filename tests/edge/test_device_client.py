"""The client: what it fetches, asks and sends, and how it bears a server that is away or talks nonsense."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from device_server import WEEK, PublisherServer, serving
from device_tools import Clock, client_of

from discreet.edge.reader.http_client import HttpReply, over_http
from discreet.edge.reader.reader_client import ReaderClient
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.errors import DiscreetError
from discreet.privacy.ledger import Ledger
from discreet.privacy.release import Release
from discreet.protocol.check import limits


@pytest.fixture
def server() -> PublisherServer:
    return PublisherServer()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(server: PublisherServer, tmp_path: Path, clock: Clock) -> ReaderClient:
    client = client_of(server, tmp_path, clock)
    client.refresh()
    return client


def bodies(server: PublisherServer, path: str) -> list[dict[str, object]]:
    return [json.loads(body) for _, url, _, body in server.sent if url.endswith(path)]


def test_a_whole_life_over_http(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    with serving(server) as url:
        client = ReaderClient(url, tmp_path, clock=clock)
        assert client.refresh().articles == 40
        front = client.front(5)
        assert [shown.article.id for shown in front.articles] == ["N0", "N1", "N2", "N3", "N4"]
        client.clicked("N3", front.slate)
        again = client.front(5)
        assert "N3" not in [shown.article.id for shown in again.articles]
        clock.next_epoch()
        assert client.send_due() == 2
        assert client.send_due() == 0
    kinds = {report["kind"]: report for report in server.reports.values()}
    assert kinds["label"]["slate"]["articles"] == [f"N{number}" for number in range(30)], "the slate as it was sent"
    assert (kinds["sketch"]["epoch"], kinds["sketch"]["clicks"]) == (10, 1)
    for report in kinds.values():
        release = Release.from_bytes(base64.b64decode(report["release"]))
        assert release.guarantee.epsilon == server.model["epsilon"][report["kind"]]


def test_only_pages_that_are_lacking_are_fetched(server: PublisherServer, client: ReaderClient) -> None:
    fetched = [url for _, url, _, _ in server.sent]
    newest_first = [f"http://news.test/v1/catalogue/{name}" for name, _ in reversed(server.pages())]
    assert fetched == ["http://news.test/v1/model", "http://news.test/v1/catalogue", *newest_first]
    server.sent.clear()
    client.refresh()
    assert len(server.sent) == 2
    server.publish("N40", "food", 1, bytes(8), 5.0)
    server.remove("N39")
    assert client.refresh().articles == 40
    assert len(server.sent) == 5, "two lists and one page"
    assert client.front(1).articles[0].article.id == "N40"
    assert not any(headers for _, _, headers, _ in server.sent), "nothing is echoed"


def test_what_comes_first_is_shown_before_all_pages_are_there(server: PublisherServer, tmp_path: Path) -> None:
    names = [name for name, _ in server.pages()]

    def without_the_first_page(method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        return HttpReply(503, b"{}") if names[0] in url else server(method, url, headers, body)

    client = ReaderClient("http://news.test", tmp_path, transport=without_the_first_page, clock=Clock())
    assert client.refresh().articles == 12
    assert client.status.problem is not None
    assert client.front(3).articles[0].article.id == "N0"
    server.sent.clear()
    again = client_of(server, tmp_path, Clock())
    assert again.status.articles == 12
    assert again.refresh().articles == 40
    assert [url[-64:] for _, url, _, _ in server.sent if "catalogue/" in url] == [names[0]]


@pytest.mark.parametrize("field", ["topic", "vector", "id", "title"])
@pytest.mark.parametrize("value", [1.5, 10**30, None, "", -1, "x" * 3000, {}])
def test_a_bad_article_anywhere_changes_nothing(
    server: PublisherServer, client: ReaderClient, clock: Clock, field: str, value: object
) -> None:
    if (field, value) in (("title", ""), ("title", "x" * 3000)):
        value = 7
    client.clicked("N30")
    server.articles["N30"][field] = value
    assert client.refresh().problem is not None
    assert client.status.articles == 40
    clock.next_epoch()
    assert client.send_due() == 1


def test_a_page_that_is_not_what_its_name_says_changes_nothing(server: PublisherServer, client: ReaderClient) -> None:
    server.publish("N40", "food", 1, bytes(8), 5.0)
    pages = [(name, body.replace(b"N40", b"N41")) for name, body in server.pages()]
    server.pages = lambda: pages  # type: ignore[method-assign]
    assert "does not match its name" in str(client.refresh().problem)
    assert client.device.catalogue.get("N41") is None
    assert client.device.catalogue.get("N20") is not None


def test_a_damaged_copy_is_fetched_again(
    server: PublisherServer, client: ReaderClient, tmp_path: Path, clock: Clock
) -> None:
    (tmp_path / "catalogue.sqlite").write_bytes(b"no database" * 1000)
    again = client_of(server, tmp_path, clock)
    assert again.status.articles == 0
    assert again.refresh().articles == 40


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b"\xff\xfe", b'{"api": 3}', b"[" * 100_000])
def test_a_damaged_model_file_is_one_line(tmp_path: Path, server: PublisherServer, clock: Clock, kept: bytes) -> None:
    client_of(server, tmp_path, clock).refresh()
    (tmp_path / "model.json").write_bytes(kept)
    client = client_of(server, tmp_path, clock)
    assert client.status.problem is not None
    assert "\n" not in client.status.problem
    assert client.refresh().problem is None
    assert len(client.front(3).articles) == 3


def test_offline_it_ranks_with_what_it_has(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    client_of(server, tmp_path, clock).refresh()
    server.offline = True
    client = client_of(server, tmp_path, clock)
    status = client.refresh()
    assert not status.online
    assert status.problem is not None
    assert "cannot be reached" in status.problem
    front = client.front(3)
    assert (len(front.articles), front.slate, front.ranking) == (3, None, "local")
    client.clicked("N1")
    clock.next_epoch()
    assert client.send_due() == 0
    server.offline = False
    assert client.send_due() == 1
    assert client.status.problem is None


def test_never_reached_is_one_clear_line(tmp_path: Path, clock: Clock) -> None:
    server = PublisherServer()
    server.offline = True
    client = client_of(server, tmp_path, clock)
    client.refresh()
    with pytest.raises(DiscreetError, match="never reached"):
        client.front()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"api": 1}', b'{"api": 3, "epsilon": 3}'])
def test_nonsense_is_a_problem_and_not_an_exception(server: PublisherServer, client: ReaderClient, body: bytes) -> None:
    server.answers_with = HttpReply(200, body, {})
    assert client.refresh().problem is not None
    assert client.front(3).ranking == "local"
    server.answers_with = None
    assert client.refresh().problem is None
    assert client.front(3).ranking == "shortlist"


def test_a_lost_answer_is_retried_with_the_same_bytes(
    server: PublisherServer, client: ReaderClient, clock: Clock
) -> None:
    client.clicked("N1")
    clock.next_epoch()
    server.answers_with = HttpReply(503, b'{"error": "busy"}', {})
    assert client.send_due() == 0
    server.answers_with = None
    assert client.send_due() == 1
    sent = [body for _, url, _, body in server.sent if url.endswith("/v1/reports")]
    assert len(sent) == 2
    assert sent[0] == sent[1]


@pytest.mark.parametrize("status", [409, 422])
def test_a_refused_report_is_not_sent_for_ever(
    server: PublisherServer, client: ReaderClient, clock: Clock, status: int
) -> None:
    client.clicked("N1")
    clock.next_epoch()
    server.answers_with = HttpReply(status, b'{"error": "another space"}')
    assert client.send_due() == 0
    assert client.status.problem is not None
    assert "another space" in client.status.problem
    server.answers_with = None
    server.sent.clear()
    assert client.send_due() == 0
    assert bodies(server, "/v1/reports") == []


@pytest.mark.parametrize(
    "reply",
    [
        HttpReply(404, b"{}"),
        HttpReply(401, b"<html>"),
        HttpReply(409, b"<html>"),
        HttpReply(304, b""),
        HttpReply(413, b"{}"),
    ],
)
def test_reports_that_were_paid_for_are_kept_until_they_are_taken(
    server: PublisherServer, client: ReaderClient, clock: Clock, reply: HttpReply
) -> None:
    for _ in range(2):
        client.clicked("N1")
        clock.next_epoch()
    server.answers_with = reply
    assert client.send_due() == 0
    assert len(bodies(server, "/v1/reports")) == 2, "one that is not taken does not stop the others"
    server.answers_with = None
    assert client.send_due() == 2


def test_only_so_many_reports_are_kept(server: PublisherServer, client: ReaderClient) -> None:
    for number in range(limits.max_reports + 3):
        client.device.history.close_slate("none", f"{number}")
    kept = client.device.history.reports()
    assert len(kept) == limits.max_reports
    assert kept[0][1] == "3"


def test_a_new_space_begins_a_new_catalogue(server: PublisherServer, client: ReaderClient, clock: Clock) -> None:
    client.clicked("N1")
    clock.next_epoch()
    client.front(3)
    server.model = {**server.model, "model": "model-2", "space": "space-2"}
    for article in server.articles.values():
        article["topic"] = 5
    client.clicked("N2")
    client.refresh()
    clock.next_epoch()
    client.front(3)
    last = bodies(server, "/v1/recommend")[-1]
    assert last["space"] == "space-2"
    assert [sketch["epoch"] for sketch in last["sketches"]] == [11]


class TestOtherTerms:
    """What a publisher may not do, and what a device does then."""

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"epsilon": {"sketch": 5.0, "label": 5.0, "lifetime": 9.0}}, "cost more than the lifetime"),
            ({"epsilon": {"sketch": 1e-9, "label": 0.0, "lifetime": 1.0}}, "this device takes 0, or 0.001"),
            ({"epsilon": {"sketch": 1e6, "label": 0.0, "lifetime": 1e6}}, "out of range"),
            ({"schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": 3600}}, "out of range"),
            ({"schedule": {"start": "2026-02-31T00:00:00+00:00", "length_seconds": WEEK}}, "no date"),
            ({"schedule": {"start": "2099-01-01T00:00:00+00:00", "length_seconds": WEEK}}, "begins on 2099"),
            ({"vectors": {"dimension": 8, "scale": 0.1, "unit": 1.0, "centre": [0.0]}}, "1 numbers"),
            ({"api": 1}, "model.api"),
        ],
    )
    def test_terms_that_are_no_promise_are_refused_with_a_reason(
        self, server: PublisherServer, client: ReaderClient, change: dict[str, object], reason: str
    ) -> None:
        before = client.device.terms
        server.model = {**server.model, **change}
        problem = client.refresh().problem
        assert problem is not None
        assert reason in problem
        assert "\n" not in problem
        assert client.device.terms == before

    def test_a_hidden_number_of_clicks_stays_hidden(self, tmp_path: Path, clock: Clock) -> None:
        server = PublisherServer(adjacency="add/remove")
        client = client_of(server, tmp_path, clock)
        client.refresh()
        client.clicked("N1")
        clock.next_epoch()
        client.front()
        server.model = {**server.model, "adjacency": "substitute"}
        client.refresh()
        client.front()
        client.send_due()
        first, second = bodies(server, "/v1/recommend")
        assert [sketch["clicks"] for sketch in first["sketches"]] == [None]
        assert second["sketches"] == first["sketches"]
        assert [report["clicks"] for report in bodies(server, "/v1/reports")] == [None]
        assert "adjacency" in str(client.status.problem)

    def test_old_releases_serve_as_they_were_made(
        self, server: PublisherServer, client: ReaderClient, clock: Clock
    ) -> None:
        client.clicked("N1")
        clock.next_epoch()
        client.front()
        server.model = {**server.model, "adjacency": "add/remove"}
        client.refresh()
        clock.next_epoch()
        client.front()
        first, second = bodies(server, "/v1/recommend")
        assert second == first

    def test_a_readers_limit_holds_over_all_terms(
        self, server: PublisherServer, client: ReaderClient, clock: Clock
    ) -> None:
        client.settings = ReaderSettings(epsilon=0.5)
        for sketch, label in ((0.1, 0.4), (0.5, 0.0)) * 2:
            server.model = {**server.model, "epsilon": {"sketch": sketch, "label": label, "lifetime": 1.0}}
            client.refresh()
            client.clicked("N1", client.front().slate)
            client.front()
            client.send_due()
            if label == 0:
                clock.next_epoch()
                client.send_due()
        assert 0 < client.device.statement().ledger.worst.epsilon <= 0.5

    def test_a_sketch_above_the_readers_limit_is_not_sent(
        self, server: PublisherServer, client: ReaderClient, clock: Clock
    ) -> None:
        client.clicked("N1")
        clock.next_epoch()
        assert [sketch.epsilon for sketch in client.device.sketches()] == [0.7]
        client.settings = ReaderSettings(epsilon=0.5)
        server.model = {**server.model, "epsilon": {"sketch": 0.5, "label": 0.0, "lifetime": 1.0}}
        client.refresh()
        client.front()
        client.send_due()
        assert [body["sketches"] for body in bodies(server, "/v1/recommend")] == [[]]
        assert bodies(server, "/v1/reports") == []

    def test_a_sketch_that_was_planned_is_made_now_or_never(
        self,
        server: PublisherServer,
        client: ReaderClient,
        tmp_path: Path,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        client.clicked("N1")
        clock.next_epoch()
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "release", _killed)
            with pytest.raises(KeyboardInterrupt):
                client.send_due()
        for change in ({"adjacency": "add/remove"}, {}):
            server.model = {**PublisherServer().model, **change}
            again = client_of(server, tmp_path, clock)
            again.refresh()
            assert again.send_due() == 0
            assert again.device.statement().ledger.debits == ()


def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


class TestClocks:
    def test_a_clock_that_was_nine_years_ahead(self, server: PublisherServer, tmp_path: Path) -> None:
        clock = Clock(10 + 9 * 52)
        client = client_of(server, tmp_path, clock)
        client.refresh()
        client.clicked("N1", client.front().slate)
        client.send_due()
        clock.next_epoch(-9 * 52)
        client = client_of(server, tmp_path, clock)
        client.refresh()
        client.clicked("N2")
        clock.next_epoch()
        assert client.send_due() == 1
        assert [report["epoch"] for report in server.reports.values()] == [10]

    @pytest.mark.parametrize("adjacency", ["substitute", "add/remove"])
    def test_an_epoch_that_comes_again_is_not_told_again(self, tmp_path: Path, adjacency: str) -> None:
        server, clock = PublisherServer(adjacency=adjacency), Clock()
        client = client_of(server, tmp_path, clock)
        client.refresh()
        client.clicked("N1")
        clock.next_epoch()
        assert client.send_due() == 1
        clock.next_epoch(-1)
        client.clicked("N2")
        clock.next_epoch()
        assert client.send_due() == 0
        assert len(client.device.statement().ledger.debits) == 1

    def test_a_clock_before_the_first_epoch(self, server: PublisherServer, client: ReaderClient, clock: Clock) -> None:
        clock.now = 0
        client.clicked("N1", client.front().slate)
        assert client.refresh().problem is not None
        client.send_due()


def test_a_deleted_ledger_tells_nothing_again(
    server: PublisherServer, client: ReaderClient, tmp_path: Path, clock: Clock
) -> None:
    client.clicked("N1", client.front().slate)
    shutil.rmtree(tmp_path / "ledger")
    again = client_of(server, tmp_path, clock)
    assert again.device.recovered
    again.front()
    clock.next_epoch()
    assert again.send_due() == 0
    again.clicked("N2")
    clock.next_epoch()
    assert again.send_due() == 1


def test_forgetting_leaves_nothing_that_a_server_handed_out(
    server: PublisherServer, client: ReaderClient, tmp_path: Path
) -> None:
    client.clicked("N1", client.front().slate)
    client.forget()
    server.sent.clear()
    assert client.front().articles == []
    assert client.send_due() == 0
    assert server.sent == []
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    for mark in (b"space-1", b"model-1", b"Title of N3", server.pages()[0][0].encode(), b"signed-1"):
        assert not any(mark in data for data in files), mark
    assert client.refresh().articles == 40
    assert len(client.front().articles) == 20


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


def test_other_addresses_than_http_are_refused() -> None:
    with pytest.raises(DiscreetError, match="http"):
        over_http("GET", "file:///etc/hosts", {}, None)
