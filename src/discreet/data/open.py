"""Open a data set by its path alone: the format is recognised by the files that are there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.data.archive import is_archive
from discreet.data.clicks import NEGATIVES
from discreet.data.formats.data_format import NewsFormat, PurchasesFormat, RatingsFormat
from discreet.data.formats.format_registry import known, recognise
from discreet.data.formats.globo import Globo, read_globo_clicks
from discreet.data.formats.movielens import read_ratings
from discreet.data.formats.purchases_file import read_purchases
from discreet.data.news import NewsData
from discreet.data.purchases import LIKED, Purchases
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError, InputError


def open_news(path: Path | str, *, negatives: int = NEGATIVES, seed: int = 0) -> NewsData:
    """Read a news data set in one of the official formats, or in one that was registered.

    Args:
        path: A folder or archive in the publisher's layout.
        negatives: How many articles to draw for each click where the log has only clicks (Adressa, Globo).
        seed: Decides that draw.
    """
    path = Path(path)
    found = recognise(path)
    if not isinstance(found, NewsFormat):
        unpack = "; if it is MIND or EB-NeRD, unpack it first" if is_archive(path) else ""
        raise InputError(path, f"is not a news data set; known are {known(NewsFormat)}{unpack}")
    data = found.read(path, negatives=negatives, seed=seed)
    _refuse_overlap(path, data)
    return data


def open_with_train(path: Path) -> NewsData:
    """The news at `path`; methods learn from its train split, and title vectors are centred on it."""
    news = open_news(path)
    if "train" not in news.splits:
        raise InputError(path, f"has no train split, only {', '.join(news.splits)}; give the folder that holds both")
    return news


def open_ratings(path: Path | str | Any) -> Ratings:
    """Read ratings: an official MovieLens zip or folder, a table with user, item and rating, or a registered format.

    A table in memory (polars, pandas, a dictionary of columns) or a scipy sparse matrix is taken as it is.
    """
    if _is_table(path):
        return Ratings.from_frame(path)
    if hasattr(path, "tocoo"):
        return Ratings.from_sparse(path)
    path = _path(path)
    found = recognise(path)
    if isinstance(found, RatingsFormat):
        return found.read(path)
    if path.is_dir():
        raise InputError(path, f"is not a ratings data set; known are {known(RatingsFormat)}")
    return read_ratings(path)  # which says what the file lacks


def open_purchases(path: Path | str | Any, *, threshold: float = LIKED) -> Purchases:
    """Read implicit feedback: purchases, clicks or likes.

    Args:
        path: A csv file with user and item, and perhaps count and time; Globo's clicks; any ratings; or a table of
            purchases in memory (polars, pandas, a dictionary of columns).
        threshold: The rating from which on a rated item counts as liked, where `path` holds ratings.
    """
    if _is_table(path):
        return Purchases.from_frame(path)
    path = _path(path)
    found = recognise(path)
    if isinstance(found, PurchasesFormat):
        return found.read(path)
    if isinstance(found, RatingsFormat):
        return Purchases.from_ratings(found.read(path), threshold)
    if isinstance(found, Globo):
        return read_globo_clicks(path)
    if found is None and path.is_file():
        return read_purchases(path)  # which says what the file lacks
    raise InputError(
        path,
        f"holds no purchases; known are Globo's clicks, {known(RatingsFormat)}, or a csv file with"
        " user and item columns",
    )


def open_feedback(path: Path | str) -> Ratings:
    """Read what a vendor has: purchases, if that is what the columns say, and ratings otherwise."""
    return open_purchases(path) if isinstance(recognise(Path(path)), PurchasesFormat) else open_ratings(path)


def _is_table(source: object) -> bool:
    return isinstance(source, Mapping) or hasattr(source, "columns")


def _path(source: Path | str) -> Path:
    try:
        return Path(source)
    except TypeError:
        kind = type(source).__name__
        raise DiscreetError(f"cannot read a {kind}; give a path, a table (polars, pandas) or a sparse matrix") from None


def _refuse_overlap(path: Path, data: NewsData) -> None:
    """Each split must lie after the one before: training on what came later would leak the future."""
    for (early, before), (late, after) in pairwise((name, part) for name, part in data.splits.items() if len(part)):
        begin, end = (datetime.fromtimestamp(int(time), UTC) for time in (after.time[0], before.time[-1]))
        if begin < end:
            raise InputError(
                path, f"{late} begins ({begin:%F %T}) before {early} ends ({end:%F %T}); splits must not overlap"
            )
