"""The Python device against the real server: everything that it sends is taken."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from discreet.edge.reader.reader_client import ReaderClient

served_world = pytest.importorskip("served_world", reason="the server's dependencies are not installed")


class Later:
    """The time now, some epochs on."""

    seconds = 0

    def __call__(self) -> float:
        return time.time() + self.seconds


def test_a_week_with_the_real_server(tmp_path: Path) -> None:
    with served_world.running_server() as url:
        clock = Later()
        client = ReaderClient(url, tmp_path, clock=clock)
        assert client.refresh().problem is None
        assert client.status.articles > 0
        front = client.front(10)
        assert len(front.articles) == 10
        assert front.slate is not None
        client.clicked(front.articles[3].article.id, front.slate)
        assert client.front(10).slate != front.slate
        assert client.send_due() == 1, "the label"
        clock.seconds = client.device.terms.schedule.length_seconds
        assert client.send_due() == 1, "the sketch"
        assert client.status.problem is None
        again = client.front(10)
        assert client.status.problem is None
        assert again.slate is not None
        assert front.articles[3].article.id not in [shown.article.id for shown in again.articles]
