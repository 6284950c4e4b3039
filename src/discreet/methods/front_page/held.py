"""Which cells a window sums: articles that were shown so often since their last sum that clicks stand out from noise.

Every cell of every window has noise, also those of articles that hardly anybody saw. So an article waits: its cell is
due when its exposure since the last time, the clicks that an average article would have had, reaches the noise's
standard deviation, and at the latest in the last window of the day. What was shown is public, so who waits is, too. A
device keeps a click until its article is due, and contributes it then: each click still counts in one cell, once. One
whose article was not due that day, because nobody is known to have been shown it, is dropped with the day.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def is_due(exposure: NDArray[np.float64], min_exposure: float, *, closes_day: bool) -> NDArray[np.bool_]:
    """Which articles are due, by their exposure since the last time: simulator and server ask this alone."""
    return np.asarray(exposure >= (1e-300 if closes_day else max(min_exposure, 1e-300)))


@dataclass(frozen=True, eq=False)
class Due:
    """The cells of one window, their exposure since they were last due, and the clicks that devices kept for them."""

    articles: Ints
    exposure: NDArray[np.float64]
    click_cell: Ints
    click_reader: Ints


class Held:
    """Exposure, which is public, and clicks, which are still on the devices, since each article was last due.

    Args:
        articles: How many there are in the catalogue.
        min_exposure: From which exposure on an article is due.
    """

    def __init__(self, articles: int, min_exposure: float) -> None:
        self._min_exposure = min_exposure
        self._exposure = np.zeros(articles)
        self._article, self._reader = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def add(self, shown: Ints, exposure: NDArray[np.float64], clicked: Ints, reader: Ints) -> None:
        """What one more window showed, and which of its clicks count."""
        np.add.at(self._exposure, shown, exposure)
        self._article = np.concatenate((self._article, clicked))
        self._reader = np.concatenate((self._reader, reader))

    def due(self, *, closes_day: bool) -> Due:
        """The articles that are due, in a day's last window all that were shown; no click is held into another day."""
        articles = np.flatnonzero(is_due(self._exposure, self._min_exposure, closes_day=closes_day))
        exposure = self._exposure[articles]
        self._exposure[articles] = 0.0
        cell = np.searchsorted(articles, self._article)
        ready = np.zeros(len(cell), np.bool_)
        ready[cell < len(articles)] = articles[cell[cell < len(articles)]] == self._article[cell < len(articles)]
        found = Due(articles, exposure, cell[ready], self._reader[ready])
        kept = ~ready & (not closes_day)
        self._article, self._reader = self._article[kept], self._reader[kept]
        return found
