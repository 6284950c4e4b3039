"""Signed slates: the server keeps nothing about its answers, and yet knows them again when a label names one."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Sequence

from discreet.serving.refusal import Refusal

_SIGNED = 16  # bytes of the signature that travel


class Slates:
    """Signs the ids of an answer with a key that only the server has."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, model: str, articles: Sequence[str]) -> tuple[str, str]:
        """A new random slate id, and the signature of the slate."""
        slate = secrets.token_hex(16)
        return slate, self._signature(model, slate, articles)

    def require(self, model: str, slate: str, articles: Sequence[str], signature: str) -> None:
        """Refuse a slate that this server did not send so."""
        expected = self._signature(model, slate, articles)
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            raise Refusal(422, "the slate's signature does not match: report on the slate as the server sent it")

    def _signature(self, model: str, slate: str, articles: Sequence[str]) -> str:
        text = "\x1f".join((model, slate, *articles))
        digest = hmac.digest(self._key, text.encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:_SIGNED]).decode().rstrip("=")
