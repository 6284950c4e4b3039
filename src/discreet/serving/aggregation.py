"""Aggregators behind this server's door: processes of their own, or leader and collector inside `discreet serve`."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp

from discreet.aggregation.dap.collector import Collector
from discreet.aggregation.dap.config import Config
from discreet.aggregation.dap.http_app import Admission, helper_app, leader_app
from discreet.aggregation.dap.messages import CollectionJobReq, CollectionJobResp
from discreet.aggregation.dap.problems import DapProblem
from discreet.aggregation.dap.retention import ClockWatch
from discreet.aggregation.dap.transport import POLL_SECONDS, PeerError
from discreet.aggregation.dap.worker import Worker
from discreet.aggregation.task import Task
from discreet.serving.addresses import Proxies
from discreet.serving.gate import Gate, Metrics
from discreet.serving.http import http_server, within_reach
from discreet.serving.limits import ServerLimits
from discreet.serving.logs import configure, log, log_seldom
from discreet.serving.public_tasks import mount_tasks
from discreet.serving.rate import Buckets
from discreet.serving.refusal import RequestRefusal

PREFIX = "/dap"
MAX_JOB_BODY = 16 << 20
_DAY = 86_400
_FORGET_SECONDS, _CHECK_SECONDS = 3600.0, 60.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Aggregator:
    """A leader or a helper that can be served.

    Attributes:
        app: Its resources.
        start: Begins its background work.
        close: Ends it.
        tasks: Its tasks.
        max_body: Bytes of a request: of a report, or of an aggregation job.
        collector: Collects sums, where the leader's process has the collector's key.
        cells: The folder with the public lists of what values stand for.
        worker: What a leader does in the background.
    """

    app: Starlette
    start: Callable[[], None]
    close: Callable[[], None]
    tasks: list[Task]
    max_body: int = ServerLimits.max_body
    collector: Collector | None = None
    cells: Path | None = None
    worker: Worker | None = None

    def health(self) -> dict[str, str]:
        """How aggregators are, in a word each; empty where nobody knows."""
        if self.worker is None:
            return {}
        reached = self.worker.reached
        return {
            "leader": "serving",
            **({"clock": self.worker.clock.problem} if self.worker.clock.problem else {}),
            **{
                f"helper of {task.name}": {True: "answers", False: "does not answer", None: "was not asked yet"}[
                    reached.get(task.name)
                ]
                for task in self.tasks
            },
        }

    def refused(self) -> dict[str, int]:
        """How many reports were refused since the start, by reason."""
        return {} if self.worker is None else dict(self.worker.refused)


def open_leader(config: Config, proxies: Proxies | None = None, admit: Admission | None = None) -> Aggregator:
    """The leader of a configuration file. `admit` decides who may upload; by default each address so often a day."""
    leader = config.leader()
    worker = Worker(leader, config.job_seconds, config.keep_seconds, log_seldom)
    each = one_address_admission(config.max_reports_of_one, proxies or Proxies(config.trusted_proxies))
    app = _guarded(leader_app(leader, worker, config.token("collector_token"), admit or each))
    key = config.collector()
    collector = None if key is None else Collector(key, _inside(worker))
    tasks = [one.task for one, _ in leader.tasks.values()]
    cells = None if config.cells is None else config.file(config.cells)
    return Aggregator(app, worker.start, worker.close, tasks, collector=collector, cells=cells, worker=worker)


def open_helper(config: Config) -> Aggregator:
    """The helper of a configuration file."""
    helper = config.helper()
    stopped, clock = threading.Event(), ClockWatch(helper.clock_problem, log)

    def forget() -> None:
        due = time.monotonic()  # the clock may be wrong
        while not stopped.wait(_CHECK_SECONDS if time.monotonic() < due else 0):
            try:
                clock.look()
                if time.monotonic() >= due:
                    due = time.monotonic() + _FORGET_SECONDS
                    helper.forget(config.keep_seconds)
            except Exception as error:  # the next hour may do better
                log_seldom("error", "old data was not deleted", cause=type(error).__name__)

    def close() -> None:
        stopped.set()
        helper.store.close()

    app = _guarded(helper_app(helper, config.token("leader_token")))
    start = threading.Thread(target=forget, name="dap-forget", daemon=True).start
    return Aggregator(app, start, close, [one.task for one, _ in helper.tasks.values()], MAX_JOB_BODY)


def run_aggregator(aggregator: Aggregator, config: Config, listener: socket.socket, level: str) -> None:
    """Serve a leader or a helper until the process is told to stop."""
    configure(level)
    _with_lifespan(aggregator.app, aggregator)
    limits = ServerLimits(max_body=aggregator.max_body, max_admin_body=aggregator.max_body, rate=config.rate)
    gate = Gate(aggregator.app, within_reach(limits), Metrics(), Proxies(config.trusted_proxies))
    certificate, key = (
        None if one is None else config.file(one) for one in (config.certificate, config.certificate_key)
    )
    http_server(gate, certificate, key).run([listener])


class Background(Protocol):
    """Work in the background of a leader: it starts and ends with it."""

    def start(self) -> None:
        """Begin."""

    def close(self) -> None:
        """End."""


def mount_leader(
    app: Any, leader: Aggregator, background: Sequence[Background] = (), clock: Callable[[], float] = time.time
) -> None:
    """Serve a leader under /dap of another application, announce its tasks there, and let it live as long as that.

    `clock` says which tasks are over.
    """
    app.mount(PREFIX, leader.app)
    mount_tasks(app, leader.tasks, leader.cells, clock)
    _with_lifespan(app, leader, background)


def one_address_admission(max_reports: int, proxies: Proxies) -> Admission:
    """At most so many uploads a day of one address, counted in memory; 0 for any number."""
    shares = Buckets(max_reports / _DAY, max_reports)

    async def admit(request: Request) -> None:
        if max_reports and not shares.take(proxies.client_of(request.scope)):
            raise DapProblem(None, "too many reports from this address today; send it again later", 429)

    return admit


def _inside(worker: Worker) -> Callable[[Task, CollectionJobReq], CollectionJobResp]:
    """How a collector asks the leader in its own process."""

    def ask(task: Task, request: CollectionJobReq) -> CollectionJobResp:
        deadline = time.monotonic() + POLL_SECONDS
        try:
            key = worker.collections.create(task.id, request.encode())
            while (answer := worker.collections.answer(task.id, key)) is None:
                if time.monotonic() > deadline:
                    raise PeerError(f"the sum was not ready in {POLL_SECONDS:g} seconds")
                worker.wake()
                time.sleep(_POLL_SECONDS)
        except DapProblem as problem:
            raise PeerError(problem.detail, problem.kind) from None
        return CollectionJobResp.decode(answer)

    return ask


def _guarded(app: Starlette) -> Starlette:
    """Answer what the door refuses while a body comes."""

    async def refused(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestRefusal)
        return JSONResponse({"error": error.problem}, error.status, {"Connection": "close"})

    app.add_exception_handler(RequestRefusal, refused)
    return app


def _with_lifespan(app: Any, aggregator: Aggregator, background: Sequence[Background] = ()) -> None:
    before = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(application: ASGIApp) -> AsyncIterator[Any]:
        async with before(application) as state:
            for one in (aggregator, *background):
                one.start()
            log("info", "aggregating", tasks=[task.name for task in aggregator.tasks])
            yield state
            for one in (*reversed(background), aggregator):
                await asyncio.to_thread(one.close)

    app.router.lifespan_context = lifespan
