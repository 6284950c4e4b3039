"""The HTTP server of an application: uvicorn, with this project's limits on connections."""

from __future__ import annotations

import resource
import ssl
from dataclasses import replace
from functools import partial
from pathlib import Path

import uvicorn

from discreet.errors import InputError
from discreet.serving.addresses import BACKLOG
from discreet.serving.connections import Connection
from discreet.serving.gate import Gate
from discreet.serving.limits import ServerLimits

FINISH_SECONDS = 6  # for requests that are being answered when the server is told to stop
_OTHER_FILES = 100


def http_server(app: Gate, certificate: Path | None = None, certificate_key: Path | None = None) -> uvicorn.Server:
    """The HTTP server of an application, with its limits on connections; with a certificate it speaks TLS."""
    tls = None if certificate is None else _tls(certificate, certificate_key)
    config = uvicorn.Config(
        app,
        http=partial(Connection, app.crowd, tls),  # type: ignore[arg-type]
        loop="auto" if tls is None else "asyncio",  # uvloop reads on while a new transport is paused for TLS to begin
        access_log=False,
        log_config=None,
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=FINISH_SECONDS,
    )
    return uvicorn.Server(config)


def _tls(certificate: Path, key: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise InputError(certificate, f"and its key cannot be used for TLS ({error.strerror or error})") from error
    return context


def within_reach(limits: ServerLimits) -> ServerLimits:
    """No more connections than the process may have open files.

    As many again are kept for those that are accepted at once, before any of them is given a place.
    """
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.max_connections + BACKLOG + _OTHER_FILES
    if few == resource.RLIM_INFINITY or few >= wanted:
        return limits
    few = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))
    room = few - _OTHER_FILES
    return replace(limits, max_connections=min(limits.max_connections, max(1, room - BACKLOG, room // 2)))
