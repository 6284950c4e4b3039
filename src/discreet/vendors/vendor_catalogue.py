"""The items and the scale that vendors have agreed on, and what a vendor's own data are on these.

Both are public. They never come from ratings: a list that is made of ratings shows, without any noise, that somebody
rated an item, or how high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from discreet.data.purchases import Purchases
from discreet.data.ratings import Items, Ratings
from discreet.errors import InputError
from discreet.progress import notice


class Catalogue(NamedTuple):
    """The items' ids, whose order numbers them, and the lowest and the highest rating (0 and 1 for purchases)."""

    items: Sequence[str]
    scale: tuple[float, float]


def listed_items(path: Path) -> tuple[str, ...]:
    """Read the items of a catalogue from a text file, one item's id a line.

    Raises:
        InputError: it cannot be read, has no item, or has an id twice.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read as a list of items ({error})") from error
    places: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        name = line.strip()
        if name and name in places:
            raise InputError(path, f"has item {name} a second time (first on line {places[name]})", number)
        if name:
            places[name] = number
    if not places:
        raise InputError(path, "lists no item; write one item's id a line")
    return tuple(places)


def placed(ratings: Ratings, catalogue: Catalogue, name: str = "the catalogue") -> Ratings:
    """Number the items as in the catalogue, and put the ratings on its scale.

    Nothing is refused: that would tell, without any noise, that somebody has rated such an item or so high. Ratings of
    items outside of the catalogue are left out, values outside of the scale are moved to its ends. A notice says so on
    the vendor's own machine, and nowhere else. The catalogue may have items that the vendor has not; nothing is known
    about those here but their ids.
    """
    implicit = isinstance(ratings, Purchases)
    low, high = catalogue.scale
    numbers = {item: number for number, item in enumerate(catalogue.items)}
    mapped = np.array([numbers.get(item, -1) for item in ratings.items.ids], np.int32)
    kept = (mapped[ratings.item] >= 0) & np.isfinite(ratings.value)
    value = ratings.value[kept]
    if not kept.all():
        what = "purchases" if implicit else "ratings"
        notice(f"{ratings.name}: {np.sum(~kept):,} {what} are of no item of {name}, and are left out")
    off = (value < low) | (value > high)
    if not implicit and (off.any() or not (value > (low + high) / 2).any()):
        notice(
            f"{ratings.name}: {np.sum(off):,} ratings are off the scale of {name} from {low:g} to {high:g} and"
            " are moved to its ends; are these the same stars?"
        )
    return replace(
        ratings,
        user=ratings.user[kept],
        item=mapped[ratings.item[kept]],
        value=np.clip(value, low, high),
        time=ratings.time[kept],
        items=_extended(ratings.items, catalogue.items),
        scale=catalogue.scale,
    )


def _extended(own: Items, catalogue: Sequence[str]) -> Items:
    """Return the catalogue's items, with what the vendor's own source says of them."""
    numbers = {item: number for number, item in enumerate(own.ids)}
    known = [numbers.get(item) for item in catalogue]
    return Items(
        list(catalogue),
        ["" if number is None else own.titles[number] for number in known],
        [() if number is None else own.genres[number] for number in known],
        np.array([-1 if number is None else own.years[number] for number in known], np.int32),
    )
