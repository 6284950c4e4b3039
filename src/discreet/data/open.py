"""Open a data set by its path alone: the format is recognised by the files that are there."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

from discreet.data.archive import is_archive
from discreet.data.clicks import NEGATIVES
from discreet.data.formats.adressa import is_adressa, read_adressa
from discreet.data.formats.ebnerd import ebnerd_splits, read_ebnerd
from discreet.data.formats.globo import is_globo, read_globo
from discreet.data.formats.mind import mind_splits, read_mind
from discreet.data.formats.movielens import is_ratings_file, ratings_file, read_ratings
from discreet.data.news import NewsData
from discreet.data.ratings import Ratings
from discreet.errors import InputError

Format = Literal["mind", "adressa", "ebnerd", "globo", "ratings"]
_KNOWN = {
    "news": (
        "MIND (train/ and dev/ with behaviors.tsv and news.tsv), "
        "EB-NeRD (train/ and validation/ with behaviors.parquet), "
        "Adressa (day files like 20170101) or Globo (clicks_hour_*.csv)"
    ),
    "ratings": "MovieLens (its zip or folder) or a csv file with user, item and rating columns",
}


def recognise(path: Path) -> Format | None:
    """The format of the data set at `path`, or None if it is in none of those known here."""
    if not path.exists():
        raise InputError(path, "does not exist")
    if path.is_dir():
        if not any(path.iterdir()):
            raise InputError(path, "is an empty folder")
        if mind_splits(path):
            return "mind"
        if ebnerd_splits(path):
            return "ebnerd"
    if is_globo(path):
        return "globo"
    if is_adressa(path):
        return "adressa"
    if path.is_dir() or path.suffix == ".zip":
        return "ratings" if ratings_file(path) else None
    return "ratings" if not is_archive(path) and is_ratings_file(path) else None


def open_news(path: Path | str, *, negatives: int = NEGATIVES, seed: int = 0) -> NewsData:
    """Read a news data set in one of the official formats.

    Args:
        path: A folder or archive in the publisher's layout.
        negatives: How many articles to draw for each click where the log has only clicks (Adressa, Globo).
        seed: Decides that draw.
    """
    path = Path(path)
    found = recognise(path)
    if found == "mind":
        data = read_mind(path)
    elif found == "ebnerd":
        data = read_ebnerd(path)
    elif found == "adressa":
        data = read_adressa(path, negatives=negatives, seed=seed)
    elif found == "globo":
        data = read_globo(path, negatives=negatives, seed=seed)
    else:
        unpack = "; if it is MIND or EB-NeRD, unpack it first" if is_archive(path) else ""
        raise InputError(path, f"is not a news data set; known are {_KNOWN['news']}{unpack}")
    _refuse_overlap(path, data)
    return data


def open_with_train(path: Path) -> NewsData:
    """The news at `path`; methods learn from its train split, and title vectors are centred on it."""
    news = open_news(path)
    if "train" not in news.splits:
        raise InputError(path, f"has no train split, only {', '.join(news.splits)}; give the folder that holds both")
    return news


def open_ratings(path: Path | str) -> Ratings:
    """Read ratings from an official MovieLens zip or folder, or from any table with user, item and rating columns."""
    path = Path(path)
    if not path.exists():
        raise InputError(path, "does not exist")
    if path.is_dir() and recognise(path) != "ratings":
        raise InputError(path, f"is not a ratings data set; known are {_KNOWN['ratings']}")
    return read_ratings(path)


def _refuse_overlap(path: Path, data: NewsData) -> None:
    """Each split must lie after the one before: training on what came later would leak the future."""
    for (early, before), (late, after) in pairwise((name, part) for name, part in data.splits.items() if len(part)):
        begin, end = (datetime.fromtimestamp(int(time), UTC) for time in (after.time[0], before.time[-1]))
        if begin < end:
            raise InputError(
                path, f"{late} begins ({begin:%F %T}) before {early} ends ({end:%F %T}); splits must not overlap"
            )
