"""The helper of split sums over HTTP: one resource, which answers a leader."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from discreet.aggregation.secure_sum.refusals import Refused
from discreet.aggregation.split_sum.split_helper import SplitHelper
from discreet.nodes.split_sums import SUM_PATH
from discreet.serving.addresses import Proxies
from discreet.serving.gate import Gate, Metrics
from discreet.serving.http import http_server, within_reach
from discreet.serving.limits import ServerLimits
from discreet.serving.logs import configure

MAX_BODY = 4 << 20
"""Sealed seeds of some 28,000 nodes."""


def split_helper_app(helper: SplitHelper) -> Starlette:
    """Answers with the sum of all masks, or with 400 and one line that says why not."""

    async def add_up(request: Request) -> Response:
        body = await request.body()
        try:
            answer = await asyncio.to_thread(helper.answer, body)
        except Refused as refusal:
            return PlainTextResponse(f"{type(refusal).__name__}: {refusal}", 400)
        return Response(answer, media_type="application/octet-stream")

    return Starlette(routes=[Route(SUM_PATH, add_up, methods=["POST"])])


def run_split_helper(
    helper: SplitHelper, listener: socket.socket, certificate: Path | None, certificate_key: Path | None
) -> None:
    """Serve until the process is told to stop."""
    configure("info")
    limits = ServerLimits(max_body=MAX_BODY, max_admin_body=MAX_BODY)
    gate = Gate(split_helper_app(helper), within_reach(limits), Metrics(), Proxies())
    http_server(gate, certificate, certificate_key).run([listener])
