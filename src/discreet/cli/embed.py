"""`discreet embed` and `discreet notice`: what a publisher puts on its own pages."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.options import AsJson, print_json, say
from discreet.errors import DiscreetError

Server = Annotated[
    str, typer.Argument(metavar="URL", help="A running server, such as https://news.example or http://127.0.0.1:8000.")
]


def embed(
    server: Server,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write discreet.js there, to serve it from your own site.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the two lines of HTML that put a server's front page on a page of your own.

    The first names the SHA-384 of the script, so that browsers run these very bytes; print the lines again after the
    server was renewed. The second names the helpers of the server's sums: whoever owns the page decides whom to trust.

    Example: discreet embed https://news.example
    """
    from discreet.files import check_file, replacing_file
    from discreet.protocol.check import parse
    from discreet.serving.bundle import bundle, integrity_of

    if write is not None:
        check_file(write)
    address = server.rstrip("/")
    script = _fetched(address, "/discreet.js")
    tasks = _fetched(address, "/v1/tasks", may_lack=True)
    found: Any = {"tasks": []} if tasks is None else parse(tasks)
    helpers = " ".join(sorted({task["helper"] for task in found["tasks"]}))
    assert script is not None
    if write is not None:
        with replacing_file(write) as draft:
            draft.write_bytes(script)
    source = f"{address}/discreet.js" if write is None else write.name
    trusted = f' helper="{html.escape(helpers)}"' if helpers else ""
    lines = [
        f'<script type="module" src="{html.escape(source)}" integrity="{integrity_of(script)}" crossorigin></script>',
        f'<discreet-front-page server="{html.escape(address)}"{trusted}></discreet-front-page>',
    ]
    if as_json:
        same = script == bundle()
        print_json({"html": lines, "integrity": integrity_of(script), "helpers": helpers.split(), "same_version": same})
    else:
        for line in lines:
            print(line)


def notice(
    server: Server,
    as_html: Annotated[bool, typer.Option("--html", help="As a page.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print what to tell readers, in plain words, made from the guarantees of what a server serves.

    With --json each sentence comes with its name and its parameters, to be translated.

    Example: discreet notice http://127.0.0.1:8000
    """
    from discreet.protocol.check import parse

    address = server.rstrip("/")
    path = "/v1/notice" if as_json else "/notice" if as_html else "/notice.txt"
    body = _fetched(address, path)
    assert body is not None
    if as_json:
        print_json(parse(body))
    else:
        say(body.decode().rstrip("\n"))


def _fetched(address: str, path: str, may_lack: bool = False) -> bytes | None:
    from discreet.edge.reader.http_client import over_http

    try:
        reply = over_http("GET", address + path, {}, None)
    except OSError as error:
        why = getattr(error, "reason", error)
        raise DiscreetError(f"{address} cannot be reached ({why}); start it with 'discreet serve'") from None
    if reply.status == 404 and may_lack:
        return None
    if reply.status != 200:
        raise DiscreetError(f"{address}{path}: {reply.status}, {reply.error() or 'is this a Discreet server?'}")
    return reply.body
