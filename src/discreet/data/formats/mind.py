"""Microsoft News (MIND, Wu et al. 2020): `behaviors.tsv` and `news.tsv` in one folder for each split.

A line of `behaviors.tsv` is impression id, reader, time (`11/13/2019 5:53:12 AM`), history (article ids, oldest first)
and slate (article ids with `-1` for a click, `-0` for none; without a label in the test set). A line of `news.tsv` is
id, category, subcategory, title, abstract, url and two columns of entities. `entity_embedding.vec` has the entities'
vectors; without it models learn them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.clicks import NEGATIVES
from discreet.data.formats.data_format import NewsFormat
from discreet.data.formats.mind_entities import article_entities, read_entities
from discreet.data.lines import blocks, find, require, table
from discreet.data.lookup import Lookup
from discreet.data.names import Names
from discreet.data.news import Articles, Impressions, NewsData
from discreet.data.shared_histories import SharedHistories
from discreet.errors import InputError
from discreet.progress import track

TIME = "%m/%d/%Y %I:%M:%S %p"
BEHAVIORS = ("impression", "reader", "time", "history", "slate")
NEWS = ("id", "category", "subcategory", "title", "abstract", "url", "title_entities", "abstract_entities")
_SPLIT_FOLDER = re.compile(r"(?:MIND[a-z]*_)?(train|dev|test)", re.IGNORECASE)


class Mind(NewsFormat):
    """Microsoft News."""

    name: ClassVar[str] = "mind"
    summary: ClassVar[str] = "MIND (train/ and dev/ with behaviors.tsv and news.tsv)"

    def recognises(self, path: Path) -> bool:
        """By the names of its files."""
        return path.is_dir() and bool(mind_splits(path))

    def read(self, path: Path, *, negatives: int = NEGATIVES, seed: int = 0) -> NewsData:
        """Read all splits."""
        return read_mind(path)


def mind_splits(path: Path) -> dict[str, Path]:
    """The split folders under `path` by split name, in the order of time; empty if it is not in MIND's layout.

    `path` may also be a single split folder, whose name says which split it is (`train` if the name does not say).
    """
    if find(path, "behaviors.tsv"):
        own = _SPLIT_FOLDER.fullmatch(path.resolve().name)
        return {own.group(1).lower() if own else "train": path}
    found: dict[str, Path] = {}
    for folder in sorted(path.iterdir()):
        name = _SPLIT_FOLDER.fullmatch(folder.name)
        if name is None or not (find(folder, "behaviors.tsv") or find(folder, "news.tsv")):
            continue
        split = name.group(1).lower()
        if split in found:
            raise InputError(
                path, f"has two {split} sets, {found[split].name} and {folder.name}; keep one of them here"
            )
        found[split] = folder
    return {split: found[split] for split in ("train", "dev", "test") if split in found}


def read_mind(path: Path) -> NewsData:
    """Read all splits of a folder in MIND's layout, articles and readers merged by their ids."""
    folders = mind_splits(path)
    articles = _read_articles(list(folders.values()))
    readers = Names()
    splits = {
        split: _Log(require(folder, "behaviors.tsv"), split, articles.ids, readers).impressions()
        for split, folder in folders.items()
    }
    return NewsData(name=path.resolve().name, articles=articles, readers=readers.to_list(), splits=splits)


def _read_articles(folders: Sequence[Path]) -> Articles:
    """One table of the articles of all splits; an article that several splits describe keeps its first description."""
    frames = []
    for path in [require(folder, "news.tsv") for folder in folders]:
        parts = [table(path, line, block, NEWS) for line, block in blocks(path)]
        if not parts:
            raise InputError(path, "is empty; it should hold one article a line")
        frame = pl.concat(parts)
        twice = frame["id"].is_first_distinct().not_() | frame["id"].is_null()
        if twice.any():
            line = int(twice.arg_max() or 0) + 1
            name = frame["id"][line - 1]
            raise InputError(path, f"article {name} stands here a second time" if name else "has no article id", line)
        frames.append(read_entities(frame, path))
    merged = pl.concat(frames).unique("id", keep="first", maintain_order=True)
    merged = merged.with_columns(pl.col(NEWS[:6]).fill_null(""))
    return Articles(
        ids=merged["id"].to_list(),
        titles=merged["title"].to_list(),
        categories=merged["category"].to_list(),
        subcategories=merged["subcategory"].to_list(),
        abstracts=merged["abstract"].to_list(),
        published=np.full(len(merged), -1, dtype=np.int64),
        urls=merged["url"].to_list(),
        entities=article_entities(merged, folders),
    )


