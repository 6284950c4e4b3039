"""Data sets from tables in memory: polars or pandas frames, or a dictionary of columns.

News needs two tables. `articles` has `id`, and as far as they are known `title`, `category`, `subcategory`, `abstract`
and `published` (a datetime, or seconds since 1970). `impressions` has `reader`, `time`, `shown` (a list of article ids)
and `clicked` (a list of the ids that were clicked, or of a flag for each shown one). It may have `history` (a list of
ids, oldest first) and `split`. Without `history`, an impression's history is what the same reader clicked before it.
Without `split`, the last day is `dev` and all before it `train`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Articles, Impressions, NewsData
from discreet.data.purchases import Purchases
from discreet.data.ratings import Items, Ratings
from discreet.errors import DiscreetError

SPLITS = ("train", "validation", "dev", "test")
_DAY = 86_400


def news_from_frames(articles: Any, impressions: Any, *, name: str = "frames") -> NewsData:
    """A news data set from a table of articles and a table of impressions; see the module for their columns."""
    public, impressions = _articles(_Table(articles, "articles")), _Table(impressions, "impressions")
    numbers = {article: number for number, article in enumerate(public.ids)}
    time = _seconds("impressions", "time", impressions.column("time"))
    order = np.argsort(time, kind="stable")
    reader_names = [str(reader) for reader in impressions.column("reader")]
    readers = {reader: number for number, reader in enumerate(dict.fromkeys(reader_names))}
    shown = [_numbered(row, ids, numbers, "shown") for row, ids in enumerate(impressions.column("shown"))]
    clicked = [
        _flags(row, marks, ids, numbers)
        for row, (marks, ids) in enumerate(zip(impressions.column("clicked"), shown, strict=True))
    ]
    reader = np.array([readers[reader] for reader in reader_names], np.int32)
    given = impressions.optional("history")
    if given is None:
        timeline, start, stop = _earlier_clicks(reader, time, shown, clicked, order)
    else:
        histories = [_numbered(row, ids, numbers, "history") for row, ids in enumerate(given)]
        timeline, stop = _flat(histories), np.cumsum([len(history) for history in histories], dtype=np.int64)
        start = stop - np.array([len(history) for history in histories], np.int64)
    everything = Impressions(
        reader=reader,
        time=time,
        slate=np.concatenate(([0], np.cumsum([len(slate) for slate in shown]))).astype(np.int64),
        shown=_flat(shown),
        clicked=np.fromiter(chain.from_iterable(clicked), np.bool_),
        timeline=timeline,
        history_start=start,
        history_stop=stop,
    )
    part = _split_names(impressions.optional("split"), time)
    present = [split for split in SPLITS if split in set(part.tolist())]
    splits = {split: everything.select(order[part[order] == split]) for split in present}
    return NewsData(name=name, articles=public, readers=list(readers), splits=splits)


def ratings_from_frame(frame: Any, *, scale: tuple[float, float] | None = None, name: str = "frame") -> Ratings:
    """Ratings from a table with `user`, `item` and `rating`, and perhaps `time`; `scale` is the lowest and highest.

    Columns may have the other names that they may have in a file, such as `userId` and `movieId`.
    """
    from discreet.data.formats.ratings_file import NAMES

    frame = _Table(frame, "ratings", NAMES)
    users, items = frame.names("user"), frame.names("item")
    value = frame.numbers("rating").astype(np.float32)
    if not len(value):
        raise DiscreetError("ratings: there is none")
    given = frame.optional("time")
    time = np.full(len(value), -1, np.int64) if given is None else _seconds("ratings", "time", given)
    user_number = {user: number for number, user in enumerate(dict.fromkeys(users))}
    item_number = {item: number for number, item in enumerate(dict.fromkeys(items))}
    first: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(zip(users, items, strict=True)):
        if first.setdefault(pair, row) != row:
            again = f"rates item {pair[1]} a second time (first in row {first[pair]}); keep one of them"
            raise DiscreetError(f"ratings, row {row}: user {pair[0]} {again}")
    return Ratings(
        name=name,
        user=np.array([user_number[user] for user in users], np.int32),
        item=np.array([item_number[item] for item in items], np.int32),
        value=value,
        time=time,
        users=list(user_number),
        items=Items.named(list(item_number)),
        scale=_checked_scale(value, scale),
    )


def ratings_from_sparse(
    matrix: Any,
    *,
    users: Sequence[Any] | None = None,
    items: Sequence[Any] | None = None,
    scale: tuple[float, float] | None = None,
    name: str = "matrix",
) -> Ratings:
    """Ratings from a sparse matrix with a row for each user and a column for each item."""
    cells = matrix.tocoo()
    rows, columns = cells.shape
    who = [str(user) for user in (range(rows) if users is None else users)]
    what = [str(item) for item in (range(columns) if items is None else items)]
    if (len(who), len(what)) != (rows, columns):
        raise DiscreetError(
            f"ratings: {len(who)} users and {len(what)} items do not fit a matrix of {rows} × {columns}"
        )
    value = np.asarray(cells.data, np.float32)
    if not len(value) or not np.isfinite(value).all():
        raise DiscreetError("ratings: the matrix must hold finite numbers, one at least")
    if len(np.unique(cells.row.astype(np.int64) * columns + cells.col)) < len(value):
        raise DiscreetError("ratings: a user rates an item twice; keep one of them")
    return Ratings(
        name=name,
        user=cells.row.astype(np.int32),
        item=cells.col.astype(np.int32),
        value=value,
        time=np.full(len(value), -1, np.int64),
        users=who,
        items=Items.named(what),
        scale=_checked_scale(value, scale),
    )


def _checked_scale(value: NDArray[np.float32], scale: tuple[float, float] | None) -> tuple[float, float]:
    lowest, highest = scale or (float(value.min()), float(value.max()))
    if value.min() < lowest or value.max() > highest:
        raise DiscreetError(f"ratings: some are outside the scale {lowest:g} to {highest:g}")
    return lowest, highest


def purchases_from_frame(frame: Any, *, name: str = "frame") -> Purchases:
    """Purchases from a table with `user` and `item`, and perhaps `count` and `time`; repeated ones are added up."""
    from discreet.data.formats.purchases_file import COLUMNS

    frame = _Table(frame, "purchases", COLUMNS)
    users, items = frame.names("user"), frame.names("item")
    count = np.ones(len(users)) if frame.optional("count") is None else frame.numbers("count")
    if not len(users):
        raise DiscreetError("purchases: there is none")
    if not (count > 0).all():
        row = int(np.argmin(count > 0))
        raise DiscreetError(f"purchases, row {row}: 'count' is {count[row]:g}, not above 0")
    given = frame.optional("time")
    time = np.full(len(users), -1, np.int64) if given is None else _seconds("purchases", "time", given)
    user_number = {user: number for number, user in enumerate(dict.fromkeys(users))}
    item_number = {item: number for number, item in enumerate(dict.fromkeys(items))}
    return Purchases.of_events(
        name,
        np.array([user_number[user] for user in users], np.int32),
        np.array([item_number[item] for item in items], np.int32),
        count,
        time,
        list(user_number),
        Items.named(list(item_number)),
    )


def _articles(frame: _Table) -> Articles:
    ids = [str(article) for article in frame.column("id")]
    if len(set(ids)) < len(ids):
        raise DiscreetError("articles: an 'id' occurs twice; keep one of them")

    def texts(column: str) -> list[str]:
        values = frame.optional(column)
        return [""] * len(ids) if values is None else ["" if value is None else str(value) for value in values]

    published = frame.optional("published")
    return Articles(
        ids=ids,
        titles=texts("title"),
        categories=texts("category"),
        subcategories=texts("subcategory"),
        abstracts=texts("abstract"),
        published=np.full(len(ids), -1, np.int64)
        if published is None
        else _seconds("articles", "published", published, missing=-1),
    )


class _Table:
    """A frame under its name in messages; frames of polars and pandas and dictionaries are asked in the same way."""

    def __init__(self, frame: Any, name: str, also: Mapping[str, Sequence[str]] | None = None) -> None:
        """`also` has other names that columns may have, in small letters only."""
        self._frame, self.name, self._also = frame, name, also or {}
        self._columns = [str(column) for column in (frame if isinstance(frame, Mapping) else frame.columns)]

    def column(self, name: str) -> list[Any]:
        """A column as a list."""
        found = self.optional(name)
        if found is None:
            there = ", ".join(self._columns) or "none"
            raise DiscreetError(f"{self.name}: there is no column '{name}'; there are {there}")
        return found

    def optional(self, name: str) -> list[Any] | None:
        """A column as a list, or None where there is none."""
        plain = [re.sub(r"[^a-z]", "", column.lower()) for column in self._columns]
        found = (
            [name]
            if name in self._columns
            else [self._columns[plain.index(other)] for other in self._also.get(name, ()) if other in plain]
        )
        if not found:
            return None
        column = self._frame[found[0]]
        return list(column.to_list() if hasattr(column, "to_list") else column)

    def names(self, name: str) -> list[str]:
        """A column of ids as texts; none may be missing."""
        values = self.column(name)
        missing = next((row for row, value in enumerate(values) if value is None or value != value), None)
        if missing is not None:
            raise DiscreetError(f"{self.name}, row {missing}: has no '{name}'")
        return [str(value) for value in values]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of finite numbers."""
        values = self.column(name)
        found = np.array([_number(value) for value in values], np.float64)
        if not np.isfinite(found).all():
            row = int(np.argmin(np.isfinite(found)))
            raise DiscreetError(f"{self.name}, row {row}: '{name}' is {values[row]!r}, not a finite number")
        return found


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _seconds(table: str, name: str, values: Iterable[Any], missing: int | None = None) -> NDArray[np.int64]:
    """Seconds since 1970 of numbers and of datetimes; a datetime without a zone is UTC."""
    return np.array([_second(table, name, row, value, missing) for row, value in enumerate(values)], np.int64)


