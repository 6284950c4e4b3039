"""Options that several commands share, so that they read and behave the same everywhere."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from discreet.errors import DiscreetError, InputError, install_command
from discreet.extras import has_extra
from discreet.progress import notice


def _existing_text(source: str) -> str:
    if source not in ("auto", "hashed") and not Path(source).exists():
        raise InputError(source, "is no source of title vectors; name auto, hashed, or an existing path")
    return source


def paths_of(text: str) -> list[Path]:
    """The path among the sources of title vectors, if it is one."""
    return [] if text in ("auto", "hashed") else [Path(text)]


AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output, for scripts.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random; the same seed gives the same result.")]
NewsPath = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", exists=True, help="A news data set in its official layout (MIND, Adressa, EB-NeRD, Globo)."
    ),
]
Split = Annotated[str, typer.Option(help="The part of the data to measure on.")]
Text = Annotated[
    str,
    typer.Option(
        metavar="SOURCE",
        callback=_existing_text,
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
        " ('discreet list' names them). 'compare' takes several values, e.g. rate=0.01,0.1, each a row.",
    ),
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", exists=True, help="A folder written by 'discreet train'.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what Discreet wrote there before, and nothing else.")
]

Format = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="Print the table as csv, md (Markdown) or tex (LaTeX).")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Measure everything again, whatever is kept in OUT/measurements.")]

Half = Annotated[
    bool, typer.Option("--half", help="FedNewsRec's protocol: a random half of the readers train, all are tested.")
]
Readers = Annotated[
    int | None, typer.Option("--readers", min=1, help="So many readers, drawn at random, train; all are tested.")
]

Device = Annotated[
    str,
    typer.Option(
        "--device", envvar="DISCREET_DEVICE", help="Where torch computes: cpu, cuda, or auto (cuda if it is there)."
    ),
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", min=1, help="How many trainings go side by side, in processes; the results are the same."),
]

console = Console(width=None if sys.stdout.isatty() else 10_000)
"""A terminal has a width. A pipe or a file has none: whoever reads it gets whole rows."""


def report_page(folder: Path) -> Path:
    """The file of a report that people open; where the extra `plots` is missing, a notice says so beforehand."""
    if has_extra("plots"):
        return folder / "report.html"
    notice(f"no report.html and no plots are made; they need: {install_command('plots')}")
    return folder / "comparison.md"


def say(line: str) -> None:
    """Print a line as it is: no colours, no wrapping, no markup."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print `value` as JSON on standard output, untouched by colours or line wrapping."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def in_plain_words(error: typer.BadParameter) -> str:
    """What is wrong with a value: of a number, which numbers the option takes."""
    kind = getattr(error.param, "type", None)  # an option of Typer from 0.26 on has none
    what = {"integer": "a whole number", "float": "a number"}.get(getattr(kind, "name", "").removesuffix(" range"))
    message = error.message.removeprefix("Value error, ")  # Typer from 0.29 on begins with this
    if what is None:
        return message
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    limits = "" if low is None else f" of at least {low}" if high is None else f" from {low} to {high}"
    given, known, _ = message.partition(" is not ")
    return f"it is {what}{limits}" + (f", not {given}" if known else "")


def parse_settings(pairs: list[str] | None, *, several: bool = False) -> dict[str, Any]:
    """Settings from words such as `fraction=0.1`; numbers become numbers, and `several` values such as 1,10 a tuple."""
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, sign, text = pair.partition("=")
        if not (name and sign and all(text.split(","))):
            raise DiscreetError(f"--set takes NAME=VALUE, such as fraction=0.1, not '{pair}'")
        values = tuple(_number(word) for word in text.split(","))
        if len(values) > 1 and not several:
            raise DiscreetError(f"--set takes one value here, not '{pair}'; 'discreet compare' takes several")
        settings[name] = values if len(values) > 1 else values[0]
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
    for word in [] if text is None else text.split(","):
        try:
            epsilon = float(word)
        except ValueError:
            epsilon = math.nan
        if not epsilon > 0:
            raise DiscreetError(f"{option} takes positive numbers or inf, separated by commas, not '{text}'")
        epsilons.append(epsilon)
    return epsilons


def parse_names(text: str, option: str = "--methods") -> list[str]:
    """The names in a list such as `content,combined`."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise DiscreetError(f"{option} takes names, separated by commas, not '{text}'")
    return names