class _Log:
    """One `behaviors.tsv`, block by block, into flat arrays."""

    def __init__(self, path: Path, split: str, article_ids: Sequence[str], readers: Names) -> None:
        self._path = path
        self._split = split
        self._ids = article_ids
        self._article = Lookup(pl.Series(article_ids))
        self._labelled: bool | None = None
        self._histories = SharedHistories()
        reader, time, slot, sizes, codes = [], [], [], [], []
        for line, block in track(blocks(path), f"reading {path.parent.name}/{path.name}"):
            frame = table(path, line, block, BEHAVIORS)
            if self._labelled is None:
                self._labelled = self._has_labels(frame)
                suffixes = ("-0", "-1") if self._labelled else ("",)
                self._shown = Lookup(pl.Series([name + suffix for name in article_ids for suffix in suffixes]))
            if frame["reader"].null_count():
                self._explain(frame, line)
            reader.append(readers.number(frame["reader"]))
            time.append(self._times(frame, line))
            slot.append(self._history_slots(frame, line))
            slates = frame["slate"].str.split(" ")
            sizes.append(slates.list.len().to_numpy())
            shown = self._shown.find(slates.explode())
            if (shown < 0).any():
                self._explain(frame, line)
            codes.append(shown)
        if not reader:
            raise InputError(path, "is empty; it should hold one impression a line")
        self._reader = np.concatenate(reader)
        self._time = np.concatenate(time)
        self._slot = np.concatenate(slot)
        self._slate = np.concatenate(([0], np.cumsum(np.concatenate(sizes), dtype=np.int64)))
        self._codes = np.concatenate(codes)

    def impressions(self) -> Impressions:
        """The log in the order of time."""
        timeline, starts, stops = self._histories.arrays()
        labelled = bool(self._labelled)
        in_file_order = Impressions(
            reader=self._reader,
            time=self._time,
            slate=self._slate,
            shown=self._codes >> 1 if labelled else self._codes,
            clicked=(self._codes & 1).astype(bool) if labelled else np.zeros(len(self._codes), dtype=bool),
            timeline=timeline,
            history_start=starts[self._slot],
            history_stop=stops[self._slot],
            labelled=labelled,
        )
        return in_file_order.select(np.argsort(self._time, kind="stable"))

    def _has_labels(self, frame: pl.DataFrame) -> bool:
        """False for a test set whose first slate has no labels: its clicks were never published."""
        first = (frame["slate"][0] or "").split(" ")[0]
        return self._split != "test" or first.endswith(("-0", "-1"))

    def _times(self, frame: pl.DataFrame, line: int) -> NDArray[np.int64]:
        seconds = frame["time"].str.to_datetime(TIME, strict=False).dt.epoch("s")
        if seconds.null_count():
            self._explain(frame, line)
        return seconds.to_numpy()

    def _history_slots(self, frame: pl.DataFrame, line: int) -> NDArray[np.int64]:
        def parse(histories: pl.Series) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            lists = histories.str.split(" ")
            articles = self._article.find(lists.explode())
            if (articles < 0).any():
                self._explain(frame, line)
            return articles, lists.list.len().to_numpy().astype(np.int64)

        return self._histories.add(frame["history"], parse)

    def _explain(self, frame: pl.DataFrame, first_line: int) -> NoReturn:
        """Walk through the block for the first line to blame."""
        known = set(self._ids)
        for line, (_, reader, time, history, slate) in enumerate(frame.iter_rows(), first_line):
            problem = (
                ("has no reader id" if not reader else None)
                or _time_problem(time)
                or _history_problem(history, known)
                or _slate_problem(slate, known, self._labelled is not False)
            )
            if problem:
                raise InputError(self._path, problem, line)
        raise InputError(self._path, "cannot be read as MIND's behaviors.tsv", first_line)


def _time_problem(text: str | None) -> str | None:
    try:
        datetime.strptime(text or "", TIME)
    except ValueError:
        return f"'{text or ''}' is not a time like 11/13/2019 5:53:12 AM"
    return None


def _history_problem(text: str | None, known: Collection[str]) -> str | None:
    unknown = next((name for name in text.split(" ") if name not in known), None) if text else None
    return None if unknown is None else f"the history names article '{unknown}', which news.tsv does not have"


def _slate_problem(text: str | None, known: Collection[str], labelled: bool) -> str | None:
    if not text:
        return "the slate is empty"
    for token in text.split(" "):
        name, dash, label = token.rpartition("-") if labelled else (token, "-", "0")
        if not dash or label not in ("0", "1"):
            return f"'{token}' in the slate does not end with -0 or -1"
        if name not in known:
            return f"the slate shows article '{name}', which news.tsv does not have"
    return None
