"""A vendor's own ratings on the catalogue that all vendors of a job have agreed on."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from discreet.data.open import open_ratings
from discreet.data.ratings import Items, Ratings
from discreet.errors import DiscreetError, InputError
from discreet.federated.flower.configuration import NodeSettings
from discreet.progress import notice
from discreet.vendors.partition import partition
from discreet.vendors.sharing.job import ShareJob


def vendor_ratings(settings: NodeSettings) -> Ratings:
    """The ratings of one vendor: all of its data, or, to try things out, the k-th part of N where it is set to "k/N".

    The deal is that of `discreet vendors compare --vendors N` with its first seed.
    """
    number, vendors = settings.part_of()
    if vendors == 1:
        return open_ratings(settings.data)
    return _dealt(settings.data, settings.data.stat().st_mtime_ns if settings.data.exists() else 0, vendors)[number - 1]


@lru_cache(maxsize=1)
def _dealt(path: Path, changed: int, vendors: int) -> list[Ratings]:  # noqa: ARG001 (a part of the key)
    """All parts of the data as it was when it was last `changed`; kept for the other nodes of this process."""
    return partition(open_ratings(path), vendors)


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


def on_catalogue(ratings: Ratings, job: ShareJob) -> Ratings:
    """The ratings with items numbered as in the job's catalogue, and on its scale.

    The catalogue may have items that the vendor has not; nothing is known about those here but their ids.

    Raises:
        DiscreetError: an item is not in the catalogue, or the ratings are on another scale: outside of the job's, or
            none in its upper half. The line names neither item nor rating, since it is told to the server; a notice
            does, for whoever runs the node.
    """
    place = {name: number for number, name in enumerate(job.items)}
    unknown = next((name for name in ratings.items.ids if name not in place), None)
    if unknown is not None:
        notice(f"{ratings.name}: item {unknown} is not in the catalogue of '{job.name}'")
        raise DiscreetError("this vendor has items that are not in the job's catalogue")
    low, high = job.scale
    least, most = float(ratings.value.min()), float(ratings.value.max())
    if not (low <= least and (low + high) / 2 < most <= high):
        notice(
            f"{ratings.name}: ratings go from {least:g} to {most:g}, the scale of '{job.name}' from {low:g} to {high:g}"
        )
        raise DiscreetError(f"this vendor's ratings are not on the job's scale from {low:g} to {high:g}")
    mapped = np.array([place[name] for name in ratings.items.ids], np.int32)
    return replace(ratings, item=mapped[ratings.item], items=_extended(ratings.items, job.items), scale=job.scale)


def _extended(own: Items, catalogue: tuple[str, ...]) -> Items:
    """The catalogue's items, with what the vendor's own source says of them."""
    place = {name: number for number, name in enumerate(own.ids)}
    known = [place.get(name) for name in catalogue]
    return Items(
        list(catalogue),
        ["" if number is None else own.titles[number] for number in known],
        [() if number is None else own.genres[number] for number in known],
        np.array([-1 if number is None else own.years[number] for number in known], np.int32),
    )
