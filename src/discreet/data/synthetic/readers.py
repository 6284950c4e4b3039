"""The readers of the generated world: what they like, for how long, and how much they read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.synthetic.articles import category_of_subtopic
from discreet.data.synthetic.titles import STYLES
from discreet.data.synthetic.vocabulary import subtopics

_LASTING, _PASSING = 5, 2
_SAME_CATEGORY = 0.35
_INTEREST, _CATEGORY_INTEREST, _PASSING_INTEREST = 1.9, 0.35, 1.6
_WHIM, _STYLE_TASTE = 0.2, 0.5
_PASSING_DAYS = (4, 12)

_HISTORY_MEDIAN, _HISTORY_SPREAD, _HISTORY_MOST, _HISTORY_NONE = 15.0, 1.1, 400, 0.02
_IMPRESSIONS_MEDIAN, _IMPRESSIONS_SPREAD, _IMPRESSIONS_MOST = 1.7, 1.0, 60
_ACTIVITY_LINK = 0.35


@dataclass(frozen=True)
class ReaderTruth:
    """What the generator knows of each reader.

    `lasting[r, s]` is reader r's taste for sub-topic s that stays, a few strong interests among mild whims. Passing
    interests, `passing[r, j]`, last from day `passing_first` to `passing_last`: so tastes drift. `style[r]` is the
    taste for ways of writing, `favourite[r, s]` the entity of a sub-topic that the reader follows.
    """

    lasting: NDArray[np.float32]
    passing: NDArray[np.int64]
    passing_first: NDArray[np.int64]
    passing_last: NDArray[np.int64]
    style: NDArray[np.float32]
    favourite: NDArray[np.int8]
    history_clicks: NDArray[np.int64]
    impressions: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lasting)

    def taste(self, day: int) -> NDArray[np.float32]:
        """Every reader's taste for every sub-topic on one day."""
        taste = self.lasting.copy()
        reader, slot = np.nonzero((self.passing_first <= day) & (day <= self.passing_last))
        np.add.at(taste, (reader, self.passing[reader, slot]), np.float32(_PASSING_INTEREST))
        return taste


def draw_readers(rng: np.random.Generator, count: int, days: int) -> ReaderTruth:
    """Draw `count` readers whose passing interests come and go within `days` days."""
    topics = subtopics()
    shares = np.array([topic.share for topic in topics])
    first = rng.integers(-_PASSING_DAYS[1], days, size=(count, _PASSING))
    history, impressions = _activity(rng, count)
    return ReaderTruth(
        lasting=_lasting_tastes(rng, count, shares),
        passing=rng.choice(len(topics), size=(count, _PASSING), p=shares),
        passing_first=first,
        passing_last=first + rng.integers(_PASSING_DAYS[0], _PASSING_DAYS[1] + 1, size=first.shape),
        style=rng.normal(0, _STYLE_TASTE, size=(count, len(STYLES))).astype(np.float32),
        favourite=rng.integers(len(topics[0].who), size=(count, len(topics))).astype(np.int8),
        history_clicks=history,
        impressions=impressions,
    )


def _lasting_tastes(rng: np.random.Generator, count: int, shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """One to `_LASTING` interests each, some of them in the category of the first, over a ground of whims."""
    category = category_of_subtopic()
    chosen = rng.choice(len(shares), size=(count, _LASTING), p=shares)
    for slot in range(1, _LASTING):
        near = rng.random(count) < _SAME_CATEGORY
        first_of_category = np.searchsorted(category, category[chosen[:, 0]])
        size = np.bincount(category)[category[chosen[:, 0]]]
        chosen[:, slot] = np.where(near, first_of_category + rng.integers(size), chosen[:, slot])
    strength = _INTEREST * rng.gamma(4.0, 0.25, size=chosen.shape)
    strength *= np.arange(_LASTING) < rng.integers(2, _LASTING + 1, size=count)[:, None]

    taste = rng.normal(0, _WHIM, size=(count, len(shares))).astype(np.float32)
    by_category = np.zeros((count, category[-1] + 1), dtype=np.float32)
    reader = np.arange(count)
    for slot in range(_LASTING):
        topic, weight = chosen[:, slot], strength[:, slot]
        taste[reader, topic] = np.maximum(taste[reader, topic], weight)
        by_category[reader, category[topic]] = np.maximum(
            by_category[reader, category[topic]], _CATEGORY_INTEREST * (weight > 0)
        )
    return taste + by_category[:, category]


def _activity(rng: np.random.Generator, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Clicks in the history, and impressions, of each reader: both log-normal, both larger for busy readers."""
    busy, link = rng.standard_normal(count), _ACTIVITY_LINK
    history = np.floor(_HISTORY_MEDIAN * np.exp(_HISTORY_SPREAD * busy) + rng.random(count))
    history[rng.random(count) < _HISTORY_NONE] = 0
    other = rng.standard_normal(count)
    spread = _IMPRESSIONS_SPREAD * (link * busy + np.sqrt(1 - link**2) * other)
    impressions = 1 + np.floor(_IMPRESSIONS_MEDIAN * np.exp(spread))
    return (
        np.minimum(history, _HISTORY_MOST).astype(np.int64),
        np.minimum(impressions, _IMPRESSIONS_MOST).astype(np.int64),
    )
