"""The items that all vendors of a job have agreed on. Public."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import InputError


def listed_items(path: Path) -> tuple[str, ...]:
    """A catalogue in a text file, one item's id a line.

    Raises:
        InputError: it cannot be read, or has an id twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read as a list of items ({error})") from error
    places: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        name = line.strip()
        if name and name in places:
            raise InputError(path, f"has item {name} a second time (first on line {places[name]})", number)
        if name:
            places[name] = number
    return tuple(places)
