"""Options that several commands share, so that they read and behave the same everywhere."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output, for scripts.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random; the same seed gives the same result.")]

console = Console()


def print_json(value: Any) -> None:
    """Print `value` as JSON on standard output, untouched by colours or line wrapping."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
