"""The HTTP server of an application: uvicorn, with this project's limits on connections."""

from __future__ import annotations

import resource
from dataclasses import replace
from functools import partial
from pathlib import Path

import uvicorn

from discreet.serving.connections import Connection
from discreet.serving.gate import Gate
from discreet.serving.limits import ServerLimits

FINISH_SECONDS = 6  # for requests that are being answered when the server is told to stop
_OTHER_FILES = 100


def http_server(app: Gate, certificate: Path | None = None, certificate_key: Path | None = None) -> uvicorn.Server:
    """The HTTP server of an application, with its limits on connections; with a certificate it speaks TLS."""
    config = uvicorn.Config(
        app,
        http=partial(Connection, app.crowd),  # type: ignore[arg-type]
        access_log=False,
        log_config=None,
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=FINISH_SECONDS,
        ssl_certfile=certificate,
        ssl_keyfile=certificate_key,
    )
    return uvicorn.Server(config)


def within_reach(limits: ServerLimits) -> ServerLimits:
    """No more connections than the process may have open files."""
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.max_connections + _OTHER_FILES
    if few != resource.RLIM_INFINITY and few < wanted:
        few = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))
        return replace(limits, max_connections=max(1, few - _OTHER_FILES))
    return limits
