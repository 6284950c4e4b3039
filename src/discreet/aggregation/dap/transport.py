"""How a party asks an aggregator: HTTP with the standard library alone, for a server that may answer anything."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from discreet.aggregation.dap.messages import media_type
from discreet.aggregation.dap.problems import ProblemType, problem_type
from discreet.aggregation.dap.wire import Message
from discreet.errors import DiscreetError, InputError

MAX_ANSWER = 1 << 26
SECONDS = 120.0
"""How long one question and its whole answer may take."""
POLL_SECONDS = 600.0
_AT_ONCE = 1 << 16
_MAX_RETRY_SECONDS = 30.0


class PeerError(DiscreetError):
    """An aggregator that could not be asked, or did not answer as it should. The same request may be sent again.

    Attributes:
        kind: The draft's type of problem, if the aggregator named one.
        answered: Whether it answered at all.
    """

    def __init__(self, problem: str, kind: ProblemType | None = None, answered: bool = False) -> None:
        super().__init__(problem)
        self.kind, self.answered = kind, answered


@dataclass(frozen=True)
class Reply:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Created:
    """A resource that was asked for."""

    location: str
    body: bytes


class _Deadline:
    """A socket that waits until a deadline, however many operations that takes: a drip of bytes does not extend it."""

    deadline = 0.0

    def recv_into(self, *given: Any) -> int:
        self._limit()
        return int(super().recv_into(*given))  # type: ignore[misc]

    def send(self, *given: Any) -> int:
        self._limit()
        return int(super().send(*given))  # type: ignore[misc]

    def sendall(self, *given: Any) -> None:
        self._limit()
        super().sendall(*given)  # type: ignore[misc]

    def _limit(self) -> None:
        self.settimeout(self.deadline - time.monotonic())  # type: ignore[attr-defined]  # ValueError below 0


class _PlainSocket(_Deadline, socket.socket):
    pass


class _TlsSocket(_Deadline, ssl.SSLSocket):
    pass


class _PlainConnection(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock = _PlainSocket(fileno=self.sock.detach())


class Peer:
    """An aggregator, as others ask it.

    Args:
        url: Where it is.
        token: What authorises requests to it.
        authorities: A file with the certificates that are trusted, for https; by default the system's.
        sleep: How to wait between two questions.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        authorities: Path | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._origin, self._token, self._sleep = urlsplit(self.url)[:2], token, sleep
        self._context = tls_context(authorities) if self._origin[0] == "https" else None
        self._connection: HTTPConnection | None = None
        self._lock = threading.Lock()

    def get(self, path: str, kind: type[Message]) -> bytes:
        """The message that is at a path."""
        return self._checked(self.ask("GET", self.url + path), kind).body

    def create(self, path: str, request: Message | bytes, of: type[Message], kind: type[Message]) -> Created:
        """Create a resource by a request, and wait until the message that it is is there."""
        url = self.url + path
        body = request if isinstance(request, bytes) else request.encode()
        reply = self._checked(self.ask("POST", url, body, media_type(of)), kind)
        location = self._inside(url, reply.headers.get("location", ""))
        deadline = time.monotonic() + POLL_SECONDS
        while not reply.body:
            if time.monotonic() > deadline:
                raise PeerError(f"{self.url}: the answer was not ready in {POLL_SECONDS:g} seconds")
            self._sleep(_retry_after(reply))
            reply = self._checked(self.ask("GET", location), kind)
            location = self._inside(url, reply.headers.get("location", location))
        return Created(location, reply.body)

    def send(self, path: str, request: bytes, of: type[Message], kind: type[Message]) -> bytes:
        """Send a message; the one that is answered, or nothing."""
        return self._checked(self.ask("POST", self.url + path, request, media_type(of)), kind).body

    def delete(self, location: str) -> None:
        """Tell that a resource is not needed any more."""
        self.ask("DELETE", location)

    def ask(self, method: str, url: str, body: bytes | None = None, media: str | None = None) -> Reply:
        """Ask, and read the whole answer. Nothing is followed to another place."""
        headers = {"User-Agent": "discreet-dap"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if media is not None:
            headers["Content-Type"] = media
        with self._lock:
            fresh, deadline = self._connection is None, time.monotonic() + SECONDS
            try:
                return self._exchange(method, url, body, headers, deadline)
            except (OSError, HTTPException, ValueError) as error:
                self._close()
                if fresh:
                    raise PeerError(f"{self.url}: no answer ({type(error).__name__}: {error})") from error
            try:  # a connection that was kept may have been closed meanwhile; all requests can be repeated
                return self._exchange(method, url, body, headers, deadline)
            except (OSError, HTTPException, ValueError) as error:
                self._close()
                raise PeerError(f"{self.url}: no answer ({type(error).__name__}: {error})") from error

    def _exchange(self, method: str, url: str, body: bytes | None, headers: dict[str, str], deadline: float) -> Reply:
        if self._connection is None:
            host, seconds = self._origin[1], max(0.001, deadline - time.monotonic())
            self._connection = (
                _PlainConnection(host, timeout=seconds)
                if self._context is None
                else HTTPSConnection(host, timeout=seconds, context=self._context)
            )
            self._connection.connect()
        connected: Any = self._connection.sock
        connected.deadline = deadline
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        self._connection.request(method, target or "/", body, headers)
        answer = self._connection.getresponse()
        content = bytearray()
        while part := answer.read1(_AT_ONCE):
            content += part
            if len(content) > MAX_ANSWER:
                raise ValueError("the answer is too large")
        if answer.length:
            raise ValueError("the answer ends too early")
        if answer.will_close:
            self._close()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, bytes(content))

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _checked(self, reply: Reply, kind: type[Message]) -> Reply:
        """The reply, if it is a success, empty or of the media type that was asked for."""
        if not 200 <= reply.status < 300:
            problem = _problem(reply)
            raise PeerError(f"{self.url}: answered {reply.status} {problem or ''}".rstrip(), problem, True)
        if reply.body and not is_media_type(reply.headers.get("content-type", ""), media_type(kind)):
            raise PeerError(f"{self.url}: answered with another media type than {media_type(kind)}")
        return reply

    def _inside(self, url: str, location: str) -> str:
        """Where a resource is; an error if it is at another server, which must not see the token."""
        found = urljoin(url, location)
        if urlsplit(found)[:2] != self._origin:
            raise PeerError(f"{self.url}: answered with a location at another server")
        return found


def is_media_type(given: str, wanted: str) -> bool:
    """Whether a header names a media type, with all its parameters."""
    return [part.strip().lower() for part in given.split(";")] == wanted.split(";")


def tls_context(authorities: Path | None) -> ssl.SSLContext:
    """Certificates are always checked."""
    try:
        context = ssl.create_default_context(cafile=authorities)
    except (OSError, ssl.SSLError) as error:
        raise InputError(authorities or "", f"cannot be read as certificates ({error})") from error
    context.sslsocket_class = _TlsSocket
    return context


def _problem(reply: Reply) -> ProblemType | None:
    try:
        return problem_type(json.loads(reply.body))
    except (ValueError, RecursionError):
        return None


def _retry_after(reply: Reply) -> float:
    seconds = reply.headers.get("retry-after", "1")
    return min(float(seconds), _MAX_RETRY_SECONDS) if seconds.isdecimal() else 1.0
