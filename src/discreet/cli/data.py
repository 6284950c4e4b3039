"""`discreet data`: make and check data sets."""

from __future__ import annotations

import typer

app = typer.Typer(help="Make and check data sets.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Make and check data sets."""
