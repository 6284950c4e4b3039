"""A publisher's server, a clock, a client that has fetched terms and catalogue, and a device."""

from __future__ import annotations

from pathlib import Path

import pytest
from device_server import PublisherServer
from device_tools import Clock, client_of, device_of

from discreet.edge.reader.device import Device
from discreet.edge.reader.reader_client import ReaderClient


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


@pytest.fixture
def device(server: PublisherServer, tmp_path: Path, clock: Clock) -> Device:
    return device_of(server, tmp_path, clock)


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random bytes that make discrete Laplace noise 0, so that a release shows what it was computed from."""
    monkeypatch.setattr("discreet.privacy.noise.urandom", bytes)
