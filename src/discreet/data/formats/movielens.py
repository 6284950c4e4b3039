"""MovieLens 100K, 1M, 10M, 20M, 25M and latest (Harper and Konstan 2015), or any other table of ratings.

Read from the official zip, from the folder it unpacks to, or from one file (plain, .gz, .xz). Titles, genres and years
come from `u.item`, `movies.dat` or `movies.csv` next to the ratings; only items that somebody rated are kept.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.data.archive import each_file, is_archive, name_of, refuse_several
from discreet.data.formats.data_format import RatingsFormat
from discreet.data.formats.ratings_file import RatingTable, layout_of, read_rating_table
from discreet.data.lines import blocks, reading, split_lines, whole_lines
from discreet.data.ratings import Items, Ratings
from discreet.errors import InputError

RATINGS_FILES = ("u.data", "ratings.dat", "ratings.csv")
ITEM_FILES = ("u.item", "movies.dat", "movies.csv")
_TABLE_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.xz", ".tsv.xz")
# The order of the nineteen flags that end a line of u.item.
_GENRES_100K = (
    "unknown",
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)
_YEAR = re.compile(r"\((\d{4})\)\s*$")
ItemText = tuple[str, tuple[str, ...]]


class MovieLens(RatingsFormat):
    """MovieLens, or any table of ratings."""

    name: ClassVar[str] = "ratings"
    summary: ClassVar[str] = "MovieLens (its zip or folder) or a csv file with user, item and rating columns"

    def recognises(self, path: Path) -> bool:
        """By the names of its files, or by the first line of a table."""
        if path.is_dir() or path.suffix == ".zip":
            return ratings_file(path) is not None
        return not is_archive(path) and is_ratings_file(path)

    def read(self, path: Path) -> Ratings:
        """Read all of it."""
        return read_ratings(path)


def ratings_file(path: Path) -> str | None:
    """The name of the file with the ratings in a folder or zip: an official name, or the only table there is."""
    with reading(path):
        files = [file for file, _ in each_file(path, _may_hold_ratings)]
    official = [file for file in files if file.name in RATINGS_FILES]
    refuse_several(path, official)
    found = official or files
    return found[0].name if len(found) == 1 else None


def read_ratings(path: Path) -> Ratings:
    """Read ratings from a file, or from a folder or zip that holds one file of them."""
    described: dict[str, ItemText] = {}
    table: RatingTable | None = None
    if is_archive(path) and path.suffix != ".zip":
        raise InputError(path, "is a tar archive; unpack it and give the folder")
    if path.is_dir() or path.suffix == ".zip":
        wanted = ratings_file(path)
        if wanted is None:
            names = ", ".join(RATINGS_FILES)
            raise InputError(path, f"holds no file of ratings ({names}, or a single csv or tsv file)")
        with reading(path):
            for file, stream in each_file(path, lambda name: name == wanted or name in ITEM_FILES):
                if file.name == wanted:
                    table = read_rating_table(file, whole_lines(stream))
                else:
                    described = _describe(file, stream.read(-1))
    else:
        table = read_rating_table(path, blocks(path))
        items = next((place for name in ITEM_FILES if (place := path.parent / name).is_file()), None)
        if items is not None and path.name in RATINGS_FILES:
            with reading(items):
                described = _describe(items, items.read_bytes())
    assert table is not None, "the file was found above"
    return _ratings(path, table, described)


def is_ratings_file(path: Path) -> bool:
    """Whether the first line of a file looks like one of ratings."""
    for _, block in blocks(path, 1 << 16):
        try:
            layout_of(path, split_lines(block)[0])
        except InputError:
            return False
        return True
    return False


def refuse_table(path: Path) -> None:
    """Say of a table that is not one of ratings what its header lacks."""
    if path.is_file() and path.name.endswith(_TABLE_ENDINGS):
        for _, block in blocks(path, 1 << 16):
            layout_of(path, split_lines(block)[0])
            return


def _may_hold_ratings(name: str) -> bool:
    return name in RATINGS_FILES or (name.endswith(_TABLE_ENDINGS) and name not in ITEM_FILES)


def _ratings(path: Path, table: RatingTable, described: dict[str, ItemText]) -> Ratings:
    ids = table.items.to_list()
    texts = [described.get(name, ("", ())) for name in ids]
    years = [int(year.group(1)) if (year := _YEAR.search(title)) else -1 for title, _ in texts]
    return Ratings(
        name=name_of(path),
        user=table.user,
        item=table.item,
        value=table.value,
        time=table.time,
        users=table.users.to_list(),
        items=Items(ids, [title for title, _ in texts], [genres for _, genres in texts], np.array(years, np.int32)),
        scale=_scale(table, official=bool(described)),
    )


def _scale(table: RatingTable, *, official: bool) -> tuple[float, float]:
    """MovieLens allows 1 to 5 stars, since the 10M set in halves from 0.5; elsewhere the scale is what occurs."""
    low, high = float(table.value.min()), float(table.value.max())
    if official and low >= 0.5 and high <= 5:
        return (0.5 if bool((table.value % 1).any()) or low < 1 else 1.0), 5.0
    return low, high


def _describe(path: Path, content: bytes) -> dict[str, ItemText]:
    """Title and genres of each movie. The older sets are in Latin-1, the newer in UTF-8."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    lines = text.splitlines()
    if path.name == "movies.csv":
        table = csv.reader(lines[1:])
        try:
            return {row[0]: (row[1], _genres(row[2])) for row in table if len(row) >= 3}
        except csv.Error as error:
            raise InputError(path, f"cannot be read as comma-separated fields ({error})", table.line_num + 1) from error
    separator = "|" if path.name == "u.item" else "::"
    rows = [line.split(separator) for line in lines]
    if path.name == "movies.dat":
        return {row[0]: (row[1], _genres(row[2])) for row in rows if len(row) == 3}
    return {
        row[0]: (row[1], tuple(genre for genre, flag in zip(_GENRES_100K, row[5:], strict=False) if flag == "1"))
        for row in rows
        if len(row) == 24
    }


def _genres(text: str) -> tuple[str, ...]:
    return () if text == "(no genres listed)" else tuple(text.split("|"))
