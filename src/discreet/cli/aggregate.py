"""`discreet aggregate`: sums over two aggregators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import say

app = typer.Typer(help="Sums that nobody sees into, over aggregators that do not collude.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Sums that nobody sees into, over aggregators that do not collude."""


@app.command("check-vector")
def check_vector(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Test vectors of VDAF, in its JSON form.")],
) -> None:
    """Do again what VDAF's test vectors say, and compare every byte.

    The file's name begins with the variant, as in Prio3Sum_0.json.

    Example: discreet aggregate check-vector test_vec/vdaf/Prio3*.json
    """
    from discreet.aggregation import check_vector

    for file in files:
        checked = check_vector(file)
        say(f"{file}: {checked.variant}, {checked.operations} operations as the vector says")
