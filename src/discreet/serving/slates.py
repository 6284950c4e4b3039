"""Signed slates: the server keeps nothing about its answers, and yet knows them again when a label names one."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Sequence

from discreet.protocol.check import limits
from discreet.serving.refusal import RequestRefusal

_SIGNED = 16  # bytes of the signature that travel
_EPOCH = 8  # hex digits of a slate's id that say when it was sent
_EPOCHS = 16**_EPOCH


class Slates:
    """Signs the ids of an answer with a key that only the server has.

    A slate may be reported on for as long as reports are kept, so that a second label for it is always known as such.
    """

    def __init__(self, key: bytes, max_epochs: int) -> None:
        self._key, self._max_epochs = key, max_epochs

    def sign(self, model: str, articles: Sequence[str], epoch: int, *, labelled: bool) -> tuple[str, str]:
        """A new slate id, and the signature of the slate, which fits no label if it is not to be labelled."""
        slate = f"{epoch % _EPOCHS:0{_EPOCH}x}{secrets.token_hex(16 - _EPOCH // 2)}"
        return slate, self._signature(model if labelled else "", slate, articles)

    def require(self, model: str, slate: str, articles: Sequence[str], signature: str, epoch: int) -> None:
        """Refuse a slate that this server did not send so, and one that takes no label."""
        expected = self._signature(model, slate, articles)
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            raise RequestRefusal(
                422,
                "the slate's signature does not match: report on a slate as the server sent it, if it was asked for"
                " without category and max_age_hours",
            )
        if len(articles) < limits.min_slate_articles:
            raise RequestRefusal(
                422, f"a slate of {len(articles)} articles takes no label; {limits.min_slate_articles} do"
            )
        if epoch - int(slate[:_EPOCH], 16) > self._max_epochs:
            raise RequestRefusal(422, f"the slate is older than {self._max_epochs} epochs; it takes no label any more")

    def _signature(self, model: str, slate: str, articles: Sequence[str]) -> str:
        text = "\x1f".join((model, slate, *articles))
        digest = hmac.digest(self._key, text.encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:_SIGNED]).decode().rstrip("=")
