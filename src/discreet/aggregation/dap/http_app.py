"""DAP over HTTP: the resources of a leader and of a helper as ASGI applications.

What protects a server (sizes, rates, slow connections) stands before them, in `discreet.serving`.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.aggregation.dap.batches import RESOURCE_ID_SIZE
from discreet.aggregation.dap.helper import Helper
from discreet.aggregation.dap.leader import Leader
from discreet.aggregation.dap.messages import (
    TASK_ID_SIZE,
    AggregateShare,
    AggregateShareReq,
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
    CollectionJobReq,
    CollectionJobResp,
    HpkeConfigList,
    UploadErrors,
    UploadRequest,
    media_type,
)
from discreet.aggregation.dap.problems import MEDIA_TYPE, DapProblem, ProblemType, decode_id, encode_id
from discreet.aggregation.dap.transport import is_media_type
from discreet.aggregation.dap.wire import Message
from discreet.aggregation.dap.worker import UPLOAD_SECONDS, IntakeError, Worker

KEY_SECONDS = 86_400
_RETRY_SECONDS = 1
_ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}
_PREFLIGHT = {
    **_ANY_ORIGIN,
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type, Authorization",
    "Access-Control-Max-Age": str(KEY_SECONDS),
}

Admission = Callable[[Request], Awaitable[None]]
"""The hook for uploads: raises a `DapProblem` (429, 401, …) where a device may not upload.

It is called before a body is read, and once more for each further report in it.
"""


async def anybody(_: Request) -> None:
    """Let every device upload."""


def leader_app(leader: Leader, worker: Worker, collector_token: str, admit: Admission = anybody) -> Starlette:
    """A leader's resources. The server that serves them starts and closes `worker`."""
    collections = worker.collections

    async def upload(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT)
        await admit(request)
        body = await _body(request, UploadRequest)
        read = leader.read_upload(_task_id(request), body)
        for _ in read.order[1:]:
            await admit(request)
        try:
            async with asyncio.timeout(UPLOAD_SECONDS):
                kept = await asyncio.wrap_future(worker.intake.keep(read))
        except (IntakeError, TimeoutError):
            raise DapProblem(None, "the reports were not kept; send them again later", 503) from None
        worker.refused.update(problem.name.lower() for problem in read.refusals(kept))
        refused = read.answer(kept)
        return _message(UploadErrors, refused, _ANY_ORIGIN) if refused else Response(headers=_ANY_ORIGIN)

    async def create(request: Request) -> Response:
        _authorise(request, collector_token)
        body = await _body(request, CollectionJobReq)
        task_id = _task_id(request)
        key = await asyncio.to_thread(collections.create, task_id, body)
        return await answered(task_id, key, f"{request.url.path}/{encode_id(key)}")

    async def job(request: Request) -> Response:
        _authorise(request, collector_token)
        task_id, key = _task_id(request), _resource_id(request)
        if request.method == "DELETE":
            await asyncio.to_thread(collections.delete, task_id, key)
            return Response()
        return await answered(task_id, key, request.url.path)

    async def answered(task_id: bytes, key: bytes, location: str) -> Response:
        body = await asyncio.to_thread(collections.answer, task_id, key)
        if body is None:
            return Response(headers={"Location": location, "Retry-After": str(_RETRY_SECONDS)})
        return _message(CollectionJobResp, body, {"Location": location})

    return _app(
        leader.clock_problem,
        _hpke_config(leader.sealing.configs),
        Route("/tasks/{task}/reports", _safe(upload, _ANY_ORIGIN), methods=["POST", "OPTIONS"]),
        Route("/tasks/{task}/collection_jobs", _safe(create), methods=["POST"]),
        Route("/tasks/{task}/collection_jobs/{key}", _safe(job), methods=["GET", "DELETE"]),
    )


