"""The endpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from discreet.serving import api_messages as m
from discreet.serving.addresses import Proxies
from discreet.serving.admin_endpoints import mount_administration
from discreet.serving.admin_token import AdminToken
from discreet.serving.catalogue_pages import Sent
from discreet.serving.foreign_pages import ForeignPages
from discreet.serving.gate import MISTAKE, Gate, Metrics
from discreet.serving.limits import ServerLimits
from discreet.serving.logs import log, log_repeats
from discreet.serving.notice import notice_of
from discreet.serving.openapi import body_of, with_shared_parts
from discreet.serving.pages import connects_to, mount_pages
from discreet.serving.polled_route import PolledRoute, refused, sent_to
from discreet.serving.rate import Buckets
from discreet.serving.readiness import Readiness, closed_in_time
from discreet.serving.refusal import RequestRefusal
from discreet.serving.request_reading import REFUSED, first_problem, read_body, some
from discreet.serving.service import Service
from discreet.version import __version__

T = TypeVar("T")
Extension = Callable[[FastAPI], None]
_DAY = 86_400
_RECOMMEND: TypeAdapter[m.RecommendRequest] = TypeAdapter(m.RecommendRequest)


def create_app(
    service: Service,
    limits: ServerLimits | None = None,
    admin_token: str | None = None,
    proxies: Proxies | None = None,
    extend: Extension | None = None,
    foreign: ForeignPages | None = None,
) -> Gate:
    """The whole server as an ASGI application, which starts and closes `service`; `extend` may add to it.

    `foreign` says which pages of other origins may ask it; none, unless said otherwise.
    """
    metrics, limits, proxies = Metrics(), limits or ServerLimits(), proxies or Proxies()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        log("info", "serving", model=service.model.version, ranking=service.offer.ranking)
        yield
        done = await closed_in_time(service.close)
        log_repeats()
        log("info" if done else "warning", "stopped" if done else "stopped before all was written")

    app = FastAPI(
        title="Discreet",
        version=__version__,
        summary="News recommendation that says truthfully what it costs in privacy.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    ranking = _ranking(service)
    app.router.routes.append(ranking)
    app.router.routes.extend(_polled(service))
    app.include_router(_public(service, metrics, limits, proxies))
    app.include_router(_operations(service))
    token = None if admin_token is None else AdminToken(admin_token, proxies.client_of)
    if token is not None:
        mount_administration(app, service, token, metrics)
    mount_pages(app, service, with_admin=token is not None)
    _errors(app)
    if extend is not None:
        extend(app)
    with_shared_parts(app, [m.RecommendRequest, m.LabelReport, m.SketchReport, m.NewArticle, m.SlateCount])
    direct = {("POST", ranking.path): ranking.app}
    direct |= {("GET", route.path): route.app for route in app.router.routes if isinstance(route, PolledRoute)}
    return Gate(app, limits, metrics, proxies, direct, connects_to(service.offer.tasks), foreign, token)


class PlainRoute(APIRoute):
    """A route that is described like the others, and answers without their layers, so the gate may call it directly."""

    def __init__(self, path: str, endpoint: Callable[[Request], Awaitable[bytes]], **described: Any) -> None:
        super().__init__(path, endpoint, **described)

        async def plain(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                body = await endpoint(Request(scope, receive))
            except RequestRefusal as refusal:
                await refused(refusal)(scope, receive, send)
                return
            headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})

        self.app = plain


def _polled(service: Service) -> list[PolledRoute]:
    """What every device asks for, often."""

    def model() -> Sent:
        """What a device must know before it releases anything: space, ε, schedule, ways to rank, and the promise."""
        return service.about()

    def catalogue() -> Sent:
        """The names of the catalogue's pages, all base scores, and the articles to show first. For all the same."""
        return service.catalogue()

    return [
        PolledRoute(f"/v1/{one.__name__}", one, response_model=kind, responses=some(503), tags=["devices"])
        for one, kind in ((model, m.ModelAnswer), (catalogue, m.CatalogueAnswer))
    ]


def _ranking(service: Service) -> PlainRoute:
    async def recommend(request: Request) -> bytes:
        """The best articles for what a device released; without sketches, the best for everybody."""
        return service.recommend(await read_body(request, _RECOMMEND))

    return PlainRoute(
        "/v1/recommend",
        recommend,
        methods=["POST"],
        tags=["devices"],
        response_model=m.RecommendAnswer,
        responses=some(409, 413, 415, 422, 503),
        openapi_extra=body_of("RecommendRequest"),
    )


def _public(service: Service, metrics: Metrics, limits: ServerLimits, proxies: Proxies) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["devices"])
    most = limits.max_reports_of_one
    shares = Buckets(most / _DAY, most)

    @router.get("/catalogue/{name}", response_model=m.ArticlePage, responses=some(404, 503))
    async def page(request: Request, name: str) -> Response:
        """A page of the catalogue. It never changes: its name is the SHA-256 of its bytes."""
        return sent_to(request, service.page(name), "public, max-age=31536000, immutable")

    @router.get("/notice", response_model=m.NoticeAnswer)
    async def notice() -> Response:
        """What to tell readers: sentences with their parameters, to translate, and in English."""
        return JSONResponse(notice_of(service.model, service.offer).to_json())

    @router.post(
        "/reports",
        response_model=m.ReportAnswer,
        responses={201: {"model": m.ReportAnswer, "description": "Kept now."}, 403: REFUSED[422], **REFUSED},
        openapi_extra=body_of("LabelReport", "SketchReport"),
    )
    async def reports(request: Request) -> Response:
        """Keep a training report. 201: on the disk now. 200: it was known. Send it again until one of them comes."""
        if most and not shares.take(proxies.client_of(request.scope)):
            raise RequestRefusal(429, "too many reports from this address today; send it again later", retry_after=3600)
        report = await read_body(request, m.REPORT)
        new = await service.keep(report)
        if new:
            metrics.reports.labels(report.kind).inc()
        return JSONResponse({"id": report.id, "status": "kept" if new else "known"}, 201 if new else 200)

    return router


def _operations(service: Service) -> APIRouter:
    router = APIRouter(tags=["operations"])
    readiness = Readiness(service)

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok"}

    @router.get("/readyz", responses={503: {"description": "Not ready."}})
    async def readyz() -> Response:
        """Whether there is a catalogue to rank and a database to write to."""
        why = await readiness.why_not()
        clock = service.running().aggregators.get("clock")
        return JSONResponse({"ready": not why, "why": why, **({"clock": clock} if clock else {})}, 503 if why else 200)

    return router


def _errors(app: FastAPI) -> None:
    @app.exception_handler(RequestRefusal)
    async def not_granted(_: Request, refusal: RequestRefusal) -> JSONResponse:
        return refused(refusal)

    @app.exception_handler(HTTPException)
    async def failed(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(error.detail).lower()}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def mistaken(_: Request, __: Exception) -> JSONResponse:
        return JSONResponse({"error": MISTAKE}, 500)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": first_problem(list(error.errors()))}, 422)
