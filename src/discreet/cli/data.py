"""`discreet data`: make and check data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AsJson, Seed, console, print_json

app = typer.Typer(help="Make and check data sets.", no_args_is_help=True)
