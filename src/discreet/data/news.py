"""What a news data set is: public articles, and what readers were shown and clicked, in compact arrays.

Articles and readers are numbers from 0; everything about an impression is a position in a few flat arrays. A history
is a slice of one flat array of articles, oldest click first, so that impressions of one reader share it and a growing
history is a longer slice of the same timeline. A million impressions are some ten arrays, not millions of objects.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.entities import Entities
from discreet.progress import counted

Ints = NDArray[np.integer]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Articles:
    """The public side of a data set. Text that a source does not have is the empty string.

    `published` is in seconds since 1970 (UTC), or -1 where the source does not say. `entities` are what articles name;
    None where the source has none. `urls` is empty where the source has none.
    """

    ids: Sequence[str]
    titles: Sequence[str]
    categories: Sequence[str]
    subcategories: Sequence[str]
    abstracts: Sequence[str]
    published: NDArray[np.int64]
    urls: Sequence[str] = ()
    entities: Entities | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Impressions:
    """Slates shown to readers, in the order of time.

    Impression `i` was shown to `reader[i]` at `time[i]` (seconds since 1970, UTC). Its slate is
    `shown[slate[i]:slate[i + 1]]`, the clicks among it the same slice of `clicked`. The reader's history at that moment
    is `timeline[history_start[i]:history_stop[i]]`, oldest click first, possibly empty.
    `labelled` is False for a test set whose clicks were never published; `clicked` is then all False. `sampled` is True
    where a log has clicks alone, and others were drawn to go with each: what was clicked then says what is in a slate.
    That such a slate is there, and which others were drawn, counts as public, as it is where a site sends slates.
    """

    reader: NDArray[np.int32]
    time: NDArray[np.int64]
    slate: NDArray[np.int64]
    shown: NDArray[np.int32]
    clicked: Flags
    timeline: NDArray[np.int32]
    history_start: NDArray[np.int64]
    history_stop: NDArray[np.int64]
    labelled: bool = True
    sampled: bool = False

    def __len__(self) -> int:
        return len(self.reader)

    @property
    def slate_sizes(self) -> NDArray[np.int64]:
        """How many articles each impression showed."""
        return np.diff(self.slate)

    @property
    def history_sizes(self) -> NDArray[np.int64]:
        """How many clicks each impression's history has."""
        return self.history_stop - self.history_start

    @property
    def impression_of_shown(self) -> NDArray[np.int64]:
        """For each shown article, the number of its impression."""
        return np.repeat(np.arange(len(self)), self.slate_sizes)

    @property
    def is_public(self) -> Flags:
        """For each shown article, whether everybody may know that it was shown; in a sampled slate the click is not."""
        return ~self.clicked if self.sampled else np.ones(len(self.shown), np.bool_)

    @property
    def public_shown(self) -> NDArray[np.int32]:
        """What everybody may know was shown, slate after slate."""
        return self.shown[self.is_public]

    def history(self, i: int) -> NDArray[np.int32]:
        """The articles that the reader of impression `i` had clicked before it, oldest first."""
        return self.timeline[self.history_start[i] : self.history_stop[i]]

    def select(self, which: Ints | Flags) -> Impressions:
        """The chosen impressions, in the order given; histories go on sharing the same timeline."""
        chosen = np.flatnonzero(which) if which.dtype == np.bool_ else which
        sizes = self.slate_sizes[chosen]
        slate = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        positions = np.arange(slate[-1]) + np.repeat(self.slate[chosen] - slate[:-1], sizes)
        return Impressions(
            reader=self.reader[chosen],
            time=self.time[chosen],
            slate=slate,
            shown=self.shown[positions],
            clicked=self.clicked[positions],
            timeline=self.timeline,
            history_start=self.history_start[chosen],
            history_stop=self.history_stop[chosen],
            labelled=self.labelled,
            sampled=self.sampled,
        )


@dataclass(frozen=True)
class NewsData:
    """Articles, readers' names, and impressions by split (`train`, `dev`, perhaps `test`), each split later in time."""

    name: str
    articles: Articles
    readers: Sequence[str]
    splits: Mapping[str, Impressions]

    def __repr__(self) -> str:
        """Its size. Nobody's clicks: what is shown in a notebook or a log stays there."""
        parts = ", ".join(f"{name}: {counted(len(part), 'impression')}" for name, part in self.splits.items())
        sizes = f"{counted(len(self.articles), 'article')}, {counted(len(self.readers), 'reader')}"
        return f"NewsData({self.name!r}, {sizes}; {parts})"

    @classmethod
    def from_frames(cls, articles: Any, impressions: Any, *, name: str = "frames") -> NewsData:
        """A data set from tables in memory (polars, pandas or dictionaries); `data.frames` says which columns."""
        from discreet.data.frames import news_from_frames

        return news_from_frames(articles, impressions, name=name)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything in the data set, so that results of other data are never taken for its own."""
        digest = hashlib.blake2b(digest_size=16)
        for texts in (self.articles.ids, self.articles.titles, self.readers):
            digest.update("\n".join(texts).encode())
        if (entities := self.articles.entities) is not None:
            digest.update("\n".join([*entities.names, *entities.surface]).encode())
            digest.update(entities.first.tobytes() + entities.entity.tobytes())
            digest.update(b"" if entities.vectors is None else entities.vectors.tobytes())
        for name, part in self.splits.items():
            digest.update(name.encode())
            for field in dataclasses.fields(part):
                value = getattr(part, field.name)
                digest.update(bytes([value]) if isinstance(value, bool) else value.tobytes())
        return digest.hexdigest()
