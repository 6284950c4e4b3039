"""A small stand-in for the server, that speaks the contract with devices: in memory, or by HTTP on loopback."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from discreet.device.transport import Reply
from discreet.privacy.release import Release

WEEK = 604800
START = 1767225600  # 2026-01-01
CATEGORIES = ("sports", "health", "politics", "food")
DIMENSION = 8


class PublisherServer:
    """A publisher with some articles. `sent` has every request as it came: method, address, headers, body."""

    def __init__(self, articles: int = 40, topics: int = 6) -> None:
        rng = np.random.default_rng(7)
        self.model = public_model(topics)
        self.articles: dict[str, dict[str, Any]] = {}
        self.changed: list[str] = []
        for number in range(articles):
            vector = rng.integers(-90, 90, DIMENSION).astype(np.int8)
            self.publish(f"N{number}", CATEGORIES[number % 4], number % topics, vector.tobytes(), 1 - number / articles)
        self.offline = False
        self.answers_with: Reply | None = None
        self.sent: list[tuple[str, str, dict[str, str], str]] = []
        self.reports: dict[str, dict[str, Any]] = {}
        self.slates = 0

    def publish(self, name: str, category: str, topic: int, vector: bytes, base: float) -> None:
        text = {"title": f"Title of {name}", "abstract": "", "category": category, "published": START}
        public = {"topic": topic, "vector": base64.b64encode(vector).decode(), "base": base}
        self.articles[name] = {"id": name, **text, **public}
        self.changed.append(name)

    def remove(self, name: str) -> None:
        del self.articles[name]
        self.changed.append(name)

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> Reply:
        if self.offline:
            raise ConnectionRefusedError(111, "Connection refused")
        parts = urlsplit(url)
        self.sent.append((method, url, dict(headers), body or ""))
        if self.answers_with is not None:
            return self.answers_with
        asked = {name.lower(): value for name, value in headers.items()}
        status, answer = self._answer(method, parts.path, parse_qs(parts.query), json.loads(body) if body else {})
        text = json.dumps(answer).encode()
        etag = f'"{hash(text) & 0xFFFFFFFF:x}"'
        if method == "GET" and asked.get("if-none-match") == etag:
            return Reply(304, b"", {"etag": etag})
        return Reply(status, text, {"etag": etag})

    def _answer(self, method: str, path: str, query: dict[str, list[str]], body: dict[str, Any]) -> tuple[int, Any]:
        if (method, path) == ("GET", "/v1/model"):
            return 200, self.model
        if (method, path) == ("GET", "/v1/articles"):
            return 200, self._page(int(query.get("since", ["0"])[0]), int(query["limit"][0]))
        if (method, path) == ("POST", "/v1/recommend"):
            return self._recommend(body)
        if (method, path) == ("POST", "/v1/reports"):
            return self._report(body)
        return 404, {"error": "there is nothing here"}

    def _page(self, since: int, limit: int) -> dict[str, Any]:
        until = min(len(self.changed), since + limit)
        names = dict.fromkeys(self.changed[since:until])
        return {
            "space": self.model["space"],
            "cursor": str(until),
            "more": until < len(self.changed),
            "removed": [name for name in names if name not in self.articles],
            "articles": [self.articles[name] for name in names if name in self.articles],
        }

    def _recommend(self, body: dict[str, Any]) -> tuple[int, Any]:
        if body["space"] != self.model["space"]:
            return 409, {"error": "another space", "current": self.model["space"]}
        for sketch in body["sketches"]:
            release = Release.from_bytes(base64.b64decode(sketch["release"], validate=True))
            assert len(release.payload.integers) == self.model["topics"]
        wanted = [a for a in self.articles.values() if not body.get("category") or a["category"] in body["category"]]
        best = sorted(wanted, key=lambda article: -article["base"])[: body["limit"]]
        self.slates += 1
        shown = [{"id": a["id"], "score": a["base"], "base": a["base"]} for a in best]
        head = {"model": self.model["model"], "slate": f"{self.slates:032x}", "signature": f"signed-{self.slates}"}
        return 200, {**head, "personal": bool(body["sketches"]), "articles": shown}

    def _report(self, body: dict[str, Any]) -> tuple[int, Any]:
        known = self.reports.setdefault(body["id"], body)
        if known is not body:
            return (200, {"id": body["id"]}) if known == body else (409, {"error": "same id, another body"})
        return 201, {"id": body["id"]}


def public_model(topics: int) -> dict[str, Any]:
    return {
        "api": 2,
        "model": "model-1",
        "kind": "topics",
        "space": "space-1",
        "topics": topics,
        "epsilon": {"sketch": 0.7, "label": 0.3, "lifetime": 1.0},
        "unit": "click",
        "adjacency": "substitute",
        "schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": WEEK},
        "ranking": "shortlist",
        "shortlist_size": 30,
        "rankings": [],
        "vectors": {"dimension": DIMENSION, "scale": 0.01, "centre": [0.01 * i for i in range(DIMENSION)]},
        "content_weight": 2.0,
        "guarantee": {},
        "words": [],
        "reports": True,
    }


@contextmanager
def serving(server: PublisherServer, *folders: tuple[str, Path]) -> Iterator[str]:
    """Serve by HTTP, with files of some folders under a path each; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            for prefix, folder in folders:
                name = urlsplit(self.path).path.removeprefix(prefix)
                if self.path.startswith(prefix) and (folder / name).is_file():
                    return self._send(Reply(200, (folder / name).read_bytes(), {"content-type": _type(name)}))
            return self._relay()

        def do_POST(self) -> None:
            self._relay()

        def _relay(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode() or None
            try:
                self._send(server(self.command, self.path, dict(self.headers), body))
            except ConnectionRefusedError:
                self.close_connection = True

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def _type(name: str) -> str:
    endings = {".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html", ".json": "application/json"}
    return endings.get(Path(name).suffix, "application/octet-stream")
