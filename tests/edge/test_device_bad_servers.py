"""A device over HTTP against a server that answers nonsense: one line in `status`, and what was there stays in use."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from device_server import PublisherServer, serving
from device_tools import Clock, client_of

from discreet.edge.reader.http_client import over_http
from discreet.edge.reader.reader_client import ReaderClient
from discreet.protocol.check import limits


@contextmanager
def answering(*answers: bytes) -> Iterator[str]:
    """A server that reads a request, sends these bytes, whatever they are, and hangs up; the last ones for ever."""
    listener = socket.create_server(("127.0.0.1", 0))
    waiting = list(answers)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    connection.recv(65536)
                    connection.sendall(waiting.pop(0) if len(waiting) > 1 else waiting[0])
                except OSError:
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


BOMB = gzip.compress(bytes(limits.max_answer_bytes + 2))
BAD = {
    "nothing": b"",
    "no HTTP": b"hello\r\n\r\n",
    "a status that is no number": b"HTTP/1.1 abc OK\r\n\r\n",
    "a status of five digits": b"HTTP/1.1 99999 OK\r\n\r\n",
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{",
    "a length that is no number": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}",
    "a length beyond all numbers": b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n{}",
    "a bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "half a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{}",
    "a header without end": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
    "too many headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
    "deep nesting": b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 200_000,
    "no gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n{}",
    "half a gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}" * 99)[:-5],
    "a gzip bomb": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + BOMB,
    "a redirection": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/mark\r\n\r\n",
    "not modified": b"HTTP/1.1 304 Not Modified\r\n\r\n",
    "a status below 200": b"HTTP/1.1 199 Hm\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD)
def test_one_line_and_the_old_state(tmp_path: Path, name: str) -> None:
    server, clock = PublisherServer(), Clock()
    client_of(server, tmp_path, clock).refresh()
    with answering(BAD[name]) as url:
        client = ReaderClient(url, tmp_path, clock=clock)
        problem = client.refresh().problem
        assert problem is not None
        assert "\n" not in problem
        assert client.status.articles == 40
        assert len(client.front(5).articles) == 5
        client.clicked("N1", client.front(5).slate)
        clock.next_epoch()
        taken = client.send_due()
    assert taken + client_of(server, tmp_path, clock).send_due() == 1, "a report is taken once, now or later"


def test_compressed_answers_are_read(tmp_path: Path) -> None:
    body = gzip.compress(b'{"error": "as agreed"}')
    head = b"HTTP/1.1 422 No\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    with answering(head + body) as url:
        assert over_http("GET", url, {}, None).error() == "as agreed"


def test_redirections_are_not_followed() -> None:
    server = PublisherServer()
    with serving(server) as other:
        head = f"HTTP/1.1 302 Found\r\nLocation: {other}/v1/model\r\n\r\n".encode()
        with answering(head) as url:
            assert over_http("GET", url, {}, None).status == 302
    assert server.sent == []
