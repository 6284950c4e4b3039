"""What a publisher knew of an article at a given moment: how often it was shown and clicked before, and since when.

Counting stops strictly before the moment asked for, so nothing from the future can leak into a ranking.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions


class EventCounts:
    """Counts events (article, time) before a moment, for many (article, moment) pairs at once.

    Events are one sorted array of keys `article · span + time`, so a count is a difference of two binary searches.
    """

    def __init__(self, article: NDArray[np.int32], time: NDArray[np.int64]) -> None:
        self._start = int(time.min()) if len(time) else 0
        self._span = int(time.max()) - self._start + 2 if len(time) else 1
        self._keys = np.sort(self._key(article, time))

    def before(self, article: NDArray[np.int32], moment: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many events each article had strictly before its moment."""
        first = np.searchsorted(self._keys, self._key(article, np.full_like(moment, self._start)))
        return np.searchsorted(self._keys, self._key(article, moment)) - first

    def first(self, article: NDArray[np.int32], moment: NDArray[np.int64]) -> NDArray[np.int64]:
        """The time of each article's first event; its moment itself where there was none before."""
        known = self.before(article, moment) > 0
        at = np.searchsorted(self._keys, self._key(article, np.full_like(moment, self._start)))
        first = self._keys[np.where(known, at, 0)] % self._span + self._start if len(self._keys) else moment
        return np.where(known, first, moment)

    def _key(self, article: NDArray[np.int32], time: NDArray[np.int64]) -> NDArray[np.int64]:
        within = np.clip(time - self._start, 0, self._span - 1)
        return article.astype(np.int64) * self._span + within


def shows(splits: Iterable[Impressions]) -> EventCounts:
    """Every time an article was shown."""
    parts = [(part.shown, np.repeat(part.time, part.slate_sizes)) for part in splits]
    return EventCounts(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def public_shows(splits: Iterable[Impressions]) -> EventCounts:
    """Every time an article was shown, as far as that is public (`Impressions.is_public`)."""
    parts = [(part.public_shown, np.repeat(part.time, part.slate_sizes)[part.is_public]) for part in splits]
    return EventCounts(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def clicks(splits: Iterable[Impressions]) -> EventCounts:
    """Every time an article was clicked in an impression."""
    parts = [(part.shown[part.clicked], np.repeat(part.time, part.slate_sizes)[part.clicked]) for part in splits]
    return EventCounts(*(np.concatenate(column) for column in zip(*parts, strict=True)))
