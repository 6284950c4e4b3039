"""Options that several commands share, so that they read and behave the same everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from discreet.errors import DiscreetError

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output, for scripts.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random; the same seed gives the same result.")]
NewsPath = Annotated[
    Path, typer.Argument(metavar="DATA", help="A news data set in its official layout (MIND, Adressa, EB-NeRD, Globo).")
]
Split = Annotated[str, typer.Option(help="The part of the data to measure on.")]
Text = Annotated[
    str,
    typer.Option(
        metavar="SOURCE",
        help="Where title vectors come from: auto (a language model if one is installed, else word vectors, else hashed"
        " words), hashed, or the path of a language model or word-vector file.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting, e.g. fraction=0.1, or of one method among several, e.g. fedrec.rate=0.01"
        " ('discreet list' names them).",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")]

console = Console()


def say(line: str) -> None:
    """Print a line as it is: no colours, no wrapping, no markup."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print `value` as JSON on standard output, untouched by colours or line wrapping."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def parse_settings(pairs: list[str] | None) -> dict[str, int | float | str]:
    """Settings from words such as `fraction=0.1`; numbers become numbers."""
    settings: dict[str, int | float | str] = {}
    for pair in pairs or []:
        name, sign, text = pair.partition("=")
        if not (name and sign and text):
            raise DiscreetError(f"--set takes NAME=VALUE, such as fraction=0.1, not '{pair}'")
        settings[name] = _number(text)
    return settings


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_epsilons(text: str | None, option: str = "--epsilon") -> list[float]:
    """The budgets in a list such as `0.5,1,inf`; none for None."""
    epsilons = []
    for word in (text or "").split(","):
        if word := word.strip():
            try:
                epsilon = float(word)
            except ValueError:
                epsilon = -1.0
            if not epsilon > 0:
                raise DiscreetError(f"{option} takes positive numbers or inf, separated by commas, not '{word}'")
            epsilons.append(epsilon)
    return epsilons
