"""What a data format is: it recognises a path, and reads what is there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from discreet.data.clicks import NEGATIVES
from discreet.data.news import NewsData
from discreet.data.purchases import Purchases
from discreet.data.ratings import Ratings


class DataFormat(ABC):
    """A layout of files. One's own inherits from `NewsFormat` or `RatingsFormat`; `discreet.register` makes it known.

    `recognises` is asked of every path that is opened: it looks at names, or at the first bytes, and raises nothing.
    """

    name: ClassVar[str]
    """The name that `discreet data check` prints."""

    summary: ClassVar[str]
    """What it looks like, for those whose data is not recognised."""

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether the file or folder at `path`, which is there, is in this format."""


class NewsFormat(DataFormat):
    """A log of news: articles, and impressions by split."""

    @abstractmethod
    def read(self, path: Path, *, negatives: int = NEGATIVES, seed: int = 0) -> NewsData:
        """Read all of it.

        Args:
            path: What was recognised.
            negatives: How many articles to draw for each click where the log has only clicks.
            seed: Decides that draw.

        Raises:
            InputError: which file, which line, what to do.
        """


class RatingsFormat(DataFormat):
    """A table of ratings."""

    @abstractmethod
    def read(self, path: Path) -> Ratings:
        """Read all of it, or raise an `InputError`: which file, which line, what to do."""


class PurchasesFormat(DataFormat):
    """A table of purchases, clicks or likes."""

    @abstractmethod
    def read(self, path: Path) -> Purchases:
        """Read all of it, or raise an `InputError`: which file, which line, what to do."""
