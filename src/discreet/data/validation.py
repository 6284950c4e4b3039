"""Validate a data set and count what is in it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.formats.data_format import PurchasesFormat, RatingsFormat
from discreet.data.formats.format_registry import recognise
from discreet.data.formats.movielens import refuse_table
from discreet.data.news import Impressions, NewsData
from discreet.data.open import open_news, open_ratings
from discreet.data.purchases import Purchases
from discreet.data.ratings import Ratings
from discreet.errors import InputError


def check_data(path: Path | str, *, seed: int = 0) -> dict[str, Any]:
    """Read a data set of any kind in full and return its counts as plain values, ready for a table or for JSON.

    News has `splits` with one entry for each split; ratings do not. Raises `InputError` for what cannot be read.
    """
    path = Path(path)
    found = recognise(path)
    if found is None:
        refuse_table(path)
        raise InputError(path, "is in no known format; see docs/reference/data-formats.md for those that are")
    if isinstance(found, PurchasesFormat):
        return {"kind": "purchases", "format": found.name, **count_purchases(found.read(path))}
    if isinstance(found, RatingsFormat):
        return {"kind": "ratings", "format": found.name, **count_ratings(open_ratings(path))}
    return {"kind": "news", "format": found.name, **count_news(open_news(path, seed=seed))}


def count_news(data: NewsData) -> dict[str, Any]:
    """Counts of articles, readers and, by split, impressions."""
    return {
        "name": data.name,
        "articles": len(data.articles),
        "articles_with_title": sum(1 for title in data.articles.titles if title),
        "readers": len(data.readers),
        "splits": {split: count_impressions(part) for split, part in data.splits.items()},
    }


def count_impressions(part: Impressions) -> dict[str, Any]:
    """Counts of one split. `clicks` and `without_clicks` are null where the clicks were never published."""
    clicks = np.bincount(part.impression_of_shown[part.clicked], minlength=len(part))
    return {
        "impressions": len(part),
        "readers": len(np.unique(part.reader)),
        "articles_shown": len(np.unique(part.shown)),
        "clicks": int(clicks.sum()) if part.labelled else None,
        "without_clicks": int((clicks == 0).sum()) if part.labelled else None,
        "slate_mean": _mean(part.slate_sizes),
        "slate_median": _median(part.slate_sizes),
        "history_mean": _mean(part.history_sizes),
        "history_median": _median(part.history_sizes),
        "empty_histories": int((part.history_sizes == 0).sum()),
        **_span(part.time),
    }


def count_ratings(ratings: Ratings) -> dict[str, Any]:
    """Counts of users, items and ratings."""
    known = ratings.time[ratings.time >= 0]
    return {
        "name": ratings.name,
        "users": len(ratings.users),
        "items": len(ratings.items),
        "items_with_title": sum(1 for title in ratings.items.titles if title),
        "ratings": len(ratings),
        "density": ratings.density,
        "scale": list(ratings.scale),
        "mean": float(ratings.value.mean(dtype=np.float64)),
        "ratings_per_user_median": _median(np.bincount(ratings.user, minlength=len(ratings.users))),
        **_span(np.sort(known)),
    }


def count_purchases(purchases: Purchases) -> dict[str, Any]:
    """Counts of users, items and purchases; `repeated` are those of a pair of user and item beyond the first."""
    known = purchases.time[purchases.time >= 0]
    return {
        "name": purchases.name,
        "users": len(purchases.users),
        "items": len(purchases.items),
        "purchases": len(purchases),
        "repeated": float(purchases.value.sum(dtype=np.float64)) - len(purchases),
        "density": purchases.density,
        "items_per_user_median": _median(np.bincount(purchases.user, minlength=len(purchases.users))),
        **_span(np.sort(known)),
    }


def _mean(sizes: NDArray[np.int64]) -> float | None:
    return float(sizes.mean()) if len(sizes) else None


def _median(sizes: NDArray[np.int64]) -> float | None:
    return float(np.median(sizes)) if len(sizes) else None


def _span(times: NDArray[np.int64]) -> dict[str, str | None]:
    """The first and the last of sorted times, as ISO 8601 in UTC."""
    if not len(times):
        return {"first": None, "last": None}
    first, last = (datetime.fromtimestamp(int(times[i]), UTC).isoformat() for i in (0, -1))
    return {"first": first, "last": last}
