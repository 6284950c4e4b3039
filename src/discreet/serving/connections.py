"""One connection, from when it is accepted: what may come, how slowly, and what is cut off.

uvicorn has no limit on TLS handshakes, on headers, on waiting, or on readers that do not read. This protocol counts
what comes besides bodies, and notes since when each connection waits; once a second the crowd of all connections is
looked over. It begins TLS itself, so that a connection has its place, and its time, before the handshake.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from discreet.serving.addresses import Proxies, household
from discreet.serving.limits import ServerLimits

_SWEEP_SECONDS = 1.0


class Crowd:
    """All connections of a server. Where there are too many, those go that have waited longest for their own client."""

    def __init__(self, limits: ServerLimits, proxies: Proxies) -> None:
        self.limits, self._proxies = limits, proxies
        self.waiting: dict[Connection, None] = {}  # for a whole request, the longest first
        self.sending: dict[Connection, None] = {}  # those of them with a half-sent body
        self._all: set[Connection] = set()
        self._of: dict[str, dict[Connection, None]] = {}  # by address, in the order of their coming
        self.handshakes: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._all)

    def join(self, new: Connection) -> bool:
        """Take a connection in; False if there is no place, and nobody waits who could be sent away."""
        same = self._of.get(new.household, ())
        too_many = not new.trusted and len(same) >= self.limits.max_connections_of_one
        if too_many and not _drop(min((one for one in same if one in self.waiting), key=_since, default=None)):
            return False
        if len(self._all) >= self.limits.max_connections and not _drop(next(iter(self.waiting), None)):
            return False
        self._all.add(new)
        self._of.setdefault(new.household, {})[new] = None
        self.waiting[new] = None
        if self._timer is None:
            self._timer = new.loop.call_later(_SWEEP_SECONDS, self._sweep, new.loop)
        return True

    def leave(self, one: Connection) -> None:
        """Forget a connection."""
        self._all.discard(one)
        self.waiting.pop(one, None)
        self.sending.pop(one, None)
        same = self._of.get(one.household)
        if same is not None:
            same.pop(one, None)
            if not same:
                del self._of[one.household]

    def drop_slowest_sender(self) -> bool:
        """Cut off the body that has been coming for longest; False if none is half-sent."""
        return _drop(next(iter(self.sending), None))

    def trusts(self, address: str) -> bool:
        """Whether an address is a proxy, which may have as many connections as it likes."""
        return self._proxies.trusts(address)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now, unsent = loop.time(), 0
        readers: list[tuple[int, Connection]] = []
        for one in list(self._all):
            size = one.unsent()
            if one.is_too_slow(now, size):
                _drop(one)
            elif size:
                unsent += size
                readers.append((size, one))
        for size, one in sorted(readers, key=lambda pair: -pair[0]):
            if unsent <= self.limits.max_unsent:
                break
            _drop(one)
            unsent -= size
        self._timer = loop.call_later(_SWEEP_SECONDS, self._sweep, loop) if self._all else None


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with limits; with a context it speaks TLS."""

    def __init__(self, crowd: Crowd, tls: ssl.SSLContext | None = None, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._crowd, self._limits, self._tls = crowd, crowd.limits, tls
        self._below: asyncio.Transport | None = None  # of TCP, under TLS
        self._early: list[bytes] | None = None  # what came before the handshake was known to be over
        self.household, self.trusted = "", False
        self.since = 0.0  # when it began to wait for what it waits for now
        self._allowed = crowd.limits.max_silent_seconds
        self._idle, self._closed, self._ignores_input = True, False, False
        self._head = self._body = 0  # bytes of this request: all but its body, and its body
        self._refusal = 400, "this is not an HTTP request"
        self._unsent, self._unsent_since, self._resumed = 0, 0.0, False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, or go; then begin TLS or HTTP."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        self.household, self.trusted = household(address), self._crowd.trusts(address)
        self.since = self.loop.time()
        if not self._crowd.join(self):
            self.drop()
        elif self._tls is not None:
            self._allowed = self._limits.max_head_seconds
            transport.pause_reading()  # until TLS reads
            handshake = self.loop.create_task(self._begin_tls(transport, self._tls))
            self._crowd.handshakes.add(handshake)
            handshake.add_done_callback(self._crowd.handshakes.discard)

    async def _begin_tls(self, below: asyncio.Transport, tls: ssl.SSLContext) -> None:
        if self._closed:
            return
        self._below, self._early, transport = below, [], None
        with contextlib.suppress(OSError, asyncio.CancelledError):  # ssl's errors are among them
            transport = await self.loop.start_tls(below, self, tls, server_side=True)
        if transport is None or self._closed:
            below.abort()
            self.connection_lost(None)
            return
        super().connection_made(transport)
        self._allowed, self.since = self._limits.max_silent_seconds, self.loop.time()
        early, self._early = self._early, None
        for data in early:
            self.data_received(data)

    def unsent(self) -> int:
        """Bytes that wait for the client to read."""
        below = 0 if self._below is None else self._below.get_write_buffer_size()
        return below + self.transport.get_write_buffer_size()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the place to another."""
        self._crowd.leave(self)
        self._closed = True
        for cycle, _ in self.pipeline:
            cycle.disconnected = True
        super().connection_lost(exc)

    def drop(self) -> None:
        """Cut the connection off, with whatever was to be sent."""
        self._crowd.leave(self)
        self._closed = True
        self.transport.abort()

    def shutdown(self) -> None:
        """Finish what is being answered, and wait for nobody's request."""
        if self in self._crowd.waiting:
            self.drop()
        else:
            super().shutdown()

    def is_too_slow(self, now: float, unsent: int) -> bool:
        """Whether its client sends or reads so slowly that the connection is better used by another."""
        limits = self._limits
        if not unsent:
            self._unsent = 0
            waited = now - self.since if self in self._crowd.waiting else 0.0
            return waited > self._allowed + self._body / limits.min_bytes_per_second
        self.since = now  # who reads an answer is not idle
        if not self._unsent or now - self._unsent_since > limits.max_silent_seconds:
            taken = self._unsent - unsent
            least = limits.min_bytes_per_second * limits.max_silent_seconds
            if self._unsent and not self._resumed and taken < least:
                return True
            self._unsent, self._unsent_since, self._resumed = unsent, now, False
        return False

    # What comes

    def data_received(self, data: bytes) -> None:
        """Bytes from the client: parsed, counted, and refused as soon as there are too many of them."""
        if self._early is not None:
            self._early.append(data)
            return
        if self._closed or self._ignores_input:
            return
        self._unset_keepalive_if_required()
        if self._idle:
            self._idle, self._allowed, self.since = False, self._limits.max_head_seconds, self.loop.time()
        self._head += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # no other protocol is spoken here: this request is answered, and no more
            self._ignores_input = True
            self.cycle.keep_alive = False
        except httptools.HttpParserError:
            self._refuse(*self._refusal)
            return
        if self._head > self._limits.max_head:
            self._refuse(431, f"more than {self._limits.max_head} bytes of headers")
        elif self._body > self._limits.max_admin_body:
            self.drop()

    def on_headers_complete(self) -> None:
        """The headers are there: the request begins, unless they are too many."""
        limits = self._limits
        if len(self.headers) > limits.max_headers:
            self._refusal = 431, f"more than {limits.max_headers} headers"
        elif len(self.url) > limits.max_url:
            self._refusal = 414, f"the address is longer than {limits.max_url} bytes"
        elif len(self.pipeline) >= limits.max_pipelined:
            self._refusal = 429, f"more than {limits.max_pipelined} requests wait on this connection"
        else:
            self._allowed, self.since = limits.max_silent_seconds, self.loop.time()
            super().on_headers_complete()
            self._crowd.sending[self] = None
            return
        raise ValueError(self._refusal[1])

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        self._head -= len(body)
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The whole request is there: from here on the client waits for the server."""
        self._head = self._body = 0
        self._idle = True
        crowd = self._crowd
        crowd.sending.pop(self, None)
        if not self.cycle.response_complete:
            crowd.waiting.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer was given: the server waits for the client again."""
        super().on_response_complete()
        if self._closed or (self._idle and not self.cycle.response_complete):
            return
        if self.cycle.response_complete:
            self._crowd.sending.pop(self, None)
            self._allowed = self._limits.max_silent_seconds
        self.since = self.loop.time()
        self._crowd.waiting[self] = None

    def resume_writing(self) -> None:
        """The client has read a good part of what waited for it."""
        self._resumed = True
        super().resume_writing()

    def _refuse(self, status: int, problem: str) -> None:
        """Say no and close; where another answer is under way, only close."""
        if self.cycle is None or self.cycle.response_complete:
            body = json.dumps({"error": problem}).encode()
            head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
            self.transport.write(STATUS_LINE[status] + head + body)
            self._closed = True
            self.transport.close()
        else:
            self.drop()


def _since(one: Connection) -> float:
    return one.since


def _drop(one: Connection | None) -> bool:
    if one is None:
        return False
    one.drop()
    return True
