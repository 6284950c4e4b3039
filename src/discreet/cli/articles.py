"""`discreet articles`: the catalogue of a server, for scripts."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import AsJson, print_json, say
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.serving.administration import Administration

app = typer.Typer(
    help="Add, expire and list articles: through a running server, or in its database.", no_args_is_help=True
)

Server = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A running server, such as http://127.0.0.1:8000; needs --admin-token-file."),
]
TokenFile = Annotated[Path | None, typer.Option(metavar="FILE", help="The file with the administrator's token.")]
Database = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The server's database instead (by default serving.sqlite here)."),
]


class StateChoice(StrEnum):
    """What has become of an article."""

    waiting = "waiting"
    listed = "listed"
    expired = "expired"
    deleted = "deleted"


@app.command()
def add(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Articles as a feed has them (csv, JSON lines, RSS …); - for standard input"
        ),
    ],
    server: Server = None,
    admin_token_file: TokenFile = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Add articles, or replace those with the same id. They are listed within seconds where a server runs.

    Example: discreet articles add new.csv
    """
    from discreet.serving.feeds.fetch import Version, fetch, require_address
    from discreet.serving.feeds.formats import read_feed

    if file == "-":
        body, address = sys.stdin.buffer.read(), "standard input"
    else:
        fetched = fetch(require_address(file), Version())
        body, address = (fetched.body, fetched.address) if fetched else (b"", file)
    feed = read_feed(body, address, int(time.time()))
    if feed.articles:
        _opened(server, admin_token_file, database, must_exist=False).add(feed.articles)
    if as_json:
        print_json({"added": len(feed.articles), "problems": [str(problem) for problem in feed.problems]})
    else:
        for problem in feed.problems:
            print(problem, file=sys.stderr)
        say(f"{len(feed.articles)} articles were added.")
    if not feed.articles:
        raise DiscreetError(f"{address}: has no article that can be used")


@app.command()
def expire(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Which articles.")],
    server: Server = None,
    admin_token_file: TokenFile = None,
    database: Database = None,
) -> None:
    """Recommend articles no more. A feed that still has them does not bring them back.

    Example: discreet articles expire N42 N43
    """
    catalogue = _opened(server, admin_token_file, database)
    for article in ids:
        catalogue.expire(article)
        say(f"{article}: expired")


@app.command("list")
def list_articles(
    state: Annotated[StateChoice | None, typer.Option(help="Only those in this state.")] = None,
    server: Server = None,
    admin_token_file: TokenFile = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List articles with their states, in the order of their ids.

    Example: discreet articles list --state listed
    """
    found = _opened(server, admin_token_file, database).articles(None if state is None else state.value)
    if as_json:
        print_json({"articles": list(found)})
        return
    for article in found:
        say(f"{article['state']:8} {article['id']}  {article['title']}")


def _opened(
    server: str | None, token_file: Path | None, database: str | None, *, must_exist: bool = True
) -> Administration:
    from discreet.serving.administration import OfDatabase, OfServer
    from discreet.serving.server import DATABASE, read_token

    if server is None:
        if token_file is not None:
            raise DiscreetError("--admin-token-file goes with --server")
        return OfDatabase(database or DATABASE, must_exist=must_exist)
    if database is not None:
        raise DiscreetError("name a --server or a --database, not both")
    if token_file is None:
        raise DiscreetError("--server needs --admin-token-file")
    return OfServer(server, read_token(token_file))
