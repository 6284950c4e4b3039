"""Durations on the command line, such as 90s, 10m, 2h or 7d."""

from __future__ import annotations

import re

import click

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX = 366 * 86_400


class Duration(click.ParamType[int]):
    """Whole seconds, minutes, hours or days, as seconds."""

    name = "DURATION"

    def __init__(self, least: int) -> None:
        self._least = least

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Seconds; a number that was converted before stays."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,9})([smhd])", str(value).strip())
        seconds = int(found[1]) * _SECONDS[found[2]] if found else -1
        if not self._least <= seconds <= _MAX:
            self.fail(f"'{value}' is no duration from {self._least}s to 366d, such as 90s, 10m, 2h or 7d", param, ctx)
        return seconds
