"""The client under other terms, wrong clocks, a deleted ledger and after forgetting."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from device_server import WEEK, PublisherServer, bodies
from device_tools import Clock, client_of

from discreet.edge.reader.reader_client import ReaderClient
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.privacy.ledger import Ledger


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
            (
                {"vectors": {"dimension": 1, "scale": 0.1, "unit": 1.0, "centre": [0.0], "head": [1.0]}},
                "the publisher's head has 1 numbers",
            ),
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