def helper_app(helper: Helper, leader_token: str) -> Starlette:
    """A helper's resources."""

    async def create_job(request: Request) -> Response:
        _authorise(request, leader_token)
        body = await _body(request, AggregationJobInitReq)
        answer = await asyncio.to_thread(helper.start_job, _task_id(request), body)
        return _message(AggregationJobResp, answer.body, {"Location": f"{request.url.path}/{encode_id(answer.id)}"})

    async def job(request: Request) -> Response:
        _authorise(request, leader_token)
        task_id, key = _task_id(request), _resource_id(request)
        if request.method == "DELETE":
            await asyncio.to_thread(helper.delete_job, task_id, key)
            return Response()
        if request.method == "POST":
            body = await _body(request, AggregationJobContinueReq)
            await asyncio.to_thread(helper.continue_job, task_id, key, body)
        found = await asyncio.to_thread(helper.job, task_id, key)
        if found is None:
            raise DapProblem(ProblemType.UNRECOGNIZED_AGGREGATION_JOB, "there is no such aggregation job", 404)
        return _message(AggregationJobResp, found)

    async def create_share(request: Request) -> Response:
        _authorise(request, leader_token)
        body = await _body(request, AggregateShareReq)
        answer = await asyncio.to_thread(helper.share, _task_id(request), body)
        return _message(AggregateShare, answer.body, {"Location": f"{request.url.path}/{encode_id(answer.id)}"})

    async def share(request: Request) -> Response:
        _authorise(request, leader_token)
        task_id, key = _task_id(request), _resource_id(request)
        if request.method == "DELETE":
            await asyncio.to_thread(helper.delete_share, task_id, key)
            return Response()
        found = await asyncio.to_thread(helper.known_share, task_id, key)
        if found is None:
            raise DapProblem(None, "there is no such aggregate share", 404)
        return _message(AggregateShare, found)

    return _app(
        helper.clock_problem,
        _hpke_config(helper.sealing.configs),
        Route("/tasks/{task}/aggregation_jobs", _safe(create_job), methods=["POST"]),
        Route("/tasks/{task}/aggregation_jobs/{key}", _safe(job), methods=["GET", "POST", "DELETE"]),
        Route("/tasks/{task}/aggregate_shares", _safe(create_share), methods=["POST"]),
        Route("/tasks/{task}/aggregate_shares/{key}", _safe(share), methods=["GET", "DELETE"]),
    )


def _app(clock_problem: Callable[[], str], *routes: Route) -> Starlette:
    async def failed(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _problem(DapProblem(None, str(error.detail), error.status_code), None, {})

    async def healthy(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        try:
            clock = await asyncio.to_thread(clock_problem)
        except SQLAlchemyError:
            return JSONResponse({"ready": False, "why": "the database does not answer"}, 503)
        return JSONResponse({"ready": True, "why": "", **({"clock": clock} if clock else {})})

    operations = [Route("/healthz", healthy, methods=["GET"]), Route("/readyz", ready, methods=["GET"])]
    return Starlette(routes=[*operations, *routes], exception_handlers={HTTPException: failed})


def _hpke_config(configs: HpkeConfigList) -> Route:
    async def hpke_config(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT)
        headers = {**_ANY_ORIGIN, "Cache-Control": f"max-age={KEY_SECONDS}"}
        return _message(HpkeConfigList, configs.encode(), headers)

    return Route("/hpke_config", hpke_config, methods=["GET", "OPTIONS"])


def _safe(
    endpoint: Callable[[Request], Awaitable[Response]], headers: dict[str, str] | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint, with problem details for what it refuses."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except DapProblem as problem:
            return _problem(problem, decode_id(request.path_params.get("task", ""), TASK_ID_SIZE), headers or {})
        except SQLAlchemyError:
            return _problem(DapProblem(None, "the database does not answer; try again later", 503), None, headers or {})

    return answered


def _problem(problem: DapProblem, task_id: bytes | None, headers: dict[str, str]) -> Response:
    retry = {"Retry-After": str(10 * _RETRY_SECONDS)} if problem.status in (429, 503) else {}
    document = problem.document(task_id)
    return JSONResponse(document, problem.status, {**headers, **retry}, media_type=MEDIA_TYPE)


def _message(kind: type[Message], body: bytes, headers: dict[str, str] | None = None) -> Response:
    return Response(body, headers={"Content-Type": media_type(kind), **(headers or {})})


def _authorise(request: Request, token: str) -> None:
    given = request.headers.get("authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise DapProblem(None, "this needs the token: 'Authorization: Bearer …'", 401)


async def _body(request: Request, kind: type[Message]) -> bytes:
    if not is_media_type(request.headers.get("content-type", ""), media_type(kind)):
        raise DapProblem(None, f"send {media_type(kind)}", 415)
    return await request.body()


def _task_id(request: Request) -> bytes:
    found = decode_id(request.path_params["task"], TASK_ID_SIZE)
    if found is None:
        raise DapProblem(ProblemType.UNRECOGNIZED_TASK, "this is not the id of a task", 404)
    return found


def _resource_id(request: Request) -> bytes:
    found: Any = decode_id(request.path_params["key"], RESOURCE_ID_SIZE)
    if not isinstance(found, bytes):
        raise DapProblem(None, "this is not the id of a resource", 404)
    return found
