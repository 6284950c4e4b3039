"""`discreet articles`: the catalogue of a server, for scripts."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.administered import Database, Server, TokenFile, administration
from discreet.cli.options import AsJson, print_json, say
from discreet.errors import DiscreetError, InputError
from discreet.progress import counted

app = typer.Typer(
    help="Add, expire and list articles: through a running server, or in its database.", no_args_is_help=True
)


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
    """Add articles, or replace those with the same address or id. They are listed within seconds where a server runs.

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
        administration(server, admin_token_file, database, must_exist=False).add(feed.articles)
    if as_json:
        print_json({"added": len(feed.articles), "problems": [str(problem) for problem in feed.problems]})
    else:
        for problem in feed.problems:
            print(problem, file=sys.stderr)
        say(f"Added: {counted(len(feed.articles), 'article')}.")
    if not feed.articles:
        raise DiscreetError(f"{address}: has no article that can be used")


@app.command()
def expire(
    names: Annotated[list[str], typer.Argument(metavar="ARTICLE...", help="Which articles, by id or address.")],
    server: Server = None,
    admin_token_file: TokenFile = None,
    database: Database = None,
) -> None:
    """Recommend articles no more. A feed that still has them does not bring them back.

    Example: discreet articles expire N42 https://news.example/43
    """
    catalogue = administration(server, admin_token_file, database)
    for article in names:
        catalogue.expire(article)
        say(f"{article}: expired")


@app.command()
def shown(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help='JSON lines such as {"articles": ["N1", "N2"], "shown": 120}: what was shown together, and how often'
            " since the last time; - for standard input",
        ),
    ],
    server: Server = None,
    admin_token_file: TokenFile = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Send which slates your own pages showed, for a server with --exposure logged. No reader is in them.

    Example: discreet articles shown slates.jsonl
    """
    from pydantic import ValidationError

    from discreet.serving.api_messages import SlateCount

    slates: list[SlateCount] = []
    for number, line in enumerate(_lines(file), start=1):
        try:
            slates += [SlateCount.model_validate_json(line)] if line.strip() else []
        except ValidationError as error:
            wrong = error.errors()[0]
            field = "".join(f"{part}: " for part in wrong["loc"])
            raise InputError(file, f"no slate ({field}{wrong['msg']})", number) from None
    administration(server, admin_token_file, database).add_slates(slates)
    if as_json:
        print_json({"slates": len(slates), "shown": sum(slate.shown for slate in slates)})
    else:
        say(f"Counted: {counted(sum(slate.shown for slate in slates), 'show')} of {counted(len(slates), 'slate')}.")


def _lines(file: str) -> list[str]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DiscreetError(f"{file}: cannot be read ({error})") from None
    return text.splitlines()


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
    found = administration(server, admin_token_file, database).articles(None if state is None else state.value)
    if as_json:
        print_json({"articles": list(found)})
        return
    for article in found:
        say(f"{article['state']:8} {article['id']}  {article['title']}")
