"""A table of purchases or clicks: a csv or tsv file whose header names user and item, and perhaps count and time.

Ids are any text. The same user and item may stand on several lines: their counts add up. Times are seconds since 1970,
or dates such as 2024-05-01 or 2024-05-01T12:30:00.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.archive import is_archive, name_of
from discreet.data.formats.data_format import PurchasesFormat
from discreet.data.formats.ratings_file import LATEST, NAMES
from discreet.data.lines import blocks, decode, fields_of, find, reading, require, split_lines, table
from discreet.data.names import Names
from discreet.data.purchases import Purchases
from discreet.data.ratings import Items
from discreet.errors import InputError

COLUMNS = {
    "user": (*NAMES["user"], "customer", "customerid", "visitor", "visitorid", "session", "sessionid"),
    "item": (
        *NAMES["item"],
        "sku",
        "article",
        "articleid",
        "track",
        "trackid",
        "book",
        "bookid",
        "clickarticleid",
        "stockcode",
    ),
    "count": ("count", "quantity", "purchases", "clicks", "plays"),
    "time": (*NAMES["time"], "date", "datetime", "when", "orderdate", "purchasedate", "createdat"),
    "rating": NAMES["rating"],
}
PURCHASES, ITEMS = "purchases.csv", "items.csv"
_FIRST_BYTES = 1 << 16


class PurchaseTable(PurchasesFormat):
    """A table of purchases."""

    name: ClassVar[str] = "purchases"
    summary: ClassVar[str] = (
        "a csv file with user and item columns, and perhaps count and time, or a folder with purchases.csv"
    )

    def recognises(self, path: Path) -> bool:
        """By the header."""
        if path.is_dir():
            return find(path, PURCHASES) is not None
        if is_archive(path):
            return False
        for _, block in blocks(path, _FIRST_BYTES):
            try:
                columns = _layout(path, split_lines(block)[0])[1]
            except InputError:
                return False
            return "rating" not in columns
        return False

    def read(self, path: Path) -> Purchases:
        """Read all of it."""
        return read_purchases(path)


def read_purchases(path: Path) -> Purchases:
    """Read one file, plain, .gz or .xz, or a folder with `purchases.csv` and perhaps `items.csv`."""
    folder, path = path, require(path, PURCHASES) if path.is_dir() else path
    users, items = Names(), Names()
    parts: list[tuple[NDArray[Any], ...]] = []
    layout: tuple[str, tuple[str, ...]] | None = None
    for line, block in blocks(path):
        if layout is None:
            head, _, block = block.partition(b"\n")
            layout, line = _layout(path, head.removesuffix(b"\r")), 2
        if block.strip():
            parts.append(_events(path, line, block, *layout, users, items))
    if not parts:
        raise InputError(path, "holds no purchases")
    user, item, count, time = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    described = folder / ITEMS if folder is not path else None
    public = _described(described, items.to_list()) if described is not None and described.is_file() else None
    return Purchases.of_events(
        name_of(folder), user, item, count, time, users.to_list(), public or Items.named(items.to_list())
    )


def _described(path: Path, ids: list[str]) -> Items:
    """Titles and categories of items from a file with the columns item, title and categories (`a|b`)."""
    with reading(path):
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    if not rows or rows[0][:3] != ["item", "title", "categories"]:
        raise InputError(path, "must begin with the columns item, title, categories", 1)
    short = next((line for line, row in enumerate(rows, 1) if len(row) < 3), None)
    if short is not None:
        raise InputError(path, "has fewer than 3 fields; the line may be cut off", short)
    known = {row[0]: (row[1], tuple(kind for kind in row[2].split("|") if kind)) for row in rows[1:]}
    texts = [known.get(name, ("", ())) for name in ids]
    return Items(ids, [title for title, _ in texts], [kinds for _, kinds in texts], np.full(len(ids), -1, np.int32))


def _layout(path: Path, first_line: bytes) -> tuple[str, tuple[str, ...]]:
    """The separator, and what each field is, by the header."""
    text = decode(path, 1, first_line.removeprefix(b"\xef\xbb\xbf"))
    separator = max("\t,;", key=text.count)
    fields = fields_of(path, 1, text, separator)
    plain = [re.sub(r"[^a-z]", "", field.lower()) for field in fields]
    meaning: dict[int, str] = {}
    for column, names in COLUMNS.items():
        place = next((plain.index(name) for name in names if name in plain), None)
        if place is not None:
            meaning[place] = column
    missing = [column for column in ("user", "item") if column not in meaning.values()]
    if missing:
        expected = "; ".join(f"{column}: {', '.join(COLUMNS[column])}" for column in missing)
        found = ", ".join(fields)[:200]
        problem = f"no {' or '.join(missing)} column among '{found}'; the first line must name them; names are"
        raise InputError(path, f"{problem} {expected}", 1)
    return separator, tuple(meaning.get(place, f"field {place}") for place in range(len(fields)))


def _events(
    path: Path, line: int, block: bytes, separator: str, columns: Iterable[str], users: Names, items: Names
) -> tuple[NDArray[Any], ...]:
    frame = table(path, line, block, tuple(columns), separator)
    if b" " in block:
        frame = frame.select(pl.all().str.strip_chars(" ").replace("", None))
    count = _or(frame, "count", "1").cast(pl.Float64, strict=False)
    time = _seconds(_or(frame, "time", "-1"))
    usable = count.is_finite() & (count > 0) & (count < LATEST) & time.is_between(-LATEST, LATEST)
    if not usable.fill_null(False).all() or frame["user"].null_count() or frame["item"].null_count():
        _explain(path, line, frame)
    return users.number(frame["user"]), items.number(frame["item"]), count.to_numpy(), time.to_numpy()


def _or(frame: pl.DataFrame, column: str, value: str) -> pl.Series:
    return frame[column] if column in frame.columns else pl.repeat(value, len(frame), eager=True)


def _seconds(texts: pl.Series) -> pl.Series:
    """Whole seconds since 1970, null where it is no time."""
    numbers = texts.cast(pl.Float64, strict=False)
    if not numbers.null_count():
        return numbers.cast(pl.Int64, strict=False)
    plain = texts.str.replace("T", " ").str.strip_suffix("Z")
    dates = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="ms", strict=False)
    days = plain.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("ms"))
    written = dates.zip_with(dates.is_not_null(), days).dt.epoch("s")
    return written.zip_with(written.is_not_null(), numbers.cast(pl.Int64, strict=False))


def _explain(path: Path, first_line: int, frame: pl.DataFrame) -> NoReturn:
    """Find the first line to blame."""
    for line, row in enumerate(frame.iter_rows(named=True), first_line):
        for column in ("user", "item", "count", "time"):
            if column in row and row[column] is None:
                raise InputError(path, f"has no {column}; the line may be cut off", line)
        if "count" in row and not 0 < _number(row["count"]) < LATEST:
            raise InputError(path, f"the count '{row['count']}' is not a number above 0", line)
        if "time" in row and not (abs(_number(row["time"])) <= LATEST or _is_date(row["time"])):
            problem = f"the time '{row['time']}' is neither seconds since 1970 nor a date such as 2024-05-01T12:30:00"
            raise InputError(path, problem, line)
    raise InputError(path, "cannot be read as purchases", first_line)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return False
    return True
