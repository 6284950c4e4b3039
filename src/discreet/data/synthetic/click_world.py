"""Hour by hour, readers come, see a slate of what is new, and click.

The same clock runs through the weeks before the log, from which only the clicks are kept (the histories), and through
the days of the log, from which the slates are kept too. Nobody is shown an article that they have read, nor one that
is not out yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.synthetic.appeal import Appeal
from discreet.data.synthetic.rhythm import DAY, HOUR, hour_shares
from discreet.progress import track

LIFE_DAYS = 3
"""An article is shown for so many days at most."""

_SHOWN_HALF_LIFE_DAYS = 0.5
_GLANCE, _GLANCE_NOISE = 20, 0.65
_MIN_SLATE, _SLATE_MEAN, _MAX_SLATE = 2, 36.0, 300
_EXTRA_CLICKS_MEAN, _EXTRA_CLICKS_SHAPE = 0.6, 0.4
_DRAWS_PER_PLACE = 3


@dataclass(frozen=True)
class Visits:
    """Who comes when: `reader` and `time` of each visit, in the order of time."""

    reader: NDArray[np.int32]
    time: NDArray[np.int64]

    def in_hour(self, hour: int) -> slice:
        """The visits between `hour` (seconds since 1970) and the next."""
        first, last = np.searchsorted(self.time, (hour, hour + HOUR))
        return slice(int(first), int(last))


@dataclass(frozen=True)
class ClickLog:
    """All that happened: single clicks before the log, then impressions, both in the order of time."""

    early_reader: NDArray[np.int32]
    early_article: NDArray[np.int32]
    reader: NDArray[np.int32]
    time: NDArray[np.int64]
    sizes: NDArray[np.int64]
    shown: NDArray[np.int32]
    clicked: NDArray[np.bool_]
    utility: NDArray[np.float32]


def draw_visits(rng: np.random.Generator, visits: NDArray[np.int64], start: int, days: int, *, apart: bool) -> Visits:
    """Spread `visits[r]` visits of each reader r over the days by the daily rhythm.

    With `apart`, a reader comes at most once in an hour: what was read at one visit is then known at the next.
    """
    reader = np.repeat(np.arange(len(visits)), visits)
    hour = rng.integers(days, size=len(reader)) * 24 + rng.choice(24, size=len(reader), p=hour_shares())
    if apart:
        reader, hour = np.divmod(np.unique(reader * (24 * days) + hour), 24 * days)
    time = start + hour * HOUR + rng.integers(HOUR, size=len(reader))
    order = np.argsort(time, kind="stable")
    return Visits(reader[order].astype(np.int32), time[order])


class Site:
    """The news site: what it shows at an hour, and who has read what of it."""

    def __init__(self, rng: np.random.Generator, appeal: Appeal) -> None:
        self._rng = rng
        self._appeal = appeal
        self._published = appeal.articles.published
        lives = np.searchsorted(self._published, self._published + LIFE_DAYS * DAY + HOUR) - np.arange(
            len(self._published)
        )
        self._places = int(lives.max())
        self._read = np.zeros((self._places, len(appeal.readers)), dtype=np.bool_)
        self._first = self._last = 0

    def open(self, hour: int) -> bool:
        """Turn the clock to `hour`; False as long as there is too little to show."""
        previous = self._last
        self._first, self._last = np.searchsorted(self._published, (hour - LIFE_DAYS * DAY, hour), side="right")
        for article in range(previous, self._last):
            self._read[article % self._places] = False
        live = slice(self._first, self._last)
        age = (hour - self._published[live]) / DAY
        self._weights = np.cumsum(self._appeal.articles.prominence[live] * 0.5 ** (age / _SHOWN_HALF_LIFE_DAYS))
        return bool(self._last - self._first > _MIN_SLATE)

    def glance(self, taste: NDArray[np.float32], visits: Visits, now: slice) -> tuple[NDArray[np.int32], ...]:
        """One click each on the best of a few articles: the clicks' readers and articles, repetitions left out.

        Without a slate in front of them readers choose at leisure: noise weighs less than in an impression.
        """
        reader, time = visits.reader[now], visits.time[now]
        article = self._draw(len(reader) * _GLANCE)
        readers, times = np.repeat(reader, _GLANCE), np.repeat(time, _GLANCE)
        noise = _GLANCE_NOISE * self._rng.gumbel(size=len(article))
        score = self._appeal.utility(taste, readers, article, times) + noise
        score[self._read[article % self._places, readers]] = -np.inf
        score = score.reshape(-1, _GLANCE)
        best = score.argmax(axis=1)
        picked = article.reshape(-1, _GLANCE)[np.arange(len(reader)), best]
        fresh = np.flatnonzero(np.isfinite(score.max(axis=1, initial=-np.inf)))
        _, once = np.unique(reader[fresh].astype(np.int64) * len(self._published) + picked[fresh], return_index=True)
        kept = fresh[np.sort(once)]
        self._read[picked[kept] % self._places, reader[kept]] = True
        return reader[kept], picked[kept].astype(np.int32)

    def show(self, taste: NDArray[np.float32], visits: Visits, now: slice) -> tuple[NDArray[np.generic], ...]:
        """A slate for each visit and the clicks on it: visit, article, clicked and utility of every place shown."""
        reader, time = visits.reader[now], visits.time[now]
        visit, article = self._slates(reader)
        utility = self._appeal.utility(taste, reader[visit], article, time[visit])
        score = utility + self._rng.gumbel(size=len(article))
        sizes = np.bincount(visit, minlength=len(reader))
        extra = self._rng.poisson(
            self._rng.gamma(_EXTRA_CLICKS_SHAPE, _EXTRA_CLICKS_MEAN / _EXTRA_CLICKS_SHAPE, size=len(reader))
        )
        clicks = np.minimum(1 + extra, np.maximum(sizes // 2, 1))
        best_first = np.lexsort((-score, visit))
        clicked = np.zeros(len(article), dtype=np.bool_)
        clicked[best_first] = _rank(visit) < clicks[visit]
        self._read[article[clicked] % self._places, reader[visit[clicked]]] = True
        return now.start + visit, article, clicked, utility

    def _draw(self, count: int) -> NDArray[np.int64]:
        """Draw live articles, the prominent and new ones more often."""
        at = self._rng.random(count) * self._weights[-1]
        return np.asarray(self._first + np.searchsorted(self._weights, at, side="right"))

    def _slates(self, reader: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Distinct unread articles for each visit, in random order: position tells nothing."""
        wanted = _MIN_SLATE + self._rng.exponential(_SLATE_MEAN - _MIN_SLATE, size=len(reader)).astype(np.int64)
        wanted = np.minimum(wanted, _MAX_SLATE)
        visit = np.repeat(np.arange(len(reader)), _DRAWS_PER_PLACE * wanted + 10)
        article = self._draw(len(visit))
        unread = ~self._read[article % self._places, reader[visit]]
        visit, article = visit[unread], article[unread]
        _, first = np.unique(visit * len(self._published) + article, return_index=True)
        first.sort()
        visit, article = visit[first], article[first]
        kept = _rank(visit) < wanted[visit]
        kept &= np.bincount(visit, minlength=len(reader))[visit] >= _MIN_SLATE
        visit, article = visit[kept], article[kept]
        shuffled = np.lexsort((self._rng.random(len(visit)), visit))
        return visit, article[shuffled]


