"""Several vendors' own files as one data set: items are the same where their ids are, users never are."""

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


@dataclass(frozen=True)
class Matching:
    """What the vendors' catalogues have in common.

    Attributes:
        vendors: Each vendor's name with how many of its items others have, how many items and ratings it has, and the
            share of its ratings that are of items which others have.
        everywhere: How many items all have.
        items: How many there are.
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
        lines.append(f"All vendors have {self.everywhere:,} of {counted(self.items, 'item')} (matched by id).")
        if self.shared_users:
            lines.append(
                f"More than one vendor has {counted(self.shared_users, 'same user name')}. They are taken as"
                " different people; somebody who is a customer of two is promised less than ε says, by the sum of both."
            )
        return lines


def on_one_catalogue(files: Sequence[Ratings]) -> tuple[list[Ratings], Matching]:
    """The vendors' ratings with items numbered alike, on the widest of their scales, and what matched.

    Raises:
        DiscreetError: there are fewer than two vendors, two are the same, or no item is at two of them.
    """
    if len(files) < 2:
        raise DiscreetError(
            f"give at least 2 files with --vendor, not {len(files)}; one vendor alone has nobody to share with"
        )
    for (number, one), (later, other) in combinations(enumerate(files, 1), 2):
        if _same(one, other):
            raise DiscreetError(f"vendors {number} and {later} ({one.name}, {other.name}) have the very same data")
    owners = Counter(name for vendor in files for name in vendor.items.ids)
    place = {name: number for number, name in enumerate(owners)}
    if max(owners.values()) < 2:
        raise DiscreetError("no item is at two vendors; their files must use the same ids for the same items")
    known: dict[str, tuple[str, tuple[str, ...], int]] = {}
    for vendor in files:
        rows = zip(vendor.items.ids, vendor.items.titles, vendor.items.genres, vendor.items.years.tolist(), strict=True)
        for name, title, genres, year in rows:
            old = known.get(name, ("", (), -1))
            known[name] = (old[0] or title, old[1] or genres, year if old[2] < 0 else old[2])
    facts = [known[name] for name in owners]
    years = np.array([year for _, _, year in facts], np.int32)
    items = Items(list(owners), [title for title, _, _ in facts], [genres for _, genres, _ in facts], years)
    scale = (min(vendor.scale[0] for vendor in files), max(vendor.scale[1] for vendor in files))
    parts, matched = [], []
    for number, vendor in enumerate(files):
        mapped = np.array([place[name] for name in vendor.items.ids], np.int32)
        others = np.array([owners[name] > 1 for name in vendor.items.ids])
        matched.append(
            (vendor.name, int(others.sum()), len(vendor.items), len(vendor), float(others[vendor.item].mean()))
        )
        users = [f"{number + 1}:{user}" for user in vendor.users]
        parts.append(replace(vendor, item=mapped[vendor.item], items=items, users=users, scale=scale))
    seen = Counter(user for vendor in files for user in vendor.users)
    everywhere = sum(count == len(files) for count in owners.values())
    what = "purchase" if isinstance(files[0], Purchases) else "rating"
    return parts, Matching(matched, everywhere, len(owners), sum(count > 1 for count in seen.values()), what)


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
