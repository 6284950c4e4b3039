"""Which pages of other origins may ask this server, and what: the cross-origin rules of browsers.

A device on a page of another origin asks for what is the same for everybody, and sends what any device sends: never a
cookie, never a name. So the answers hold no secret from such a page. What is refused without permission is that a
stranger's page makes its visitors' browsers ask and report here: therefore origins are named one by one, and there is
no "all". Administration and metrics are for no page.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import Scope

from discreet.errors import DiscreetError

_FOR_DEVICES = ("/v1/", "/readyz")
_NOT_FOR_PAGES = ("/v1/admin/",)
_DAY = b"86400"

Headers = list[tuple[bytes, bytes]]


class ForeignPages:
    """The origins that are allowed."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(map(checked_origin, origins))

    def headers(self, scope: Scope) -> Headers:
        """What the answer to a request says about other origins."""
        if not self._origins or not _is_for_devices(scope["path"]):
            return []
        vary: Headers = [(b"vary", b"Origin")]
        origin = _origin_of(scope)
        return [*vary, (b"access-control-allow-origin", origin)] if origin.decode("latin-1") in self._origins else vary

    def preflight(self, scope: Scope) -> Headers | None:
        """The headers of the answer to a browser that asks first; None if this is no such question, or not allowed."""
        if scope["method"] != "OPTIONS":
            return None
        allowed = self.headers(scope)
        if len(allowed) < 2:
            return None
        asked: Headers = [(b"access-control-allow-methods", b"GET, POST"), (b"access-control-max-age", _DAY)]
        return [*allowed, *asked, (b"access-control-allow-headers", b"Content-Type")]


def checked_origin(text: str) -> str:
    """An origin as browsers send it."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise DiscreetError(f"--allow-origin takes an origin such as https://www.news.example, not '{text}'")
    usual = {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port in (None, usual) else f":{port}")


def _is_for_devices(path: str) -> bool:
    return path.startswith(_FOR_DEVICES) and not path.startswith(_NOT_FOR_PAGES)


def _origin_of(scope: Scope) -> bytes:
    return next((bytes(value) for name, value in scope["headers"] if name == b"origin"), b"")
