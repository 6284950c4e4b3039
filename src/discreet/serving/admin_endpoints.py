"""The administrator's endpoints, and /metrics. Each needs the token."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.responses import PlainTextResponse
from sqlalchemy.exc import SQLAlchemyError

from discreet.errors import DiscreetError
from discreet.serving import api_messages as m
from discreet.serving.admin_token import AdminToken
from discreet.serving.feeds.fetch import shown_feed
from discreet.serving.gate import Metrics
from discreet.serving.openapi import body_of
from discreet.serving.refusal import RequestRefusal
from discreet.serving.request_reading import read_body, some
from discreet.serving.server_store import DELETED, EXPIRED
from discreet.serving.service import Service

_REFUSED: dict[int | str, dict[str, Any]] = {401: {"model": m.Problem, "description": "No token, or a wrong one."}}


def mount_administration(app: FastAPI, service: Service, token: AdminToken, metrics: Metrics) -> None:
    """Serve everything under /v1/admin, and /metrics, to those who have the token."""
    for router in (_administration(service, metrics), _metrics(service, metrics)):
        app.include_router(router, dependencies=[Depends(token.require)])


def _metrics(service: Service, metrics: Metrics) -> APIRouter:
    router = APIRouter(tags=["operations"])

    @router.get("/metrics", response_class=PlainTextResponse, responses=_REFUSED)
    async def show_metrics() -> Response:
        """Counters for Prometheus, which sends the token from a file (`authorization: {credentials_file: …}`)."""
        metrics.articles.set(len(service.updater.snapshot))
        metrics.revision.set(service.updater.snapshot.revision)
        await asyncio.to_thread(_count_feeds, service, metrics)
        await asyncio.to_thread(_show_status, service, metrics)
        return Response(metrics.shown(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def _show_status(service: Service, metrics: Metrics) -> None:
    """What was learnt and measured; as it was where the database does not answer."""
    with suppress(SQLAlchemyError):
        metrics.status.show(service.status({}))


def _count_feeds(service: Service, metrics: Metrics) -> None:
    """When each feed was last read, and how often it failed since; as it was where the database does not answer."""
    with suppress(SQLAlchemyError):
        for address, state in service.feeds.states().items() if service.feeds else ():
            metrics.feed_read.labels(shown_feed(address)).set(state.read_at)
            metrics.feed_failures.labels(shown_feed(address)).set(state.failures)


def _administration(service: Service, metrics: Metrics) -> APIRouter:
    """Everything under /v1/admin: the catalogue, the status, and model versions."""
    router = APIRouter(prefix="/v1/admin", tags=["administration"])

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
        responses={**_REFUSED, **some(413, 415, 422, 503)},
        openapi_extra=body_of("NewArticle", array=True),
    )
    async def put_articles(request: Request) -> dict[str, int]:
        """Add or replace articles. They are encoded in the background and listed within seconds."""
        new = await read_body(request, m.NEW_ARTICLES)
        await written(service.put, new)
        return {"waiting": len(new)}

    @router.get("/articles", response_model=m.ArticleListing, responses={**_REFUSED, **some(422, 503)})
    async def list_articles(
        state: Literal["waiting", "listed", "expired", "deleted"] | None = None,
        after: Annotated[str, Query(max_length=2000, pattern=r"^[^\x00]*$")] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    ) -> dict[str, Any]:
        """Articles with their states, in the order of their ids, so many at a time."""
        found = await asked(service.listing, state, after, limit)
        return {"articles": found, "next": found[-1]["id"] if len(found) == limit else None}

    @router.delete("/articles/{article:path}", responses={**_REFUSED, **some(404, 503)})
    async def delete_article(request: Request, article: str) -> dict[str, str]:
        """Take an article down, by its id or its address, and forget its text."""
        return {"id": await taken_down(request, article, DELETED), "state": DELETED}

    @router.post("/articles/{article:path}/expire", responses={**_REFUSED, **some(404, 503)})
    async def expire_article(request: Request, article: str) -> dict[str, str]:
        """Recommend an article no more, by its id or its address."""
        return {"id": await taken_down(request, article, EXPIRED), "state": EXPIRED}

    @router.post(
        "/slates",
        responses={**_REFUSED, **some(409, 413, 415, 422, 503)},
        openapi_extra=body_of("SlateCount", array=True),
    )
    async def add_slates(request: Request) -> dict[str, int]:
        """Tell which articles your own pages showed together, and how often. No reader is in it."""
        slates = await read_body(request, m.SHOWN_SLATES)
        await written(service.add_slates, slates)
        return {"slates": len(slates)}

    @router.get("/status", responses={**_REFUSED, **some(503)})
    async def status() -> dict[str, Any]:
        """What was learnt, how good it is, and what it cost. No reader is in it."""
        found: dict[str, Any] = await asked(service.status, metrics.refusals())
        return found

    @router.get("/models", responses={**_REFUSED, **some(422, 503)})
    async def models(limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> dict[str, Any]:
        """Model versions, the newest first, and which a rollback holds."""
        listed = await asked(service.versions.listing, limit)
        held = await asked(service.versions.rolled_back_to)
        return {"versions": [version.to_json() for version in listed], "rolled_back_to": held}

    @router.post("/models/{version}/rollback", responses={**_REFUSED, **some(404, 503)})
    async def rollback(version: str) -> dict[str, Any]:
        """Serve what a version knew, until the rollback is lifted."""
        try:
            chosen = await asked(service.versions.rollback, version)
        except DiscreetError as error:
            raise RequestRefusal(404, str(error)) from None
        service.updater.refresh()
        return {"rolled_back_to": chosen.version}

    @router.delete("/rollback", responses={**_REFUSED, **some(503)})
    async def lift() -> dict[str, None]:
        """Serve what was learnt last again."""
        await asked(service.versions.lift)
        service.updater.refresh()
        return {"rolled_back_to": None}

    return router
