"""What the server has for browsers besides its API: the reader's page, its files, the notice, the API's words."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from functools import cache
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles

from discreet.aggregation.task import Task
from discreet.serving.bundle import WEB, bundle
from discreet.serving.catalogue_pages import Sent
from discreet.serving.docs_page import docs_page
from discreet.serving.notice import notice_of
from discreet.serving.service import Service

_OF_THE_PAGE = ("device", "icons", "page", "page.css", "page.js")
_NO_HELPERS = '<meta name="discreet-helpers" content="">'
_NO_FILES = 'const FILES = ["/"];'


def mount_pages(app: FastAPI, service: Service, *, with_admin: bool = False) -> None:
    """Add the pages to an application."""
    if with_admin:

        @app.get("/admin", include_in_schema=False)
        async def admin() -> FileResponse:
            """The operator's page. It holds nothing; its script asks for the token, and with it for the status."""
            return FileResponse(WEB / "admin.html", headers={"Cache-Control": "no-cache"})

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(docs_page(app.openapi()))

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        if not (WEB / "index.html").exists():
            return HTMLResponse(docs_page(app.openapi()))
        return HTMLResponse(_index(tuple(sorted({task.helper for task in service.offer.tasks}))))

    @app.get("/worker.js", include_in_schema=False)
    async def worker() -> Response:
        """The service worker, from a path that lets it keep the page at / for when there is no connection."""
        return Response(_worker(), media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    @app.get("/notice", include_in_schema=False)
    async def notice() -> HTMLResponse:
        return HTMLResponse(notice_of(service.model, service.offer).as_html())

    @app.get("/notice.txt", include_in_schema=False)
    async def notice_text() -> PlainTextResponse:
        return PlainTextResponse(notice_of(service.model, service.offer).as_text())

    @app.get("/discreet.js", include_in_schema=False)
    async def script(request: Request) -> Response:
        """Code, the same for everybody: any page may load it. What it asks for needs the page's origin allowed."""
        sent, packs = _script(), "gzip" in request.headers.get("accept-encoding", "")
        headers = {
            "Access-Control-Allow-Origin": "*",
            "Cross-Origin-Resource-Policy": "cross-origin",
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding",
            **({"Content-Encoding": "gzip"} if packs else {}),
        }
        return Response(sent.compressed if packs else sent.plain(), media_type="text/javascript", headers=headers)

    app.mount("/web", StaticFiles(directory=WEB, check_dir=False), name="web")


def connects_to(tasks: Sequence[Task]) -> list[str]:
    """The origins that the page asks besides its own: the aggregators of the tasks."""
    found = {urlsplit(address) for task in tasks for address in (task.leader, task.helper)}
    return sorted({f"{address.scheme}://{address.netloc}" for address in found})


@cache
def _script() -> Sent:
    return Sent.of(bundle())


@cache
def _index(helpers: tuple[str, ...]) -> str:
    text = (WEB / "index.html").read_text(encoding="utf-8")
    assert _NO_HELPERS in text
    return text.replace(_NO_HELPERS, _NO_HELPERS.replace('content=""', f'content="{html.escape(" ".join(helpers))}"'))


@cache
def _worker() -> str:
    """With the names of all files that the page is made of."""
    parts = [WEB / name for name in _OF_THE_PAGE]
    files = [path for part in parts for path in (part.rglob("*") if part.is_dir() else [part]) if path.is_file()]
    names = ["/", *sorted(f"/web/{path.relative_to(WEB).as_posix()}" for path in files)]
    text = (WEB / "worker.js").read_text(encoding="utf-8")
    assert _NO_FILES in text
    return text.replace(_NO_FILES, f"const FILES = {json.dumps(names)};")
