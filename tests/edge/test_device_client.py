"""The client: what it fetches, and how it bears a server that is away or talks nonsense."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import pytest
from device_server import PublisherServer, bodies, serving
from device_tools import Clock, client_of

from discreet.edge.reader.http_client import HttpReply, over_http
from discreet.edge.reader.reader_client import ReaderClient
from discreet.errors import DiscreetError
from discreet.privacy.release import Release
from discreet.protocol.check import limits


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
    assert not any(headers for _, _, headers, _ in server.sent), "no header is echoed"


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


def test_other_addresses_than_http_are_refused() -> None:
    with pytest.raises(DiscreetError, match="http"):
        over_http("GET", "file:///etc/hosts", {}, None)
