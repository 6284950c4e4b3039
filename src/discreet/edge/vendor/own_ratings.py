"""A vendor's own ratings or purchases on the catalogue that all vendors of a job have agreed on."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from discreet.data.open import open_feedback
from discreet.data.purchases import Purchases
from discreet.data.ratings import Ratings
from discreet.nodes.configuration import NodeSettings
from discreet.vendors.partition import partition
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.vendor_catalogue import Catalogue, placed


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
    Nothing is refused for what users rated (`placed`).
    """
    if job.feedback == "implicit" and not isinstance(ratings, Purchases):
        ratings = Purchases.likes(ratings, job.threshold)
    return placed(ratings, Catalogue(job.items, job.scale), f"'{job.name}'")
