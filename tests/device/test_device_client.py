"""The client: what it fetches, asks and sends, and how it bears a server that is away or talks nonsense."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from device_server import PublisherServer, serving
from device_tools import Clock, client_of

from discreet.device.client import Client
from discreet.device.settings import Settings
from discreet.device.transport import Reply, over_http
from discreet.errors import DiscreetError
from discreet.privacy.release import Release


@pytest.fixture
def server() -> PublisherServer:
    return PublisherServer()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(server: PublisherServer, tmp_path: Path, clock: Clock) -> Client:
    client = client_of(server, tmp_path, clock)
    client.refresh()
    return client


def bodies(server: PublisherServer, path: str) -> list[dict[str, object]]:
    return [json.loads(body) for _, url, _, body in server.sent if url.endswith(path)]


def test_a_whole_life_over_http(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    with serving(server) as url:
        client = Client(url, tmp_path, clock=clock)
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


def test_only_what_is_new_is_fetched(server: PublisherServer, client: Client) -> None:
    server.sent.clear()
    client.refresh()
    client.refresh()
    assert ["since=40" in url for _, url, _, _ in server.sent if "articles" in url] == [True, True]
    model = server("GET", "/v1/model", dict(server.sent[0][2]), None)
    assert model.status == 304
    server.publish("N40", "food", 1, bytes(8), 5.0)
    server.remove("N0")
    assert client.refresh().articles == 40
    assert client.front(1).articles[0].article.id == "N40"


def test_a_large_catalogue_comes_in_pages(tmp_path: Path, clock: Clock) -> None:
    server = PublisherServer(articles=1203)
    assert client_of(server, tmp_path, clock).refresh().articles == 1203
    assert sum("articles" in url for _, url, _, _ in server.sent) == 3


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


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"api": 1}', b'{"api": 2, "epsilon": 3}'])
def test_nonsense_is_a_problem_and_not_an_exception(server: PublisherServer, client: Client, body: bytes) -> None:
    server.answers_with = Reply(200, body, {})
    assert client.refresh().problem is not None
    assert client.front(3).ranking == "local"
    server.answers_with = None
    assert client.refresh().problem is None
    assert client.front(3).ranking == "shortlist"


def test_a_lost_answer_is_retried_with_the_same_bytes(server: PublisherServer, client: Client, clock: Clock) -> None:
    client.clicked("N1")
    clock.next_epoch()
    server.answers_with = Reply(503, b'{"error": "busy"}', {})
    assert client.send_due() == 0
    server.answers_with = None
    assert client.send_due() == 1
    sent = [body for _, url, _, body in server.sent if url.endswith("/v1/reports")]
    assert len(sent) == 2
    assert sent[0] == sent[1]


def test_a_refused_report_is_not_sent_for_ever(server: PublisherServer, client: Client, clock: Clock) -> None:
    client.clicked("N1")
    clock.next_epoch()
    server.answers_with = Reply(409, b'{"error": "another space"}', {})
    assert client.send_due() == 0
    assert client.status.problem is not None
    assert "another space" in client.status.problem
    server.answers_with = None
    server.sent.clear()
    assert client.send_due() == 0
    assert bodies(server, "/v1/reports") == []


def test_a_new_space_begins_a_new_catalogue(server: PublisherServer, client: Client, clock: Clock) -> None:
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


def test_local_ranking_asks_for_nothing_personal(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    server.model["ranking"] = "local"
    client = client_of(server, tmp_path, clock)
    client.refresh()
    assert client.front(5).ranking == "local"
    client.settings = Settings(epsilon=0.0)
    client.clicked("N1")
    clock.next_epoch()
    assert client.send_due() == 0
    assert {method for method, _, _, _ in server.sent} == {"GET"}


def test_a_reader_with_epsilon_0_is_silent_under_any_ranking(
    server: PublisherServer, client: Client, clock: Clock
) -> None:
    client.settings = Settings(epsilon=0.0)
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


def test_open_counts_are_sent_only_if_there_are_any(server: PublisherServer, client: Client) -> None:
    client.front(3)
    client.settings = Settings(open_categories=frozenset({"sports"}))
    client.clicked("N4")
    client.front(3)
    first, second = bodies(server, "/v1/recommend")
    assert "open" not in first
    assert second["open"] == [0, 0, 0, 0, 1, 0]


def test_no_article_that_was_read_is_named_by_the_device(server: PublisherServer, client: Client) -> None:
    server.articles["N39"]["base"] = -9.0
    client.clicked("N39")
    client.front(5, category="sports")
    client.send_due()
    assert not any("N39" in body for _, _, _, body in server.sent)


def test_other_addresses_than_http_are_refused() -> None:
    with pytest.raises(DiscreetError, match="http"):
        over_http("GET", "file:///etc/hosts", {}, None)
