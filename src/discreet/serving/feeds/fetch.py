"""Fetching a feed: politely, with limits on time and size, from addresses that the operator chose."""

from __future__ import annotations

import email.utils
import hashlib
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPRedirectHandler,
    OpenerDirector,
    Request,
    UnknownHandler,
)

from discreet.errors import DiscreetError
from discreet.serving.feeds.checked_connection import CheckedConnections, Dialer
from discreet.version import __version__

MAX_BYTES = 16 << 20
"""Of a feed, unpacked."""
SECONDS = 20.0
"""How long to wait for a part of an answer, and `SECONDS_IN_ALL` for the whole."""
SECONDS_IN_ALL = 120.0
USER_AGENT = f"Discreet/{__version__} (feed reader)"
_AT_ONCE = 1 << 16
_MAX_HEADER = 1000


class FetchError(DiscreetError):
    """A feed that could not be had; `retry_after` are the seconds that its server asks to wait."""

    def __init__(self, address: str, why: str, retry_after: int | None = None) -> None:
        super().__init__(f"{shown_feed(address)}: {why}")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Version:
    """By what a feed's server knows which version was fetched last."""

    etag: str = ""
    modified: str = ""


@dataclass(frozen=True)
class Fetched:
    """A feed's bytes.

    Attributes:
        body: The bytes, unpacked.
        address: Where they came from in the end; relative links start from there.
        version: To be asked with next time.
        is_private: Whether the server is in a private network.
    """

    body: bytes
    address: str
    version: Version
    is_private: bool = False


def is_url(address: str) -> bool:
    """Whether a feed is fetched over the network; else it is a file."""
    return "://" in address


def shown_feed(address: str) -> str:
    """Name a feed in logs, metrics and messages: a file as it is, else its host and a digest of the whole address.

    Anything else in an address may be a key.
    """
    if not is_url(address):
        return address
    with suppress(ValueError):
        if host := urlsplit(address).hostname:
            return f"{host} ({hashlib.sha256(address.encode()).hexdigest()[:8]})"
    return "a feed without a host"


def public_base(address: str) -> str:
    """Return where relative links start from: the address without user, password, query and fragment."""
    if not is_url(address):
        return ""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def require_address(address: str) -> str:
    """The address of a feed, a file's as an absolute path; refused if it can be neither."""
    if not is_url(address):
        return str(Path(address).absolute())
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or any(character.isspace() for character in address):
        raise DiscreetError(f"{shown_feed(address)}: a feed is a file, or an http or https address")
    if parts.username or parts.password:
        raise DiscreetError("a feed's address must hold no password: it would show in logs and metrics")
    return address


def fetch(address: str, known: Version, *, may_be_private: bool = True) -> Fetched | None:
    """The feed, or None if it is still the version that is known.

    Its own server may be in a private network, if `may_be_private`; where that redirects to, never.

    Raises:
        FetchError: It could not be had.
    """
    try:
        return (
            _by_http(address, known, Dialer(may_be_private=may_be_private))
            if is_url(address)
            else _from_file(Path(address), known)
        )
    except HTTPError as error:
        with error:
            if error.code == 304:
                return None
            raise FetchError(
                address, f"answered {error.code}", _retry_after(error.headers.get("Retry-After"))
            ) from None
    except URLError as error:
        raise FetchError(address, f"cannot be fetched ({error.reason})") from error
    except (OSError, HTTPException, ValueError) as error:
        # the messages of the others may have the address in them
        why = (isinstance(error, OSError) and (error.strerror or str(error))) or type(error).__name__
        raise FetchError(address, f"cannot be fetched ({why})") from error
    except zlib.error:
        raise FetchError(address, "is packed with gzip and damaged") from None


def _from_file(path: Path, known: Version) -> Fetched | None:
    state = path.stat()
    version = Version(modified=f"{state.st_mtime_ns} {state.st_size}")
    if version == known:
        return None
    with path.open("rb") as file:
        body = file.read(MAX_BYTES + 1)
    return Fetched(_unpacked(body, str(path)), str(path), version)


def _by_http(address: str, known: Version, dialer: Dialer) -> Fetched:
    headers = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"}
    if known.etag:
        headers["If-None-Match"] = known.etag
    if known.modified:
        headers["If-Modified-Since"] = known.modified
    with _opener(dialer).open(Request(address, headers=headers), timeout=SECONDS) as answer:
        body = _body(answer, address)
        etag, modified = (answer.headers.get(name, "") for name in ("ETag", "Last-Modified"))
        version = Version(etag if len(etag) <= _MAX_HEADER else "", modified if len(modified) <= _MAX_HEADER else "")
        return Fetched(_unpacked(body, address), answer.geturl(), version, bool(dialer.is_private))


class _Redirects(HTTPRedirectHandler):
    """Redirects stay with http and https, and what was asked for by https is not fetched by http."""

    max_redirections = 5

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        scheme = urlsplit(newurl).scheme
        if scheme != "https" and scheme != req.type:
            raise URLError(f"it is redirected from {req.type} to {scheme}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(dialer: Dialer) -> OpenerDirector:
    opener = OpenerDirector()
    for handler in (
        CheckedConnections(dialer),
        _Redirects(),
        HTTPErrorProcessor(),
        HTTPDefaultErrorHandler(),
        UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _body(answer: IO[bytes], address: str) -> bytes:
    deadline = time.monotonic() + SECONDS_IN_ALL
    body = bytearray()
    while part := answer.read1(_AT_ONCE):  # type: ignore[attr-defined]
        body += part
        if len(body) > MAX_BYTES:
            raise FetchError(address, f"is larger than {MAX_BYTES >> 20} MiB")
        if time.monotonic() > deadline:
            raise FetchError(address, f"did not come within {SECONDS_IN_ALL:g} seconds")
    if getattr(answer, "length", None):
        raise FetchError(address, "ended too early")
    return bytes(body)


def _unpacked(body: bytes, address: str) -> bytes:
    """The bytes, unpacked if they are gzip's, whatever a header says of them."""
    if body.startswith(b"\x1f\x8b"):
        unpack = zlib.decompressobj(16 + zlib.MAX_WBITS)
        body = unpack.decompress(body, MAX_BYTES + 1)
        if not unpack.eof and len(body) <= MAX_BYTES:
            raise FetchError(address, "is packed with gzip and ended too early")
    if len(body) > MAX_BYTES:
        raise FetchError(address, f"is larger than {MAX_BYTES >> 20} MiB")
    return body


def _retry_after(given: str | None) -> int | None:
    """Seconds to wait, from a number or from a date."""
    if not given:
        return None
    if given.strip().isdigit():
        return int(given.strip()[:9])
    try:
        return max(0, int(email.utils.parsedate_to_datetime(given).timestamp() - time.time()))
    except (ValueError, TypeError, OverflowError):
        return None
