"""The readers of the generated world: what they like, for how long, and how much they read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.synthetic.article_world import category_of_subtopic
from discreet.data.synthetic.titles import STYLES
from discreet.data.synthetic.vocabulary import subtopics

_CIRCLES = 6
_LASTING, _PASSING = 5, 2
_WITHIN_CIRCLE = 0.7
_INTEREST, _CIRCLE_INTEREST, _CATEGORY_INTEREST, _PASSING_INTEREST, _WHIM = 2.2, 1.5, 0.5, 1.2, 0.1
_CIRCLE_STYLE_TASTE, _OWN_STYLE_TASTE = 0.7, 0.5
_PASSING_DAYS = (4, 12)

_HISTORY_MEDIAN, _HISTORY_SPREAD, _MAX_HISTORY, _HISTORY_NONE = 15.0, 1.1, 400, 0.02
_IMPRESSIONS_MEDIAN, _IMPRESSIONS_SPREAD, _MAX_IMPRESSIONS = 1.7, 1.0, 60
_ACTIVITY_LINK = 0.35


@dataclass(frozen=True)
class ReaderTruth:
    """What the generator knows of each reader.

    Readers come in circles, each with its sub-topics from all categories and its leaning to some styles: who reads the
    one likes the other, however different the words. `stable[r, s]` is reader r's taste for sub-topic s that stays,
    a few strong interests, mostly of the circle, among milder ones. Passing interests, `passing[r, j]`, last from day
    `passing_first` to `passing_last`: so tastes drift. `style[r]` is the taste for ways of writing, `favourite[r, s]`
    the entity of a sub-topic that the reader follows.
    """

    circle: NDArray[np.int64]
    stable: NDArray[np.float32]
    passing: NDArray[np.int64]
    passing_first: NDArray[np.int64]
    passing_last: NDArray[np.int64]
    style: NDArray[np.float32]
    favourite: NDArray[np.int8]
    history_clicks: NDArray[np.int64]
    impressions: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.stable)

    def taste(self, day: int) -> NDArray[np.float32]:
        """Every reader's taste for every sub-topic on one day."""
        taste = self.stable.copy()
        reader, slot = np.nonzero((self.passing_first <= day) & (day <= self.passing_last))
        np.add.at(taste, (reader, self.passing[reader, slot]), np.float32(_PASSING_INTEREST))
        return taste


def draw_readers(rng: np.random.Generator, count: int, days: int) -> ReaderTruth:
    """Draw `count` readers whose passing interests come and go within `days` days."""
    topics = subtopics()
    circle = rng.integers(_CIRCLES, size=count)
    leanings = rng.normal(0, _CIRCLE_STYLE_TASTE, size=(_CIRCLES, len(STYLES)))
    leanings -= leanings.mean(axis=0)
    first = rng.integers(-_PASSING_DAYS[1], days, size=(count, _PASSING))
    history, impressions = _activity(rng, count)
    return ReaderTruth(
        circle=circle,
        stable=_stable_tastes(rng, circle),
        passing=rng.integers(len(topics), size=(count, _PASSING)),
        passing_first=first,
        passing_last=first + rng.integers(_PASSING_DAYS[0], _PASSING_DAYS[1] + 1, size=first.shape),
        style=(leanings[circle] + rng.normal(0, _OWN_STYLE_TASTE, size=(count, len(STYLES)))).astype(np.float32),
        favourite=rng.integers(len(topics[0].who), size=(count, len(topics))).astype(np.int8),
        history_clicks=history,
        impressions=impressions,
    )


def _stable_tastes(rng: np.random.Generator, circle: NDArray[np.int64]) -> NDArray[np.float32]:
    """Two to `_LASTING` interests each, which also warm to their category, over the circle's tastes and mere whims.

    The sub-topics are dealt out to the circles, so that none is in fashion with everybody: that is `appeal`'s part.
    """
    count, category = len(circle), category_of_subtopic()
    home = np.arange(len(category)) % _CIRCLES
    rng.shuffle(home)
    sizes, by_home = np.bincount(home), np.argsort(home, kind="stable")
    within = by_home[
        (np.cumsum(sizes) - sizes)[circle][:, None] + rng.integers(sizes[circle], size=(_LASTING, count)).T
    ]
    anywhere = rng.integers(len(category), size=(count, _LASTING))
    chosen = np.where(rng.random((count, _LASTING)) < _WITHIN_CIRCLE, within, anywhere)
    strength = _INTEREST * rng.gamma(4.0, 0.25, size=chosen.shape)
    strength *= np.arange(_LASTING) < rng.integers(2, _LASTING + 1, size=count)[:, None]

    reader = np.arange(count)
    own = np.zeros((count, len(category)), dtype=np.float32)
    warm = np.zeros((count, category[-1] + 1), dtype=np.float32)
    for topic, weight in zip(chosen.T, strength.T, strict=True):
        own[reader, topic] = np.maximum(own[reader, topic], weight)
        warm[reader, category[topic]] = np.maximum(warm[reader, category[topic]], _CATEGORY_INTEREST * (weight > 0))
    shared = np.where(home == circle[:, None], np.float32(_CIRCLE_INTEREST), np.float32(0))
    whims = rng.normal(0, _WHIM, size=own.shape).astype(np.float32)
    return np.asarray(np.maximum(own, shared) + warm[:, category] + whims)


def _activity(rng: np.random.Generator, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Clicks in the history, and impressions, of each reader: both log-normal, both larger for busy readers."""
    busy, link = rng.standard_normal(count), _ACTIVITY_LINK
    history = np.floor(_HISTORY_MEDIAN * np.exp(_HISTORY_SPREAD * busy) + rng.random(count))
    history[rng.random(count) < _HISTORY_NONE] = 0
    other = rng.standard_normal(count)
    spread = _IMPRESSIONS_SPREAD * (link * busy + np.sqrt(1 - link**2) * other)
    impressions = 1 + np.floor(_IMPRESSIONS_MEDIAN * np.exp(spread))
    return (
        np.minimum(history, _MAX_HISTORY).astype(np.int64),
        np.minimum(impressions, _MAX_IMPRESSIONS).astype(np.int64),
    )