def _rank(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each element within its group; groups stand side by side, in ascending order."""
    return np.arange(len(group)) - np.searchsorted(group, group)


def run_clock(
    rng: np.random.Generator, appeal: Appeal, early: Visits, logged: Visits, start: int, days: int
) -> ClickLog:
    """Run the site from `start` for `days` days; `early` visits leave single clicks, `logged` ones impressions."""
    site = Site(rng, appeal)
    glances: list[tuple[NDArray[np.int32], ...]] = []
    slates: list[tuple[NDArray[np.generic], ...]] = []
    for day in track(range(days), "generating clicks"):
        taste = appeal.readers.taste(day)
        for hour in range(start + day * DAY, start + (day + 1) * DAY, HOUR):
            if not site.open(hour):
                continue
            glances.append(site.glance(taste, early, early.in_hour(hour)))
            slates.append(site.show(taste, logged, logged.in_hour(hour)))
    early_reader, early_article = (np.concatenate(column) for column in zip(*glances, strict=True))
    visit, shown, clicked, utility = (np.concatenate(column) for column in zip(*slates, strict=True))
    sizes = np.bincount(visit, minlength=len(logged.reader))
    took_place = sizes > 0
    return ClickLog(
        early_reader=early_reader,
        early_article=early_article,
        reader=logged.reader[took_place],
        time=logged.time[took_place],
        sizes=sizes[took_place],
        shown=shown.astype(np.int32),
        clicked=clicked,
        utility=utility.astype(np.float32),
    )
