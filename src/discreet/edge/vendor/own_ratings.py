"""A vendor's own ratings or purchases on the catalogue that all vendors of a job have agreed on."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from discreet.data.open import open_feedback
from discreet.data.purchases import Purchases
from discreet.data.ratings import Items, Ratings
from discreet.nodes.configuration import NodeSettings
from discreet.progress import notice
from discreet.vendors.partition import partition
from discreet.vendors.sharing.job import ShareJob


def vendor_ratings(settings: NodeSettings) -> Ratings:
    """What one vendor has: all of its data, or, to try things out, the k-th part of N where it is set to "k/N".

    They are `Purchases` where the data has no ratings.

    The deal is that of `discreet vendors compare --vendors N` with its first seed.
    """
    number, vendors = settings.part_of()
    if vendors == 1:
        return open_feedback(settings.data)
    return _dealt(settings.data, settings.data.stat().st_mtime_ns if settings.data.exists() else 0, vendors)[number - 1]


@lru_cache(maxsize=1)
def _dealt(path: Path, changed: int, vendors: int) -> list[Ratings]:  # noqa: ARG001 (a part of the key)
    """All parts of the data as it was when it was last `changed`; kept for the other nodes of this process."""
    return partition(open_feedback(path), vendors)


def on_catalogue(ratings: Ratings, job: ShareJob) -> Ratings:
    """The ratings with items numbered as in the job's catalogue, and on its scale; or, if the job says so, purchases.

    Where the job is about purchases and the vendor has ratings, those that are high enough count as purchases.

    Nothing is refused: that would tell, without any noise, that somebody has rated such an item or so high. Ratings of
    items outside of the catalogue are left out, values outside of the scale are moved to its ends. A notice says so to
    the operator of the node, and to nobody else. The catalogue may have items that the vendor has not; nothing is known
    about those here but their ids.
    """
    implicit, what = job.feedback == "implicit", "purchases" if job.feedback == "implicit" else "ratings"
    if implicit and not isinstance(ratings, Purchases):
        ratings = Purchases.likes(ratings, job.threshold)
    low, high = job.scale
    place = {name: number for number, name in enumerate(job.items)}
    mapped = np.array([place.get(name, -1) for name in ratings.items.ids], np.int32)
    value = ratings.value
    kept = (mapped[ratings.item] >= 0) & np.isfinite(value)
    off = kept & ((value < low) | (value > high))
    if not kept.all():
        notice(f"{ratings.name}: {np.sum(~kept):,} {what} are of no item of '{job.name}', and are left out")
    if not implicit and (off.any() or not (value[kept] > (low + high) / 2).any()):
        notice(
            f"{ratings.name}: {np.sum(off):,} ratings are off the scale of '{job.name}' from {low:g} to {high:g} and"
            " are moved to its ends; are these the same stars?"
        )
    return replace(
        ratings,
        user=ratings.user[kept],
        item=mapped[ratings.item[kept]],
        value=np.clip(value[kept], low, high),
        time=ratings.time[kept],
        items=_extended(ratings.items, job.items),
        scale=job.scale,
    )


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
