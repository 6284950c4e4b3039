"""A vendor's own ratings on the catalogue that all vendors of a job have agreed on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.data.open import open_ratings
from discreet.data.ratings import Items, Ratings
from discreet.errors import DiscreetError
from discreet.progress import notice
from discreet.vendors.partition import partition
from discreet.vendors.sharing.job import ShareJob


def vendor_ratings(path: Path, part: str | None) -> Ratings:
    """The ratings of one vendor: all of its file, or, to try things out, the k-th part of N for a part "k/N".

    The deal is that of `discreet vendors compare --vendors N` with its first seed.
    """
    ratings = open_ratings(path)
    if part is None:
        return ratings
    number, vendors = (int(word) for word in part.split("/"))
    return partition(ratings, vendors)[number - 1]


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
