"""HTTP with nothing but the standard library."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from discreet.errors import DiscreetError

SECONDS = 20.0
MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Reply:
    """What a server answered; names of headers in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """The body, which must be a JSON object."""
        try:
            fields = json.loads(self.body)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            raise DiscreetError("the server's answer is not a JSON object; is this the address of a Discreet server?")
        return fields

    def reason(self) -> str:
        """What the server says is wrong, in one line."""
        try:
            said = str(json.loads(self.body)["error"])
        except (ValueError, KeyError, TypeError):
            said = "no reason given"
        return f"{self.status}, {' '.join(said.split())[:200]}"


Transport = Callable[[str, str, Mapping[str, str], str | None], Reply]
"""(method, address, headers, JSON text or None) → reply. Raises OSError if there is no connection."""


def over_http(method: str, url: str, headers: Mapping[str, str], body: str | None) -> Reply:
    """Ask a server by http or https."""
    if not url.startswith(("http://", "https://")):
        raise DiscreetError(f"{url}: is not an http or https address")
    data = None if body is None else body.encode()
    fixed = {"User-Agent": "discreet-device", "Accept": "application/json"}
    if body is not None:
        fixed["Content-Type"] = "application/json"
    request = Request(url, data=data, headers={**fixed, **headers}, method=method)
    try:
        with urlopen(request, timeout=SECONDS) as answer:
            return _reply(answer.status, answer.read(MOST_BYTES), dict(answer.headers))
    except HTTPError as error:
        with error:
            return _reply(error.code, error.read(MOST_BYTES), dict(error.headers))


def _reply(status: int, body: bytes, headers: Mapping[str, str]) -> Reply:
    return Reply(status, body, {name.lower(): value for name, value in headers.items()})
