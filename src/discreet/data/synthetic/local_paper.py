"""A small local paper for a demonstration: a feed of articles, some of them big news, and readers who open some.

Readers and articles are those of the generated world (`reader_world`, `article_world`). Nobody's slates are drawn here:
a reader looks at whatever front a device shows, from the top, and opens an article with the probability

    0.93^place · 1 / (1 + exp(5 − utility)),

where utility is that of the generated world, and more for big news. A reader opens two articles at most.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from discreet.data.news import Articles
from discreet.data.synthetic.appeal import Appeal, draw_appeal
from discreet.data.synthetic.article_world import draw_articles, word_articles
from discreet.data.synthetic.click_world import Visits, draw_visits
from discreet.data.synthetic.reader_world import draw_readers
from discreet.data.synthetic.rhythm import DAY

EARLIER_DAYS = 2
"""How long before the first visit the paper began."""
_BIG_SHARE, _BIG_NEWS, _QUALITY = 0.08, 4.0, 0.5
_VISITS_A_DAY = 1.5
_LOOKED_AT, _LOOKS_ON, _RELUCTANCE, _MAX_OPENED = 10, 0.93, 5.0, 2


@dataclass(frozen=True, eq=False)
class LocalPaper:
    """The paper, its readers, and when they come.

    Attributes:
        articles: What it publishes, in the order of publication.
        appeal: What makes readers open an article.
        visits: Who comes when.
        start: When the first reader may come: the beginning of a day.
        days: For how many days they do.
    """

    articles: Articles
    appeal: Appeal
    visits: Visits
    start: int
    days: int

    def feed(self, now: float, days: int = EARLIER_DAYS) -> str:
        """The feed at a moment, as JSON Feed: what was published in the days before it."""
        a, published = self.articles, self.articles.published
        items = [
            {
                "id": a.ids[row],
                "title": a.titles[row],
                "summary": a.abstracts[row],
                "tags": [a.categories[row], a.subcategories[row]],
                "date_published": datetime.fromtimestamp(int(published[row]), UTC).isoformat(),
            }
            for row in np.flatnonzero((published > now - days * DAY) & (published <= now)).tolist()
        ]
        return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "The Local Paper", "items": items})

    def opened(self, reader: int, shown: Sequence[str], time: float, rng: np.random.Generator) -> list[str]:
        """What a reader opens of a front that is shown, its first articles first."""
        looked_at = [name for name in shown[:_LOOKED_AT] if name in self._rows]
        rows = np.array([self._rows[name] for name in looked_at], np.int64)
        taste = self.appeal.readers.taste(int((time - self.start) // DAY) + EARLIER_DAYS)
        moment = np.full(len(rows), int(time))
        utility = self.appeal.utility(taste, np.full(len(rows), reader), rows, moment)
        chance = _LOOKS_ON ** np.arange(len(rows)) / (1 + np.exp(_RELUCTANCE - utility))
        return [looked_at[place] for place in np.flatnonzero(rng.random(len(rows)) < chance)[:_MAX_OPENED].tolist()]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.articles.ids)}


def local_paper(readers: int, start: int, days: int, *, articles_a_day: int = 60, seed: int = 0) -> LocalPaper:
    """Draw a paper, from two days before `start` on, and readers who come about three times in two days."""
    streams = np.random.default_rng(seed).spawn(6)
    whole = EARLIER_DAYS + days
    truth = draw_articles(streams[0], start - EARLIER_DAYS * DAY, whole, articles_a_day)
    people = draw_readers(streams[1], readers, whole)
    appeal = draw_appeal(streams[2], truth, people)
    is_big = streams[3].random(len(truth)) < _BIG_SHARE
    appeal = replace(appeal, everyone=appeal.everyone + _QUALITY * truth.quality + _BIG_NEWS * is_big)
    coming = streams[4].poisson(_VISITS_A_DAY * days, size=readers)
    visits = draw_visits(streams[4], coming, start, days, apart=True)
    return LocalPaper(word_articles(streams[5], truth), appeal, visits, start, days)
