"""Adressa (Gulla et al. 2017): events of a Norwegian news site, one file of JSON lines a day, named 20170101 and so on.

An article is known by `id`, or by `canonicalUrl` where an event with a `publishtime` has no id; other events (the front
page) are left out. The last day is `dev`, the day before it `train`, all earlier days only make histories: of the
published week, five days of history, one of training, one of testing. Days begin at midnight in Norway. Negatives are
sampled (see `clicks`).
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import ClassVar, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.archive import each_file, has_file, is_archive, name_of, refuse_several
from discreet.data.clicks import NEGATIVES, Clicks, first_clicks, impressions_of_clicks
from discreet.data.formats.data_format import NewsFormat
from discreet.data.lines import decode, reading, split_lines, whole_lines
from discreet.data.names import Names
from discreet.data.news import Articles, NewsData
from discreet.errors import InputError
from discreet.progress import track

PUBLISHED = "%Y-%m-%dT%H:%M:%S%.fZ"
EVENT = {
    "userId": pl.String,
    "time": pl.Int64,
    "id": pl.String,
    "canonicalUrl": pl.String,
    "title": pl.String,
    "category1": pl.String,
    "publishtime": pl.String,
}
_DAY_FILE = re.compile(r"(\d{8})(?:\.jsonl?)?(?:\.gz|\.xz)?")
_FOREVER = int(np.iinfo(np.int64).max)


class Adressa(NewsFormat):
    """The log of Adresseavisen."""

    name: ClassVar[str] = "adressa"
    summary: ClassVar[str] = "Adressa (day files like 20170101)"

    def recognises(self, path: Path) -> bool:
        """By the names of its files."""
        return is_adressa(path)

    def read(self, path: Path, *, negatives: int = NEGATIVES, seed: int = 0) -> NewsData:
        """Read all splits; `negatives` articles are drawn for each click."""
        return read_adressa(path, negatives=negatives, seed=seed)


def is_adressa(path: Path) -> bool:
    """Whether `path` is a folder or tar archive with files named by day."""
    return (path.is_dir() or is_archive(path)) and has_file(path, _is_day_file)


def read_adressa(path: Path, *, negatives: int = NEGATIVES, seed: int = 0) -> NewsData:
    """Read all days; `negatives` articles are drawn for each click."""
    log = _Log()
    with reading(path):
        for file, stream in track(each_file(path, _is_day_file), f"reading {path.name}"):
            log.files.append(file)
            for line, block in whole_lines(stream):
                log.add(file, line, block)
    refuse_several(path, log.files)
    if len(log.files) < 2:
        raise InputError(path, "has only one day of events; a day to train on and a later one to test on are needed")
    if not len(log.articles):
        raise InputError(path, "no event names an article (fields id, canonicalUrl)")
    clicks = Clicks(np.concatenate(log.reader), np.concatenate(log.article), np.concatenate(log.time))
    articles = log.described()
    first_seen = first_clicks(clicks, len(articles))
    available = np.where(articles.published >= 0, np.minimum(articles.published, first_seen), first_seen)
    begin, middle = (_midnight(path, day) for day in sorted(file.name[:8] for file in log.files)[-2:])
    periods = {"train": (begin, middle), "dev": (middle, _FOREVER)}
    return NewsData(
        name=name_of(path),
        articles=articles,
        readers=log.readers.to_list(),
        splits=impressions_of_clicks(clicks, available, periods, negatives=negatives, seed=seed),
    )


class _Log:
    """The clicks on articles, and what the events say about the articles, gathered block by block."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.readers = Names()
        self.articles = Names()
        self.reader: list[NDArray[np.int32]] = []
        self.article: list[NDArray[np.int32]] = []
        self.time: list[NDArray[np.int64]] = []
        self._descriptions: list[pl.DataFrame] = []

    def add(self, file: Path, line: int, block: bytes) -> None:
        """Take in the events of one block."""
        try:
            events = pl.read_ndjson(block, schema=EVENT)
        except pl.exceptions.PolarsError:
            _explain(file, line, block)
        published = events["publishtime"].str.to_datetime(PUBLISHED, strict=False).dt.epoch("s")
        if (
            events["userId"].null_count()
            or events["time"].null_count()
            or published.null_count() != events["publishtime"].null_count()
        ):
            _explain(file, line, block)
        url = pl.when(pl.col("publishtime").is_not_null()).then("canonicalUrl")
        clicks = events.with_columns(published.alias("published"), pl.coalesce("id", url)).drop_nulls("id")
        self.reader.append(self.readers.number(clicks["userId"]))
        article = self.articles.number(clicks["id"])
        self.article.append(article)
        self.time.append(clicks["time"].to_numpy())
        described = clicks.select(pl.Series("article", article), "title", "category1", "published")
        self._descriptions.append(_first_of_each(described))

    def described(self) -> Articles:
        """The articles by number, each with the first title, category and time of publication that an event gives."""
        table = _first_of_each(pl.concat(self._descriptions)).sort("article")
        category = table["category1"].fill_null("").str.splitn("|", 2).struct
        return Articles(
            ids=self.articles.to_list(),
            titles=table["title"].fill_null("").to_list(),
            categories=category.field("field_0").fill_null("").to_list(),
            subcategories=category.field("field_1").fill_null("").to_list(),
            abstracts=[""] * len(table),
            published=table["published"].fill_null(-1).to_numpy(),
        )


def _first_of_each(described: pl.DataFrame) -> pl.DataFrame:
    columns = (pl.col(name).drop_nulls().first() for name in ("title", "category1", "published"))
    return described.group_by("article").agg(*columns)


def _is_day_file(name: str) -> bool:
    return _DAY_FILE.fullmatch(name) is not None


def _midnight(path: Path, day: str) -> int:
    """The second at which a day named like 20170106 begins in Norway."""
    local = pl.Series([day]).str.to_datetime("%Y%m%d", strict=False).dt.replace_time_zone("Europe/Oslo")
    seconds = local.dt.epoch("s")[0]
    if seconds is None:
        raise InputError(path, f"{day} is not a day; day files are named like 20170101")
    return int(seconds)


def _explain(file: Path, first_line: int, block: bytes) -> NoReturn:
    """Find the first line to blame."""
    for number, raw in enumerate(split_lines(block), first_line):
        text = decode(file, number, raw)
        try:
            event = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(file, f"is not JSON ({error.msg}); the line may be cut off", number) from error
        if not isinstance(event, dict):
            raise InputError(file, "is not a JSON object", number)
        if not event.get("userId"):
            raise InputError(file, "the event has no userId", number)
        if not isinstance(event.get("time"), int):
            raise InputError(file, f"the event's time {event.get('time')!r} is not in seconds since 1970", number)
        published = event.get("publishtime")
        if published is not None and not _is_time(str(published)):
            raise InputError(file, f"publishtime '{published}' is not a time like 2017-01-01T06:30:00.000Z", number)
    raise InputError(file, "cannot be read as JSON lines", first_line)


def _is_time(text: str) -> bool:
    try:
        datetime.strptime(re.sub(r"\.\d+Z$", "Z", text), "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return False
    return True
