"""Several vendors' own files as one data set on one catalogue: items are matched by their ids, users never are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from discreet.data.purchases import Purchases
from discreet.data.ratings import Items, Ratings
from discreet.errors import DiscreetError
from discreet.progress import counted
from discreet.vendors.partition import pooled
from discreet.vendors.vendor_catalogue import Catalogue, placed


@dataclass(frozen=True)
class Matching:
    """What the vendors' catalogues have in common.

    Attributes:
        vendors: Each vendor's name with how many of its items others have, how many items and ratings it has, and the
            share of its ratings that are of items which others have.
        everywhere: How many items all have.
        items: How many are in the catalogue.
        shared_users: How many names of users are at more than one vendor.
        what: What they have of the items: a rating, or a purchase.
    """

    vendors: Sequence[tuple[str, int, int, int, float]]
    everywhere: int
    items: int
    shared_users: int
    what: str = "rating"

    def in_words(self) -> list[str]:
        """A line for each vendor, and what else to know."""
        lines = [
            f"{name}: {counted(ratings, self.what)}; another vendor has {matched:,} of its {counted(items, 'item')},"
            f" too ({share:.0%} of its {self.what}s)"
            for name, matched, items, ratings, share in self.vendors
        ]
        lines.append(f"All vendors have {self.everywhere:,} of the catalogue's {counted(self.items, 'item')}, by id.")
        if self.shared_users:
            lines.append(
                f"More than one vendor has {counted(self.shared_users, 'same user name')}. They are taken as"
                " different people; somebody who is a customer of two is promised less than ε says, by the sum of both."
            )
        return lines


def check_vendors(files: Sequence[Ratings]) -> None:
    """Refuse fewer than two vendors, and a file that is given twice: its users would be in the sums twice."""
    if len(files) < 2:
        raise DiscreetError(
            f"give at least 2 files with --vendor, not {len(files)}; one vendor alone has nobody to share with"
        )
    for (number, one), (later, other) in combinations(enumerate(files, 1), 2):
        if _same(one, other):
            raise DiscreetError(f"vendors {number} and {later} ({one.name}, {other.name}) have the very same data")


def on_one_catalogue(files: Sequence[Ratings], catalogue: Catalogue) -> tuple[list[Ratings], Matching]:
    """The vendors' ratings on the catalogue that they have agreed on, and what matched.

    Raises:
        DiscreetError: there are fewer than two vendors, two are the same, one has nothing of the catalogue, or no item
            of it is at two vendors.
    """
    check_vendors(files)
    parts = [placed(vendor, catalogue) for vendor in files]
    for part in parts:
        if not len(part):
            raise DiscreetError(f"{part.name}: nothing in it is of an item of the catalogue; the ids must be the same")
    sold = np.array([[item in known for item in catalogue.items] for known in (set(v.items.ids) for v in files)])
    shared = sold.sum(axis=0) > 1
    if not shared.any():
        raise DiscreetError("no item of the catalogue is at two vendors; they must use the same ids for the same items")
    items = Items(
        list(catalogue.items),
        [next(filter(None, titles), "") for titles in zip(*(part.items.titles for part in parts), strict=True)],
        [next(filter(None, genres), ()) for genres in zip(*(part.items.genres for part in parts), strict=True)],
        np.max([part.items.years for part in parts], axis=0),
    )
    vendors = [
        (part.name, int((own & shared).sum()), int(own.sum()), len(part), float(shared[part.item].mean()))
        for part, own in zip(parts, sold, strict=True)
    ]
    names = Counter(user for vendor in files for user in vendor.users)
    what = "purchase" if isinstance(files[0], Purchases) else "rating"
    everywhere, twice = int(sold.all(axis=0).sum()), sum(count > 1 for count in names.values())
    numbered = [
        replace(part, items=items, users=[f"{number}:{user}" for user in part.users])
        for number, part in enumerate(parts, 1)
    ]
    return numbered, Matching(vendors, everywhere, len(items), twice, what)


def _same(one: Ratings, other: Ratings) -> bool:
    """Whether two files are one that was given twice."""
    return (
        len(one) == len(other)
        and list(one.users) == list(other.users)
        and list(one.items.ids) == list(other.items.ids)
        and all(np.array_equal(getattr(one, part), getattr(other, part)) for part in ("user", "item", "value", "time"))
    )


def together(parts: Sequence[Ratings]) -> Ratings:
    """All vendors' ratings under one name."""
    return replace(pooled(parts), name=f"{len(parts)} vendors' files")
