"""The administrator's token, and who may try to guess it."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from starlette.requests import Request
from starlette.types import Scope

from discreet.serving.rate import Buckets
from discreet.serving.refusal import RequestRefusal

_GUESSES_PER_SECOND, _GUESSES_AT_ONCE = 0.1, 10


class AdminToken:
    """Lets those pass who send it, whatever others of their address have sent. Only wrong tokens are counted."""

    def __init__(self, token: str, client_of: Callable[[Scope], str]) -> None:
        self._header, self._client_of = f"Bearer {token}".encode(), client_of
        self._guesses = Buckets(_GUESSES_PER_SECOND, _GUESSES_AT_ONCE)

    def is_in(self, scope: Scope) -> bool:
        """Whether a request carries the token."""
        return hmac.compare_digest(_given(scope), self._header)

    async def require(self, request: Request) -> None:
        """Refuse a request without the token: 401, or 429 where too many wrong ones came from its address."""
        if self.is_in(request.scope):
            return
        if not _given(request.scope):
            raise RequestRefusal(401, "administration needs the token: 'Authorization: Bearer …'")
        if not self._guesses.take(self._client_of(request.scope)):
            raise RequestRefusal(429, "too many failed logins from this address; try again in a minute", retry_after=60)
        raise RequestRefusal(401, "this is not the administrator's token: 'Authorization: Bearer …'")


def _given(scope: Scope) -> bytes:
    return next((bytes(value) for name, value in scope["headers"] if name == b"authorization"), b"")
