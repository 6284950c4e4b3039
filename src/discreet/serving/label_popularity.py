"""How much more than others an article is clicked, from noised labels, of which any number may be forged.

In a slate of C articles each has 1/C of the clicks on average. So C·(1[in the set] − q)/(p − q) has the mean 1 for a
mean article, and its variance is known (`methods.click_reports.click_evidence`). Three things bound a forger:

- A slate's estimates sum to C whatever the label says: who lifts one article lowers others.
- The mean of an article's estimates is cut to what honest articles reach: from no click to `MAX_RATE` times the mean.
- It is shrunk towards 1 as if articles differed by `SPREAD`, which is fixed beforehand. Were it learnt from the labels,
  forged ones would teach that articles differ much, and so be believed.

So N labels with precision w each can move an article's popularity to N·w/(N·w + 1/SPREAD) at the most.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.edge.reader.reports import label_mechanism
from discreet.methods.click_reports.click_evidence import inclusion, show_variance
from discreet.privacy.release import Release
from discreet.serving.server_store import ServerStore

SPREAD = 0.25
"""The variance between articles of their click rate in units of the mean rate."""
MAX_RATE = 2.0
_READ = 2000


class LabelPopularity:
    """The label reports of one model as sums over articles, which are kept in the database with the reports."""

    def __init__(self, version: str, epsilon: float) -> None:
        self._version, self._epsilon = version, epsilon
        self._seen = 0
        self._known: dict[str, float] = {}

    def count(self, store: ServerStore, stopped: Callable[[], bool] = lambda: False) -> None:
        """Add the reports that have come to the sums in the database."""
        while not stopped():
            after = store.counted(self._version)
            rows = store.labels(self._version, after, _READ)
            if not rows:
                return
            store.add_sums(self._version, after, rows[-1].number, self._sums(rows))

    def read(self, store: ServerStore) -> None:
        """Take over sums that have changed, here or on another server."""
        for row in store.sums(self._version, self._seen):
            self._known[row.article] = bounded(row.weight, row.value)
            self._seen = max(self._seen, row.changed)

    def of(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """Each article's click rate in units of the mean rate, minus 1; 0 where nothing is known."""
        known = self._known
        return np.array([known.get(article, 0.0) for article in ids]) if known else np.zeros(len(ids))

    def _sums(self, rows: Sequence[Any]) -> dict[str, list[float]]:
        """Of each article in some labels: the sum of precisions, and of estimates times precision."""
        sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for row in rows:
            articles = json.loads(row.articles)
            weight, outside, inside = _estimates(len(articles), self._epsilon)
            chosen = set(Release.from_bytes(bytes(row.release)).payload.integers.tolist())
            for place, article in enumerate(articles):
                found = sums[article]
                found[0] += weight
                found[1] += inside if place in chosen else outside
        return dict(sums)


def bounded(weight: float, value: float) -> float:
    """The popularity that sums of labels speak for: the shrunk rate in units of the mean, minus 1."""
    possible = min(max(value, 0.0), MAX_RATE * weight)
    return (possible - weight) / (weight + 1 / SPREAD)


@lru_cache(maxsize=1024)
def _estimates(choices: int, epsilon: float) -> tuple[float, float, float]:
    """The precision of one estimate, and precision times estimate outside and inside the set."""
    hit, stray = inclusion(label_mechanism(choices, epsilon))
    weight = 1 / (choices**2 * show_variance(hit, stray, float(choices)))
    outside, inside = (choices * (there - stray) / (hit - stray) for there in (0, 1))
    return weight, weight * outside, weight * inside
