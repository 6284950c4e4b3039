"""Open a data set by its path alone: the format is recognised by the files that are there."""

from __future__ import annotations

from pathlib import Path

from discreet.data.mind import mind_splits, read_mind
from discreet.data.news import NewsData
from discreet.errors import InputError


def open_news(path: Path | str) -> NewsData:
    """Read a news data set in one of the official formats."""
    path = Path(path)
    if not path.exists():
        raise InputError(path, "does not exist")
    if mind_splits(path):
        return read_mind(path)
    raise InputError(path, "is not a news data set")
