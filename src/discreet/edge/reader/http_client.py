"""HTTP with nothing but the standard library, for a server that may answer anything, for ever, or not at all."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import IO, Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from discreet.errors import DiscreetError
from discreet.protocol.check import limits, parse

SECONDS = 20.0
"""How long to wait for a part of an answer, and `SECONDS_IN_ALL` for the whole."""
SECONDS_IN_ALL = 300.0
_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class HttpReply:
    """What a server answered, decompressed. A device reads no header."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def error(self) -> str | None:
        """What the server says is wrong, in one line; None if it does not say so as agreed."""
        try:
            answer = parse(self.body)
        except DiscreetError:
            return None
        said = answer.get("error") if isinstance(answer, dict) else None
        return " ".join(said.encode(errors="replace").decode().split())[:200] if isinstance(said, str) else None


Transport = Callable[[str, str, Mapping[str, str], str | None], HttpReply]
"""(method, address, headers, JSON text or None) → reply. Raises OSError if there is no answer that could be read."""


def over_http(method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
    """Ask a server by http or https. Every device sends the same headers, and follows no redirection."""
    if not url.startswith(("http://", "https://")):
        raise DiscreetError(f"{url}: is not an http or https address")
    data = None if body is None else body.encode()
    fixed = {"User-Agent": "discreet-device", "Accept": "application/json", "Accept-Encoding": "gzip"}
    if body is not None:
        fixed["Content-Type"] = "application/json"
    request = Request(url, data=data, headers={**fixed, **headers}, method=method)
    try:
        try:
            answer = _OPENER.open(request, timeout=SECONDS)
        except HTTPError as error:
            answer = error
        with answer:
            return HttpReply(int(answer.status), _body(answer, answer.headers.get("Content-Encoding", "")))
    except (HTTPException, zlib.error, ValueError, OverflowError, RecursionError) as error:
        raise ConnectionError(f"no answer that can be read: {type(error).__name__}") from error


class _NoRedirection(HTTPRedirectHandler):
    """An address that the server chose would be a mark by which it knows the device again."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = build_opener(_NoRedirection)


def _body(answer: IO[bytes], encoding: str) -> bytes:
    """The whole body, decompressed; nothing larger than the protocol allows, and not for ever."""
    deadline = time.monotonic() + SECONDS_IN_ALL
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if encoding.lower() == "gzip" else None
    body = bytearray()
    while packed := answer.read1(_AT_ONCE):  # type: ignore[attr-defined]
        body += unpack.decompress(packed, limits.max_answer_bytes + 1 - len(body)) if unpack else packed
        if len(body) > limits.max_answer_bytes or (unpack and unpack.unconsumed_tail):
            raise ConnectionError(f"an answer of more than {limits.max_answer_bytes} bytes")
        if unpack and unpack.eof:
            return bytes(body)
        if time.monotonic() > deadline:
            raise TimeoutError(f"no whole answer in {SECONDS_IN_ALL:g} seconds")
    if getattr(answer, "length", None) or (unpack and not unpack.eof):
        raise ConnectionError("an answer that ends too early")
    return bytes(body)
