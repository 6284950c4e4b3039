"""The administrator's endpoints. Each needs the token."""

from __future__ import annotations

import asyncio
import hmac
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from sqlalchemy.exc import SQLAlchemyError

from discreet.errors import DiscreetError
from discreet.serving import api_messages as m
from discreet.serving.gate import Metrics
from discreet.serving.openapi import body_of
from discreet.serving.refusal import RequestRefusal
from discreet.serving.request_reading import read_body, some
from discreet.serving.server_store import DELETED, EXPIRED
from discreet.serving.service import Service


def administration(service: Service, token: str, metrics: Metrics) -> APIRouter:
    """Everything under /v1/admin: the catalogue, the status, and model versions."""
    router = APIRouter(prefix="/v1/admin", tags=["administration"])
    refused: dict[int | str, dict[str, Any]] = {401: {"model": m.Problem, "description": "No token, or a wrong one."}}

    def authorise(request: Request) -> None:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            why = "this is not the administrator's token" if given else "administration needs the token"
            raise RequestRefusal(401, f"{why}: 'Authorization: Bearer …'")

    async def written(work: Any, *arguments: Any) -> Any:
        try:
            return await asyncio.to_thread(work, *arguments)
        except SQLAlchemyError:
            raise RequestRefusal(503, "the change could not be written; try again later", retry_after=10) from None

    async def asked(work: Any, *arguments: Any) -> Any:
        try:
            return await asyncio.to_thread(work, *arguments)
        except SQLAlchemyError:
            raise RequestRefusal(503, "the database does not answer; try again later", retry_after=10) from None

    async def taken_down(request: Request, name: str, state: str) -> Any:
        if request.scope["query_string"]:
            raise RequestRefusal(422, "write a ? in an article's address as %3F, and / as %2F")
        return await written(service.take_down, name, state)

    @router.put(
        "/articles",
        status_code=202,
        responses={**refused, **some(413, 415, 422, 503)},
        openapi_extra=body_of("NewArticle", array=True),
    )
    async def put_articles(request: Request) -> dict[str, int]:
        """Add or replace articles. They are encoded in the background and listed within seconds."""
        authorise(request)
        new = await read_body(request, m.NEW_ARTICLES)
        await written(service.put, new)
        return {"waiting": len(new)}

    @router.get("/articles", response_model=m.ArticleListing, responses={**refused, **some(422, 503)})
    async def list_articles(
        request: Request,
        state: Literal["waiting", "listed", "expired", "deleted"] | None = None,
        after: Annotated[str, Query(max_length=2000, pattern=r"^[^\x00]*$")] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    ) -> dict[str, Any]:
        """Articles with their states, in the order of their ids, so many at a time."""
        authorise(request)
        found = await asked(service.listing, state, after, limit)
        return {"articles": found, "next": found[-1]["id"] if len(found) == limit else None}

    @router.delete("/articles/{article:path}", responses={**refused, **some(404, 503)})
    async def delete_article(request: Request, article: str) -> dict[str, str]:
        """Take an article down, by its id or its address, and forget its text."""
        authorise(request)
        return {"id": await taken_down(request, article, DELETED), "state": DELETED}

    @router.post("/articles/{article:path}/expire", responses={**refused, **some(404, 503)})
    async def expire_article(request: Request, article: str) -> dict[str, str]:
        """Recommend an article no more, by its id or its address."""
        authorise(request)
        return {"id": await taken_down(request, article, EXPIRED), "state": EXPIRED}

    @router.post(
        "/slates",
        responses={**refused, **some(409, 413, 415, 422, 503)},
        openapi_extra=body_of("SlateCount", array=True),
    )
    async def add_slates(request: Request) -> dict[str, int]:
        """Tell which articles your own pages showed together, and how often. No reader is in it."""
        authorise(request)
        slates = await read_body(request, m.SHOWN_SLATES)
        await written(service.add_slates, slates)
        return {"slates": len(slates)}

    @router.get("/status", responses={**refused, **some(503)})
    async def status(request: Request) -> dict[str, Any]:
        """What was learnt, how good it is, and what it cost. No reader is in it."""
        authorise(request)
        found: dict[str, Any] = await asked(service.status, metrics.refusals())
        return found

    @router.get("/models", responses={**refused, **some(422, 503)})
    async def models(request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> dict[str, Any]:
        """Model versions, the newest first, and which a rollback holds."""
        authorise(request)
        listed = await asked(service.versions.listing, limit)
        held = await asked(service.versions.rolled_back_to)
        return {"versions": [version.to_json() for version in listed], "rolled_back_to": held}

    @router.post("/models/{version}/rollback", responses={**refused, **some(404, 503)})
    async def rollback(request: Request, version: str) -> dict[str, Any]:
        """Serve what a version knew, until the rollback is lifted."""
        authorise(request)
        try:
            chosen = await asked(service.versions.rollback, version)
        except DiscreetError as error:
            raise RequestRefusal(404, str(error)) from None
        service.updater.refresh()
        return {"rolled_back_to": chosen.version}

    @router.delete("/rollback", responses={**refused, **some(503)})
    async def lift(request: Request) -> dict[str, None]:
        """Serve what was learnt last again."""
        authorise(request)
        await asked(service.versions.lift)
        service.updater.refresh()
        return {"rolled_back_to": None}

    return router
