"""How much more than others an article is clicked, unbiased, from noised labels as they come in."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.device.reports import label_mechanism
from discreet.methods.click_reports.popularity import inclusion, show_variance, shrunk_rate, spread_between
from discreet.privacy.release import Release
from discreet.serving.store import Store

_READ = 5000


@lru_cache(maxsize=1024)
def _chances(choices: int, epsilon: float) -> tuple[float, float]:
    """The probabilities that the clicked article, and any other, is in a label."""
    return inclusion(label_mechanism(choices, epsilon))


class Popularity:
    """Running sums over the label reports of one model.

    The estimates are those of `methods.click_reports.popularity`, added up as reports come in.
    """

    def __init__(self, version: str, epsilon: float) -> None:
        self._version, self._epsilon = version, epsilon
        self._seen = 0
        self._sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def read(self, store: Store) -> None:
        """Take in the reports that came since the last time."""
        while rows := store.labels(self._version, self._seen, _READ):
            for row in rows:
                self._seen = row.number
                self._add(json.loads(row.articles), Release.from_bytes(bytes(row.release)).payload.integers)

    def of(self, ids: list[str]) -> NDArray[np.float64]:
        """Each article's click rate in units of the mean rate, minus 1; 0 where nothing is known."""
        result = np.zeros(len(ids))
        if not self._sums:
            return result
        weight, value = np.array(list(self._sums.values())).T
        rate = float(value.sum() / weight.sum())
        found = shrunk_rate(weight, value, rate, spread_between(weight, value, rate))
        shrunk = dict(zip(self._sums, found, strict=True))
        for place, article in enumerate(ids):
            result[place] = shrunk.get(article, 0.0)
        return result

    def _add(self, articles: list[str], positions: NDArray[np.int64]) -> None:
        size = len(articles)
        hit, stray = _chances(size, self._epsilon)
        weight = 1 / show_variance(hit, stray, float(size))
        inside = set(positions.tolist())
        for place, article in enumerate(articles):
            sums = self._sums[article]
            sums[0] += weight
            sums[1] += weight * ((place in inside) - stray) / (hit - stray)
