"""The door of the server: limits on size, rate and number of requests, the headers of every answer, and metrics.

One plain ASGI layer, because it is passed by every request. Addresses are held in memory for the limits alone, and
forgotten as soon as their bucket is full again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.serving.addresses import Proxies
from discreet.serving.admin_token import AdminToken
from discreet.serving.connections import Crowd
from discreet.serving.foreign_pages import ForeignPages, Headers
from discreet.serving.limits import ServerLimits
from discreet.serving.logs import log_exception, log_seldom
from discreet.serving.rate import Buckets
from discreet.serving.refusal import RequestRefusal
from discreet.serving.status_metrics import StatusMetrics
from discreet.serving.workers import METRICS_FOLDER

CLIENT_GONE = 499  # counted, and never sent: there is nobody to send it to
MISTAKE = "the server made a mistake; its operator can find it in the log"
_ROUTES = (
    "/v1/model",
    "/v1/catalogue",
    "/v1/recommend",
    "/v1/reports",
    "/v1/admin/articles",
    "/v1/admin/status",
    "/v1/admin/models",
    "/healthz",
    "/readyz",
    "/metrics",
)
_RESERVED = ("/v1/recommend", "/healthz", "/readyz")
_CONTENT_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), browsing-topics=()"),
]
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Metrics:
    """What /metrics shows: how many requests, how long they took; nothing of who sent them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        every = self.registry
        self.requests = Counter("discreet_requests", "Requests answered.", ["route", "status"], registry=every)
        self.seconds = Histogram("discreet_seconds", "Time to answer.", ["route"], buckets=_BUCKETS, registry=every)
        self.refused = Counter("discreet_refused", "Requests refused at the door.", ["status"], registry=every)
        self.articles = self._gauge("discreet_articles", "Articles in the catalogue.")
        self.revision = self._gauge("discreet_catalogue_revision", "The catalogue's latest change.")
        self.reports = Counter("discreet_reports", "Reports kept.", ["kind"], registry=every)
        self.feed_read = self._gauge("discreet_feed_read_time", "When a feed was last read.", "feed")
        self.feed_failures = self._gauge("discreet_feed_failures", "Failures of a feed since.", "feed")
        self.status = StatusMetrics(self._gauge)
        self._by_route: dict[tuple[str, int], tuple[Any, Any]] = {}

    def refusals(self) -> dict[str, int]:
        """How many requests were refused since the start, by status."""
        found: dict[str, int] = {}
        for metric in (self.refused, self.requests):
            for sample in next(iter(metric.collect())).samples:
                status = sample.labels.get("status", "")
                if sample.name.endswith("_total") and status >= "400":
                    key = f"HTTP {status}"
                    found[key] = found.get(key, 0) + int(sample.value)
        return found

    def shown(self) -> bytes:
        """All of them, for Prometheus; of several workers, what they add up to."""
        if METRICS_FOLDER not in os.environ:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """Of several workers, the one that set it last counts."""
        return Gauge(name, text, labels, registry=self.registry, multiprocess_mode="mostrecent")

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request. Unknown paths count together, so that nobody can fill the memory with names."""
        key = path, status
        found = self._by_route.get(key)
        if found is None:
            route = (
                path
                if path in _ROUTES
                else next((r for r in ("/v1/admin", "/v1/catalogue/", "/web") if path.startswith(r)), "other")
            )
            found = self.requests.labels(route, status), self.seconds.labels(route)
            if path in _ROUTES:
                self._by_route[key] = found
        found[0].inc()
        found[1].observe(seconds)


class Gate:
    """Passes a request on if it may pass, and dresses the answer. Those in `direct` skip the layers of `app`.

    A direct GET has its answer ready and waits for nothing, so it is not among the requests that are worked on at once.

    `connect` are the origins that pages from here may ask besides this one, `foreign` the pages that may ask here.
    `token` is the administrator's.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: ServerLimits,
        metrics: Metrics,
        proxies: Proxies,
        direct: Mapping[tuple[str, str], ASGIApp] | None = None,
        connect: Sequence[str] = (),
        foreign: ForeignPages | None = None,
        token: AdminToken | None = None,
    ) -> None:
        self._direct = direct or {}
        self._polled = frozenset(asked for asked in self._direct if asked[0] == "GET")
        self._foreign = foreign or ForeignPages()
        more = f"; connect-src 'self' {' '.join(connect)}" if connect else ""
        self._headers = [(b"content-security-policy", (_CONTENT_POLICY + more).encode()), *_HEADERS]
        self._app, self._limits, self._metrics, self._proxies = app, limits, metrics, proxies
        self.crowd = Crowd(limits, proxies)
        self._inside = 0
        self._buckets = Buckets(limits.rate, limits.burst)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request (or the server's start and stop)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, path = time.perf_counter(), scope["path"]
        address, of_admin = self._proxies.client_of(scope), path.startswith("/v1/admin/")
        headers = [*self._headers, *self._foreign.headers(scope)]
        visit = _Visit(receive, send, self._limits.max_admin_body if of_admin else self._limits.max_body, headers)
        refusal = self._refusal(scope, visit.max_body, address)
        if refusal is not None:
            await _refuse(visit.send, *refusal)
            self._metrics.refused.labels(str(refusal[0])).inc()
            return
        if (allowed := self._foreign.preflight(scope)) is not None:
            await _answer(send, 204, b"", [*self._headers, *allowed])
            return
        self._inside += 1
        logged = False
        try:
            app = self._direct.get((scope["method"], path), self._app)
            await app(scope, visit.receive, visit.send)
        except Exception:
            if not visit.gone:
                logged = True
                log_exception("a request failed", method=scope["method"])
                if not visit.started:
                    await _refuse(visit.send, 500, MISTAKE)
        finally:
            self._inside -= 1
            self._metrics.count(path, visit.status, time.perf_counter() - began)
            if visit.status >= 500 and not logged:
                log_seldom("warning", "answered with an error", status=visit.status)
            if visit.status == 401:
                log_seldom("warning", "a login failed")

    def _refusal(self, scope: Scope, max_body: int, address: str) -> tuple[int, str, bool, int | None] | None:
        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value) > max_body):
                return 413, f"the body is larger than {max_body} bytes", True, None
        most = self._limits.max_concurrent
        if (
            (scope["method"], scope["path"]) not in self._polled
            and self._inside >= (most if scope["path"] in _RESERVED else most * 3 // 4)
            and not self.crowd.drop_slowest_sender()
        ):
            return 503, "the server is busy; try again in a moment", False, 1
        operator = self._token is not None and self._token.is_in(scope)  # whom nobody of his address shuts out
        if self._limits.rate and not operator and not self._buckets.take(address):
            return 429, "too many requests from this address; try again in a moment", False, 1
        return None


class _Visit:
    """One request on its way: its body up to a limit, its answer with our headers, and whether its client hung up."""

    def __init__(self, receive: Receive, send: Send, max_body: int, headers: Headers) -> None:
        self._receive, self._send, self.max_body, self._headers = receive, send, max_body, headers
        self.status, self.started, self.gone = 500, False, False
        self._received = 0

    async def receive(self) -> Message:
        """A part of the body; refused if there is too much of it."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            if not self.started:
                self.status, self.gone = CLIENT_GONE, True
            return message
        self._received += len(message.get("body", b""))
        if self._received > self.max_body:
            raise RequestRefusal(413, f"the body is larger than {self.max_body} bytes")
        return message

    async def send(self, message: Message) -> None:
        """A part of the answer."""
        if self.gone:
            return
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            own = {name for name, _ in message["headers"]} - {b"vary"}
            message["headers"] = [*message["headers"], *(one for one in self._headers if one[0] not in own)]
        await self._send(message)


async def _refuse(send: Send, status: int, problem: str, close: bool = False, retry_after: int | None = None) -> None:
    body = json.dumps({"error": problem}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if close:
        headers.append((b"connection", b"close"))
    if retry_after is not None:
        headers.append((b"retry-after", str(retry_after).encode()))
    await _answer(send, status, body, headers)


async def _answer(send: Send, status: int, body: bytes, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
