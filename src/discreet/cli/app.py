"""The command tree."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import (
    aggregate,
    articles,
    audit,
    backup,
    compare,
    data,
    database,
    demo,
    embed,
    evaluate,
    listing,
    nodes,
    reproduce,
    retrain,
    serve,
    status,
    submit,
    train,
    vendors,
    vendors_helper,
    vendors_read,
    vendors_share,
)
from discreet.plugins import name_plugins
from discreet.progress import be_verbose
from discreet.version import __version__

app = typer.Typer(
    help="Private recommendation that says truthfully what it costs in privacy.",
    epilog="Start with: discreet demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: ARG001 - its callback prints it
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE",
            help="Import a module of your own that registers methods, models, formats, mechanisms or audits.",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say more about progress, and where an error came from.")
    ] = False,
) -> None:
    """Private recommendation that says truthfully what it costs in privacy."""
    if verbose:
        be_verbose()
    name_plugins(plugin or [])


app.command()(demo.demo)
app.add_typer(data.app, name="data")
app.command()(train.train)
app.command()(evaluate.evaluate)
app.command()(submit.submit)
app.command()(compare.compare)
app.command()(audit.audit)
app.command()(serve.serve)
app.command()(status.status)
app.command()(retrain.retrain)
app.add_typer(status.app, name="models")
app.command()(embed.embed)
app.command()(embed.notice)
app.add_typer(articles.app, name="articles")
app.add_typer(database.app, name="database")
app.command()(backup.backup)
app.command()(backup.restore)
app.add_typer(vendors.app, name="vendors")
vendors.app.command()(vendors_share.share)
vendors.app.command()(vendors_read.read)
vendors.app.command()(vendors_helper.helper)
app.add_typer(nodes.app, name="nodes")
app.add_typer(aggregate.app, name="aggregate")
app.command()(reproduce.reproduce)
app.command("list")(listing.list_all)
