"""`discreet status` and `discreet models`: what a server has learnt, and which version of it serves."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from discreet.cli.administered import Database, Server, TokenFile, administration
from discreet.cli.options import AsJson, print_json, say
from discreet.progress import counted

app = typer.Typer(help="Versions of what was learnt from sums: list them, and go back to one.", no_args_is_help=True)


def status(
    server: Server = None, admin_token_file: TokenFile = None, database: Database = None, as_json: AsJson = False
) -> None:
    """Say what a server has learnt, how good its ranking is, and what that cost its readers.

    Example: discreet status --server http://127.0.0.1:8000 --admin-token-file token
    """
    from discreet.serving.status import status_lines

    found = administration(server, admin_token_file, database).status()
    if as_json:
        print_json(found)
        return
    for line in status_lines(found):
        say(line)


@app.command("list")
def list_models(
    server: Server = None, admin_token_file: TokenFile = None, database: Database = None, as_json: AsJson = False
) -> None:
    """List model versions, the newest first.

    Example: discreet models list --database serving.sqlite
    """
    found = administration(server, admin_token_file, database).models()
    if as_json:
        print_json(found)
        return
    if not found["versions"]:
        say("Nothing was learnt from sums yet, so there is no version.")
    for version in found["versions"]:
        made = time.strftime("%Y-%m-%d %H:%M", time.gmtime(version["made"]))
        held = "  ROLLED BACK TO" if version["version"] == found["rolled_back_to"] else ""
        kept = "" if version["usable"] else "  (name only)"
        say(f"{version['version']}  {made}  {counted(version['sums'], 'sum')}  {version['reason']}{kept}{held}")


@app.command()
def rollback(
    version: Annotated[str, typer.Argument(help="A version, or as much of its name as tells it apart.")],
    server: Server = None,
    admin_token_file: TokenFile = None,
    database: Database = None,
) -> None:
    """Serve what an earlier version knew, until 'discreet models lift'. Learning goes on meanwhile.

    Example: discreet models rollback 1f0c6f
    """
    chosen = administration(server, admin_token_file, database).rollback(version)
    say(f"Version {chosen} serves until the rollback is lifted.")


@app.command()
def lift(server: Server = None, admin_token_file: TokenFile = None, database: Database = None) -> None:
    """End a rollback: what was learnt last serves again.

    Example: discreet models lift
    """
    administration(server, admin_token_file, database).lift()
    say("What was learnt last serves again.")
