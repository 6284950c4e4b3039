"""The socket between a node's host and its relays."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.nodes.configuration import NodeSettings
from discreet.nodes.host_socket import NoAnswer, ask_host, listens, serve_host

ENOUGH = 120.0  # seconds; no test waits so long for anything but a hang


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """As a node in a folder of this path, which may be long, would have it."""
    return NodeSettings(tmp_path / "node-1", 1, tmp_path).socket


@contextmanager
def hosted(path: Path, answer: Callable[[bytes], bytes]) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=serve_host, args=(path, answer, stop))
    thread.start()
    try:
        while not listens(path):
            assert thread.is_alive()
            time.sleep(0.01)
        yield
    finally:
        stop.set()
        thread.join()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests=st.lists(st.binary(max_size=5000), min_size=1, max_size=4))
def test_every_request_gets_its_own_answer(path: Path, requests: list[bytes]) -> None:
    with hosted(path, lambda request: request[::-1] + b"!"):
        assert [ask_host(path, request, ENOUGH) for request in requests] == [r[::-1] + b"!" for r in requests]
    assert not path.exists()


def test_large_messages_pass(path: Path) -> None:
    large = bytes(range(256)) * 40_000
    with hosted(path, lambda request: request):
        assert ask_host(path, large, ENOUGH) == large


@pytest.mark.parametrize("sent", [b"", b"\0\0\0", struct.pack(">Q", 1000) + b"half", struct.pack(">Q", 2**60)])
def test_a_relay_that_dies_in_mid_message_costs_nothing_else(path: Path, sent: bytes) -> None:
    with hosted(path, lambda request: request):
        for _ in range(3):
            with socket.socket(socket.AF_UNIX) as wire:
                wire.connect(str(path))
                wire.sendall(sent)
        assert ask_host(path, b"still there?", ENOUGH) == b"still there?"


def test_a_relay_that_does_not_wait_for_its_answer_costs_nothing_else(path: Path) -> None:
    with hosted(path, lambda request: request * 100_000):
        with socket.socket(socket.AF_UNIX) as wire:
            wire.connect(str(path))
            wire.sendall(struct.pack(">Q", 10) + b"0123456789")
        assert ask_host(path, b"a", ENOUGH) == b"a" * 100_000


def test_a_host_that_fails_to_answer_goes_on(path: Path) -> None:
    def answer(request: bytes) -> bytes:
        if request == b"bad":
            raise ZeroDivisionError
        return request

    with hosted(path, answer):
        with pytest.raises(NoAnswer):
            ask_host(path, b"bad", ENOUGH)
        assert ask_host(path, b"good", ENOUGH) == b"good"


def test_patience_ends(path: Path) -> None:
    done = threading.Event()

    def answer(request: bytes) -> bytes:
        done.wait()
        return request

    with hosted(path, answer):
        try:
            with pytest.raises(NoAnswer, match="timed out"):
                ask_host(path, b"slow", 0.3)
            assert listens(path), "busy, but there"
        finally:
            done.set()


def test_nobody_there(path: Path) -> None:
    assert not listens(path)
    with pytest.raises(NoAnswer):
        ask_host(path, b"", 1.0)


def test_only_the_owner_reaches_the_socket(path: Path) -> None:
    with hosted(path, lambda request: request):
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0
    path.parent.chmod(0o755)
    with pytest.raises(DiscreetError, match="chmod 700"):
        serve_host(path, lambda request: request, threading.Event())


def test_two_hosts_of_one_node_are_refused_but_a_dead_ones_socket_is_taken_over(path: Path) -> None:
    with hosted(path, lambda request: request), pytest.raises(DiscreetError, match="another host"):
        serve_host(path, lambda request: request, threading.Event())
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with hosted(path, lambda request: b"new"):
        assert ask_host(path, b"", ENOUGH) == b"new"
