"""The door of the server: limits on size, rate and number of requests, the headers of every answer, and metrics.

One plain ASGI layer, because it is passed by every request. Addresses are held in memory for the rate limit alone, and
forgotten as soon as their bucket is full again.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.serving.logs import log, log_exception
from discreet.serving.refusal import Refusal

MISTAKE = "the server made a mistake; its operator can find it in the log"
_ROUTES = (
    "/v1/model",
    "/v1/articles",
    "/v1/catalogue",
    "/v1/recommend",
    "/v1/reports",
    "/v1/admin/articles",
    "/healthz",
    "/readyz",
    "/metrics",
)
_CONTENT_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = [
    (b"content-security-policy", _CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), browsing-topics=()"),
]
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


@dataclass(frozen=True)
class Limits:
    """What one server bears.

    Attributes:
        body: The most bytes of a device's request.
        admin_body: The most bytes of an administrator's request.
        concurrent: How many requests are worked on at once; more are told to come back.
        rate: Requests a second that one address may send for long; 0 for any number.
        burst: How many it may send at once.
    """

    body: int = 256 * 1024
    admin_body: int = 8 * 1024 * 1024
    concurrent: int = 512
    rate: float = 50.0
    burst: int = 200


class Metrics:
    """What /metrics shows: how many requests, how long they took; nothing of who sent them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        every = self.registry
        self.requests = Counter("discreet_requests", "Requests answered.", ["route", "status"], registry=every)
        self.seconds = Histogram("discreet_seconds", "Time to answer.", ["route"], buckets=_BUCKETS, registry=every)
        self.refused = Counter("discreet_refused", "Requests refused at the door.", ["status"], registry=every)
        self.articles = Gauge("discreet_articles", "Articles in the catalogue.", registry=every)
        self.revision = Gauge("discreet_catalogue_revision", "The catalogue's latest change.", registry=every)
        self.reports = Counter("discreet_reports", "Reports kept.", ["kind"], registry=every)
        self._by_route: dict[tuple[str, int], tuple[Any, Any]] = {}

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
    """Passes a request on if it may pass, and dresses the answer."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._inside = 0
        self._buckets: dict[str, tuple[float, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request (or the server's start and stop)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, path, status = time.perf_counter(), scope["path"], 500
        limit = self._limits.admin_body if path.startswith("/v1/admin/") else self._limits.body
        started = False

        async def dressed(message: Message) -> None:
            nonlocal started, status
            if message["type"] == "http.response.start":
                started, status = True, message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        refusal = self._refusal(scope, limit)
        if refusal is not None:
            await _refuse(dressed, *refusal)
            self._metrics.refused.labels(str(refusal[0])).inc()
            return
        self._inside += 1
        try:
            await self._app(scope, _limited(receive, limit), dressed)
        except Exception:
            log_exception("a request failed", method=scope["method"])
            if not started:
                await _refuse(dressed, 500, MISTAKE)
        finally:
            self._inside -= 1
            taken = time.perf_counter() - began
            self._metrics.count(path, status, taken)
            if status >= 500:
                log("warning", "answered with an error", status=status)

    def _refusal(self, scope: Scope, limit: int) -> tuple[int, str, bool, int | None] | None:
        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value) > limit):
                return 413, f"the body is larger than {limit} bytes", True, None
        if self._inside >= self._limits.concurrent:
            return 503, "the server is busy; try again in a moment", False, 1
        if self._limits.rate and not self._has_token(scope):
            return 429, "too many requests from this address; try again in a moment", False, 1
        return None

    def _has_token(self, scope: Scope) -> bool:
        address = (scope.get("client") or ("", 0))[0]
        rate, burst, now = self._limits.rate, self._limits.burst, time.monotonic()
        tokens, then = self._buckets.get(address, (float(burst), now))
        tokens = min(float(burst), tokens + (now - then) * rate)
        if len(self._buckets) > 10_000:
            self._buckets = {a: (t, m) for a, (t, m) in self._buckets.items() if t + (now - m) * rate < burst}
        self._buckets[address] = (tokens - 1 if tokens >= 1 else tokens, now)
        return tokens >= 1


def _limited(receive: Receive, limit: int) -> Receive:
    """Receive a body up to its limit, for senders who do not say beforehand how long it is."""
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise Refusal(413, f"the body is larger than {limit} bytes")
        return message

    return counted


async def _refuse(send: Send, status: int, problem: str, close: bool = False, retry_after: int | None = None) -> None:
    body = json.dumps({"error": problem}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if close:
        headers.append((b"connection", b"close"))
    if retry_after is not None:
        headers.append((b"retry-after", str(retry_after).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
