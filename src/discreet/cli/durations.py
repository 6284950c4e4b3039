"""Durations on the command line, such as 90s, 10m, 2h or 7d."""

from __future__ import annotations

import re
from collections.abc import Callable

import typer

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX = 366 * 86_400


def duration(least: int) -> Callable[[object], int]:
    """Whole seconds, minutes, hours or days, as seconds: the parser of an option."""

    def seconds_of(value: object) -> int:
        found = re.fullmatch(r"(\d{1,9})([smhd])", str(value).strip())
        seconds = int(found[1]) * _SECONDS[found[2]] if found else -1
        if not least <= seconds <= _MAX:
            raise typer.BadParameter(f"'{value}' is no duration from {least}s to 366d, such as 90s, 10m, 2h or 7d")
        return seconds

    return seconds_of
