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
from urllib.parse import urlsplit

from discreet.audits.hostile_server.publisher import START, WEEK, Publisher
from discreet.edge.reader.http_client import HttpReply
from discreet.privacy.release import Release

__all__ = ["START", "WEEK", "PublisherServer", "serving"]


class PublisherServer(Publisher):
    """A publisher that remembers. `sent` has every request as it came: method, address, headers, body."""

    def __init__(self, articles: int = 40, topics: int = 6, **changes: Any) -> None:
        super().__init__(articles, topics, **changes)
        self.offline = False
        self.answers_with: HttpReply | None = None
        self.sent: list[tuple[str, str, dict[str, str], str]] = []
        self.reports: dict[str, dict[str, Any]] = {}

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        if self.offline:
            raise ConnectionRefusedError(111, "Connection refused")
        self.sent.append((method, url, dict(headers), body or ""))
        return self.answers_with or super().__call__(method, url, headers, body)

    def answer(self, method: str, path: str, body: str | None) -> tuple[int, Any]:
        if path == "/v1/reports":
            return self._report(json.loads(body or "{}"))
        return super().answer(method, path, body)

    def recommend(self, body: Mapping[str, Any]) -> dict[str, Any]:
        assert body["space"] == self.model["space"]
        for sketch in body["sketches"]:
            release = Release.from_bytes(base64.b64decode(sketch["release"], validate=True))
            assert len(release.payload.integers) == self.model["topics"]
        return super().recommend(body)

    def _report(self, body: dict[str, Any]) -> tuple[int, Any]:
        known = self.reports.setdefault(body["id"], body)
        if known is not body:
            return (200, {"id": body["id"]}) if known == body else (409, {"error": "same id, another body"})
        return 201, {"id": body["id"]}


@contextmanager
def serving(server: PublisherServer, *folders: tuple[str, Path]) -> Iterator[str]:
    """Serve by HTTP, with files of some folders under a path each; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            for prefix, folder in folders:
                name = urlsplit(self.path).path.removeprefix(prefix)
                if self.path.startswith(prefix) and (folder / name).is_file():
                    return self._send(HttpReply(200, (folder / name).read_bytes(), {"content-type": _type(name)}))
            return self._relay()

        def do_POST(self) -> None:
            self._relay()

        def _relay(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode() or None
            try:
                self._send(server(self.command, self.path, dict(self.headers), body))
            except ConnectionRefusedError:
                self.close_connection = True

        def _send(self, reply: HttpReply) -> None:
            self.send_response(reply.status)
            every = {"content-type": "application/json", "access-control-allow-origin": "*"}  # for frames
            for name, value in {**every, **reply.headers}.items():
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


def bodies(server: PublisherServer, path: str) -> list[dict[str, object]]:
    """What was sent to a path, in its order."""
    return [json.loads(body) for _, url, _, body in server.sent if url.endswith(path)]
