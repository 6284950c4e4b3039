"""Generated purchases that behave like a shop's: few items sell much, users have tastes, and some buy again.

    P(user buys item) ∝ popularity(item) · exp( taste(cluster of user) · kind(item) + own whim of the item )

Items belong to one or two public categories. Users belong to clusters, each with its own taste in categories and in
something of the items that is not public. Many users buy little, some a single item.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.purchases import Purchases
from discreet.data.ratings import Items
from discreet.files import replacing_folder

CATEGORIES = (
    "bread", "fruit", "coffee", "tea", "books", "games", "garden", "tools", "toys", "shoes", "music", "kitchen"
)  # fmt: skip
_CLUSTERS = 24
_HIDDEN = 4
_ZIPF_EXPONENT, _ZIPF_OFFSET = 1.1, 20.0
_TASTE, _HIDDEN_TASTE = 1.1, 0.7
_MEDIAN_ITEMS, _SPREAD = 12.0, 1.0
_AGAIN = 0.3
_START, _DAYS = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp()), 120


def purchases_world(users: int = 3000, items: int = 1500, *, seed: int = 0) -> Purchases:
    """Generate purchases; the same arguments always give the same data."""
    for name, value in (("users", users), ("items", items)):
        if value < 2:
            raise ValueError(f"{name} must be at least 2, not {value}")
    public, behaviour, buying = np.random.default_rng(seed).spawn(3)
    member = _categories(public, items)
    popularity = np.log((np.arange(items) + _ZIPF_OFFSET) ** -_ZIPF_EXPONENT)
    hidden = behaviour.standard_normal((items, _HIDDEN))
    tastes = _TASTE * behaviour.standard_normal((_CLUSTERS, len(CATEGORIES)))
    whims = _HIDDEN_TASTE * behaviour.standard_normal((_CLUSTERS, _HIDDEN))
    appeal = popularity + (tastes @ member.T + whims @ hidden.T) / np.sqrt(2)
    cluster = behaviour.integers(_CLUSTERS, size=users)
    wanted = np.exp(np.log(_MEDIAN_ITEMS) + _SPREAD * behaviour.standard_normal(users))
    wanted = np.clip(np.round(wanted), 1, max(1, items // 3)).astype(np.int64)
    bought = [_chosen(buying, appeal[of], count) for of, count in zip(cluster.tolist(), wanted.tolist(), strict=True)]
    user, item = np.repeat(np.arange(users), wanted), np.concatenate(bought)
    joined = buying.integers(_DAYS // 2, size=users) * 86_400
    time = _START + joined[user] + buying.integers(_DAYS // 2 * 86_400, size=len(user))
    return Purchases.of_events(
        f"generated-purchases-{users}-{seed}",
        user.astype(np.int32),
        item.astype(np.int32),
        1.0 + buying.poisson(_AGAIN, len(user)),
        time,
        [f"u{number}" for number in range(1, users + 1)],
        Items(
            [f"i{number}" for number in range(1, items + 1)],
            [f"{CATEGORIES[int(row.argmax())]} {number}" for number, row in enumerate(member, 1)],
            [tuple(CATEGORIES[place] for place in np.flatnonzero(row)) for row in member],
            np.full(items, -1, np.int32),
        ),
    )


def write_purchases(purchases: Purchases, folder: Path, *, overwrite: bool = False) -> None:
    """Write `purchases.csv` and `items.csv` into `folder`, which appears only when it is complete."""
    with replacing_folder(folder, overwrite=overwrite) as draft:
        pl.DataFrame(
            {
                "user": pl.Series(purchases.users).gather(purchases.user),
                "item": pl.Series(purchases.items.ids).gather(purchases.item),
                "count": purchases.value.astype(np.int64),
                "time": purchases.time,
            }
        ).write_csv(draft / "purchases.csv")
        pl.DataFrame(
            {
                "item": purchases.items.ids,
                "title": purchases.items.titles,
                "categories": ["|".join(kinds) for kinds in purchases.items.genres],
            }
        ).write_csv(draft / "items.csv")


def _categories(rng: np.random.Generator, items: int) -> NDArray[np.float64]:
    """A row for each item, with a one for its category and perhaps for a second one."""
    member = np.zeros((items, len(CATEGORIES)))
    member[np.arange(items), rng.integers(len(CATEGORIES), size=items)] = 1
    second = rng.random(items) < 0.3
    member[np.flatnonzero(second), rng.integers(len(CATEGORIES), size=int(second.sum()))] = 1
    return member


def _chosen(rng: np.random.Generator, appeal: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """So many different items, drawn one after the other by their appeal (Gumbel's trick)."""
    keys = appeal + rng.gumbel(size=len(appeal))
    return np.argpartition(-keys, count - 1)[:count]
