"""The command tree."""

from __future__ import annotations

import typer

from discreet.cli import (
    aggregate,
    audit,
    compare,
    data,
    demo,
    evaluate,
    listing,
    nodes,
    reproduce,
    serve,
    train,
    vendors,
    vendors_share,
)

app = typer.Typer(
    help="Private recommendation that says truthfully what it costs in privacy.",
    epilog="Start with: discreet demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.add_typer(data.app, name="data")
app.command()(train.train)
app.command()(evaluate.evaluate)
app.command()(compare.compare)
app.command()(audit.audit)
app.command()(serve.serve)
app.add_typer(vendors.app, name="vendors")
vendors.app.command()(vendors_share.share)
vendors.app.command()(vendors_share.read)
app.add_typer(nodes.app, name="nodes")
app.add_typer(aggregate.app, name="aggregate")
app.command()(reproduce.reproduce)
app.command("list")(listing.list_all)
