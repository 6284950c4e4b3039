"""What makes a reader click: utility = taste + appeal + quality − ageing, and chance on top.

    u(r, a, t) = taste(r, sub-topic) + loyalty·[a's entity is r's favourite] + style taste(r, style)
               + appeal(sub-topic) + appeal(style) + quality(a) − ln 2 · age(a, t) / half-life

With Gumbel noise added, taking the largest is a draw from the softmax of u, and taking the c largest is c draws without
replacement (Plackett and Luce).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.synthetic.article_world import ArticleTruth
from discreet.data.synthetic.reader_world import ReaderTruth
from discreet.data.synthetic.rhythm import DAY
from discreet.data.synthetic.titles import STYLES
from discreet.data.synthetic.vocabulary import subtopics

HALF_LIFE_DAYS = 2.0
_LOYALTY = 0.4
_SUBTOPIC_APPEAL, _STYLE_APPEAL, _QUALITY = 0.33, 0.33, 0.15


@dataclass(frozen=True)
class Appeal:
    """The utility of articles to readers; `everyone` is the part that does not depend on the reader or the time."""

    articles: ArticleTruth
    readers: ReaderTruth
    everyone: NDArray[np.float64]

    def utility(
        self,
        taste: NDArray[np.float32],
        reader: NDArray[np.integer],
        article: NDArray[np.integer],
        time: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Utility of each `article` to the `reader` of the same row at that `time`, given the day's tastes."""
        topic = self.articles.subtopic[article]
        loyal = self.readers.favourite[reader, topic] == self.articles.who[article]
        age = (time - self.articles.published[article]) / DAY
        return np.asarray(
            taste[reader, topic]
            + _LOYALTY * loyal
            + self.readers.style[reader, self.articles.style[article]]
            + self.everyone[article]
            - np.log(2) / HALF_LIFE_DAYS * age
        )


def draw_appeal(rng: np.random.Generator, articles: ArticleTruth, readers: ReaderTruth) -> Appeal:
    """Draw how much everybody likes each sub-topic and style, and add each article's quality."""
    by_subtopic = _SUBTOPIC_APPEAL * _standardised(rng.standard_normal(len(subtopics())))
    by_style = _STYLE_APPEAL * _standardised(rng.standard_normal(len(STYLES)))
    everyone = by_subtopic[articles.subtopic] + by_style[articles.style] + _QUALITY * articles.quality
    return Appeal(articles, readers, everyone)


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean 0 and variance 1: the few styles there are should matter equally much under every seed."""
    return np.asarray((values - values.mean()) / values.std())
