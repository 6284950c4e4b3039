"""One file of ratings, in any of the usual layouts, into numbers.

`user::item::rating::time` (MovieLens 1M, 10M), tab-separated without a header (MovieLens 100K), or comma-, semicolon-
or tab-separated with a header that names the columns (MovieLens 20M, 25M, latest; anybody's own file).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.lines import decode, fields_of, table
from discreet.data.names import Names
from discreet.errors import InputError

NAMES = {
    "user": ("user", "userid", "uid"),
    "item": ("item", "itemid", "iid", "movie", "movieid", "product", "productid"),
    "rating": ("rating", "score", "stars"),
    "time": ("timestamp", "time", "unixtime"),
}
MAX_RATING = float(np.finfo(np.float32).max)
LATEST = 10**12  # seconds since 1970: the year 33658


@dataclass(frozen=True)
class TableLayout:
    """How the fields of a line are separated, and what they are; fields that do not matter have other names."""

    separator: str
    columns: tuple[str, ...]
    has_header: bool


@dataclass(frozen=True)
class RatingTable:
    """The ratings of one file in its order; users and items by number."""

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    value: NDArray[np.float32]
    time: NDArray[np.int64]
    users: Names
    items: Names


def read_rating_table(path: Path, blocks: Iterable[tuple[int, bytes]]) -> RatingTable:
    """Read blocks of whole lines; no user may rate an item twice."""
    users, items = Names(), Names()
    parts: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]] = []
    first_line = 1
    for layout, line, block in _plain(path, blocks):
        first_line = 2 if layout.has_header else 1
        frame = table(path, line, block, layout.columns, layout.separator)
        if b" " in block:
            frame = frame.select(pl.all().str.strip_chars(" ").replace("", None))
        value = frame["rating"].cast(pl.Float32, strict=False)
        seconds = frame["time"] if "time" in frame.columns else pl.repeat("-1", len(frame), eager=True)
        time = seconds.cast(pl.Float64, strict=False)
        usable = value.is_finite() & time.is_between(-LATEST, LATEST)
        if not usable.fill_null(False).all() or frame["user"].null_count() or frame["item"].null_count():
            _explain(path, line, frame)
        numbers = users.number(frame["user"]), items.number(frame["item"])
        parts.append((*numbers, value.to_numpy(), time.cast(pl.Int64).to_numpy()))
    if not parts:
        raise InputError(path, "holds no ratings")
    user, item, values, times = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    _refuse_repeats(path, user, item, users, items, first_line)
    return RatingTable(user, item, values, times, users, items)


def layout_of(path: Path, first_line: bytes) -> TableLayout:
    """Recognise the layout by the first line alone."""
    text = decode(path, 1, first_line.removeprefix(b"\xef\xbb\xbf"))
    if text.count("::") in (2, 3):
        return TableLayout("\t", ("user", "item", "rating", "time")[: text.count("::") + 1], has_header=False)
    separator = max("\t,;", key=text.count)
    fields = fields_of(path, 1, text, separator)
    if 3 <= len(fields) <= 4 and all(_is_number(field) for field in fields[2:]):
        return TableLayout(separator, ("user", "item", "rating", "time")[: len(fields)], has_header=False)
    plain = [re.sub(r"[^a-z]", "", field.lower()) for field in fields]
    meaning = {plain.index(name): column for column, names in NAMES.items() for name in names if name in plain}
    missing = [column for column in ("user", "item", "rating") if column not in meaning.values()]
    if missing:
        known = "; ".join(f"{column}: {', '.join(NAMES[column])}" for column in missing)
        found = ", ".join(fields)[:200]
        raise InputError(path, f"no {' or '.join(missing)} column among '{found}'; expected names are {known}", 1)
    columns = tuple(meaning.get(i, f"field {i}") for i in range(len(fields)))
    return TableLayout(separator, columns, has_header=True)


def _plain(path: Path, blocks: Iterable[tuple[int, bytes]]) -> Iterator[tuple[TableLayout, int, bytes]]:
    """The blocks without their header, `::` replaced by a separator of one byte, each with the file's layout."""
    layout: TableLayout | None = None
    for line, block in blocks:
        if layout is None:
            head, _, rest = block.partition(b"\n")
            layout = layout_of(path, head.removesuffix(b"\r"))
            if layout.has_header:
                line, block = 2, rest
            block = block.removeprefix(b"\xef\xbb\xbf")
            doubled = b"::" in head
        if block:
            yield layout, line, block.replace(b"::", b"\t") if doubled else block


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _explain(path: Path, first_line: int, frame: pl.DataFrame) -> NoReturn:
    """Find the first line to blame."""
    for line, row in enumerate(frame.iter_rows(named=True), first_line):
        for column in ("user", "item", "rating", "time"):
            if column in row and row[column] is None:
                raise InputError(path, f"has no {column}; the line may be cut off", line)
        for column in ("rating", "time"):
            text = row.get(column, "0")
            limit = MAX_RATING if column == "rating" else LATEST
            if not _is_number(text) or not abs(float(text)) <= limit:
                wanted = f"a number up to {MAX_RATING:g}" if column == "rating" else "a number of seconds since 1970"
                raise InputError(path, f"the {column} '{text}' is not {wanted}", line)
    raise InputError(path, "cannot be read as ratings", first_line)


def _refuse_repeats(
    path: Path, user: NDArray[np.int32], item: NDArray[np.int32], users: Names, items: Names, first_line: int
) -> None:
    pairs = user.astype(np.int64) * len(items) + item
    repeated = ~pl.Series(pairs).is_first_distinct().to_numpy()
    if repeated.any():
        second = int(repeated.argmax())
        first = int(np.argmax(pairs == pairs[second]))
        who, what = users.to_list()[user[second]], items.to_list()[item[second]]
        problem = f"user {who} rates item {what} a second time (first on line {first + first_line}); keep one of them"
        raise InputError(path, problem, second + first_line)
