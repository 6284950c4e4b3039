"""Globo.com G1 news clicks, October 2017 (Moreira et al. 2018): `clicks_hour_*.csv` in a folder or archive.

Clicks only. The first 5/7 of them make histories, the next 1/7 is `train`, the last 1/7 `dev`, cut by time; each slate
holds sampled negatives (see `clicks`). `articles_metadata.csv`, if it is there, gives categories and dates of
publication; titles were never published.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar, NamedTuple, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.archive import each_file, has_file, is_archive, name_of, refuse_several
from discreet.data.clicks import NEGATIVES, Clicks, first_clicks, impressions_of_clicks
from discreet.data.formats.data_format import NewsFormat
from discreet.data.lines import decode, reading, split_lines
from discreet.data.news import Articles, NewsData
from discreet.data.purchases import Purchases
from discreet.data.ratings import Items
from discreet.errors import InputError
from discreet.progress import track

CLICKS = ("user_id", "click_article_id", "click_timestamp")
METADATA = ("article_id", "category_id", "created_at_ts")
_CLICKS_FILE = re.compile(r"clicks_hour_\d+\.csv(\.gz|\.xz)?")


class Globo(NewsFormat):
    """The clicks of G1."""

    name: ClassVar[str] = "globo"
    summary: ClassVar[str] = "Globo (clicks_hour_*.csv)"

    def recognises(self, path: Path) -> bool:
        """By the names of its files."""
        return is_globo(path)

    def read(self, path: Path, *, negatives: int = NEGATIVES, seed: int = 0) -> NewsData:
        """Read all splits; `negatives` articles are drawn for each click."""
        return read_globo(path, negatives=negatives, seed=seed)


def is_globo(path: Path) -> bool:
    """Whether `path` is a folder or archive with hourly click files."""
    return (path.is_dir() or is_archive(path)) and has_file(path, _is_clicks_file)


def read_globo(path: Path, *, negatives: int = NEGATIVES, seed: int = 0) -> NewsData:
    """Read all clicks; `negatives` articles are drawn for each."""
    log = _read_log(path)
    clicks, articles = log.clicks, _articles(log.articles, log.metadata)
    first_seen = first_clicks(clicks, len(articles))
    available = np.where(articles.published >= 0, np.minimum(articles.published, first_seen), first_seen)
    begin, middle = (
        int(np.partition(clicks.time, at)[at]) for at in (len(clicks.time) * 5 // 7, len(clicks.time) * 6 // 7)
    )
    periods = {"train": (begin, middle), "dev": (middle, int(clicks.time.max()) + 1)}
    return NewsData(
        name=name_of(path),
        articles=articles,
        readers=log.readers.astype(str).tolist(),
        splits=impressions_of_clicks(clicks, available, periods, negatives=negatives, seed=seed),
    )


def read_globo_clicks(path: Path) -> Purchases:
    """All clicks as implicit feedback: who clicked which article, how often, and when last."""
    log = _read_log(path)
    clicks = log.clicks
    users, items = log.readers.astype(str).tolist(), Items.named(log.articles.astype(str).tolist())
    once = np.ones(len(clicks.time))
    return Purchases.of_events(name_of(path), clicks.reader, clicks.article, once, clicks.time, users, items)


class _Log(NamedTuple):
    """All clicks by number, the readers' and articles' ids, and what is said of articles."""

    clicks: Clicks
    readers: NDArray[np.int64]
    articles: NDArray[np.int64]
    metadata: pl.DataFrame


def _read_log(path: Path) -> _Log:
    parts: dict[Path, pl.DataFrame] = {}
    metadata = pl.DataFrame(schema=dict.fromkeys(METADATA, pl.Int64))
    with reading(path):
        for file, stream in track(each_file(path, _is_wanted), f"reading {path.name}"):
            if _is_clicks_file(file.name):
                parts[file] = _integers(file, stream.read(-1), CLICKS)
            else:
                metadata = _integers(file, stream.read(-1), METADATA)
    refuse_several(path, parts)
    table = pl.concat(parts.values())
    if table.is_empty():
        raise InputError(path, "holds no clicks")
    readers, reader = np.unique(table["user_id"].to_numpy(), return_inverse=True)
    articles, article = np.unique(table["click_article_id"].to_numpy(), return_inverse=True)
    clicks = Clicks(reader.astype(np.int32), article.astype(np.int32), table["click_timestamp"].to_numpy() // 1000)
    return _Log(clicks, readers, articles, metadata)


def _is_clicks_file(name: str) -> bool:
    return _CLICKS_FILE.fullmatch(name) is not None


def _is_wanted(name: str) -> bool:
    return _is_clicks_file(name) or name == "articles_metadata.csv"


def _integers(file: Path, content: bytes, columns: tuple[str, ...]) -> pl.DataFrame:
    """The named whole-number columns of a csv file; every line must have as many fields as the header."""
    try:
        frame = pl.read_csv(content, columns=list(columns), schema_overrides=dict.fromkeys(columns, pl.Int64))
    except pl.exceptions.PolarsError:
        _explain(file, content, columns)
    header = content.partition(b"\n")[0].count(b",")
    if content.count(b",") != header * (len(frame) + 1) or any(column.null_count() for column in frame):
        _explain(file, content, columns)
    return frame


def _explain(file: Path, content: bytes, columns: tuple[str, ...]) -> NoReturn:
    """Find the first line to blame."""
    lines = split_lines(content)
    header = decode(file, 1, lines[0]).split(",")
    missing = [column for column in columns if column not in header]
    if missing:
        raise InputError(file, f"the header has no column {missing[0]}", 1)
    for number, raw in enumerate(lines[1:], 2):
        fields = decode(file, number, raw).split(",")
        if len(fields) != len(header):
            problem = f"has {len(fields)} comma-separated fields, {len(header)} expected; the line may be cut off"
            raise InputError(file, problem, number)
        for column in columns:
            value = fields[header.index(column)]
            if not re.fullmatch(r"-?\d{1,18}", value):
                raise InputError(file, f"'{value}' in column {column} is not a whole number", number)
    raise InputError(file, "cannot be read as comma-separated text")


def _articles(ids: NDArray[np.int64], metadata: pl.DataFrame) -> Articles:
    known = pl.DataFrame({"article_id": ids}).join(
        metadata.unique("article_id", keep="first"), on="article_id", how="left", maintain_order="left"
    )
    nothing = [""] * len(ids)
    return Articles(
        ids=ids.astype(str).tolist(),
        titles=nothing,
        categories=known["category_id"].cast(pl.String).fill_null("").to_list(),
        subcategories=nothing,
        abstracts=nothing,
        published=known["created_at_ts"].fill_null(-1000).to_numpy() // 1000,
    )
