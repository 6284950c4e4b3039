"""Answers that are the same for everybody and made beforehand: what devices ask for, often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from discreet.serving.catalogue_pages import Sent
from discreet.serving.refusal import RequestRefusal

_NOT_KEPT = {"Cache-Control": "no-store"}
_HOLDS = {
    "name": "holds",
    "in": "query",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "description": "The SHA-256 of the answer that you hold.",
}


class PolledRoute(APIRoute):
    """A GET that is described like others, and answered without waiting and without their layers.

    The gate calls it directly, however many requests are worked on. A device that names the digest of the answer,
    because it holds it already, gets no body.
    """

    def __init__(self, path: str, made: Callable[[], Sent], **described: Any) -> None:
        described["responses"] = {**described.get("responses", {}), 204: {"description": "It is what you hold."}}
        super().__init__(path, made, methods=["GET"], openapi_extra={"parameters": [_HOLDS]}, **described)

        async def polled(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                request, sent = Request(scope), made()
                holds = request.query_params.get("holds") == sent.digest
                answer = Response(None, 204, _NOT_KEPT) if holds else sent_to(request, sent, "no-store")
            except RequestRefusal as refusal:
                answer = refused(refusal)
            await answer(scope, receive, send)

        self.app = polled


def sent_to(request: Request, sent: Sent, caching: str) -> Response:
    """An answer for everybody, compressed where that is understood."""
    headers = {"Cache-Control": caching, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(sent.compressed, media_type="application/json", headers=headers)
    return Response(sent.plain(), media_type="application/json", headers=headers)


def refused(refusal: RequestRefusal) -> JSONResponse:
    """A refusal as an answer."""
    headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
    if refusal.status == 413:
        headers["Connection"] = "close"
    return JSONResponse({"error": refusal.problem, **refusal.details}, refusal.status, headers)