def _second(table: str, name: str, row: int, value: Any, missing: int | None) -> int:
    if isinstance(value, datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    if isinstance(value, date):
        return int(datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp())
    if value is None and missing is not None:
        return missing
    try:
        return _second(table, name, row, datetime.fromisoformat(value), missing)
    except (TypeError, ValueError):
        pass
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise DiscreetError(
            f"{table}, row {row}: '{name}' is {value!r}, neither a time nor seconds since 1970"
        ) from None


def _numbered(row: int, ids: Sequence[Any] | None, numbers: Mapping[str, int], column: str) -> list[int]:
    names = [] if ids is None else [str(article) for article in ids]
    found = [numbers.get(article, -1) for article in names]
    if -1 in found:
        raise DiscreetError(
            f"impressions, row {row}: '{column}' names article '{names[found.index(-1)]}', which is unknown"
        )
    if not found and column == "shown":
        raise DiscreetError(f"impressions, row {row}: nothing is shown")
    return found


def _flags(row: int, marks: Sequence[Any] | None, shown: list[int], numbers: Mapping[str, int]) -> list[bool]:
    marks = [] if marks is None else list(marks)
    if marks and len(marks) == len(shown) and all(mark in (0, 1) and not isinstance(mark, str) for mark in marks):
        return [bool(mark) for mark in marks]
    clicked = set(_numbered(row, marks, numbers, "clicked"))
    if not clicked <= set(shown):
        raise DiscreetError(f"impressions, row {row}: an article was clicked that was not shown")
    return [article in clicked for article in shown]


def _flat(lists: Iterable[Iterable[int]]) -> NDArray[np.int32]:
    return np.fromiter(chain.from_iterable(lists), np.int32)


def _earlier_clicks(
    reader: NDArray[np.int32],
    time: NDArray[np.int64],
    shown: list[list[int]],
    clicked: list[list[bool]],
    order: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """One timeline of all clicks by reader, and for each impression its reader's clicks strictly before its second."""
    by_reader = order[np.argsort(reader[order], kind="stable")]
    timeline: list[int] = []
    start, stop = np.zeros(len(reader), np.int64), np.zeros(len(reader), np.int64)
    begin, known, last = 0, 0, (-1, -1)
    for row in by_reader.tolist():
        now = (int(reader[row]), int(time[row]))
        if now[0] != last[0]:
            begin = known = len(timeline)
        elif now[1] != last[1]:
            known = len(timeline)
        start[row], stop[row], last = begin, known, now
        timeline.extend(article for article, mark in zip(shown[row], clicked[row], strict=True) if mark)
    return np.array(timeline, np.int32), start, stop


def _split_names(given: list[Any] | None, time: NDArray[np.int64]) -> NDArray[np.str_]:
    if given is not None:
        if unknown := set(map(str, given)) - set(SPLITS):
            raise DiscreetError(f"impressions: split '{min(unknown)}' is not one of {', '.join(SPLITS)}")
        return np.array([str(split) for split in given])
    last_day = int(time.max(initial=0)) // _DAY
    if len(time) and int(time.min()) // _DAY == last_day:
        raise DiscreetError("impressions: all are of one day, so there is no day to test on; add a column 'split'")
    return np.where(time // _DAY == last_day, "dev", "train")
