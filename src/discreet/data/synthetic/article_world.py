"""The articles of the generated world: when they appear, what they are about, how good they are, how they read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.entities import Entities
from discreet.data.news import Articles
from discreet.data.synthetic.rhythm import DAY, moments
from discreet.data.synthetic.titles import DRAWS, STYLE_SHARES, STYLES, mention_in, write_article
from discreet.data.synthetic.vocabulary import CATEGORIES, subtopics

STORY_DAYS = 3
STORIES_AT_ONCE = 3
_STORY_SHARE = 0.6
_PROMINENCE_SPREAD = 1.5
_PROMINENCE_SHOWS_QUALITY = 0.4


@dataclass(frozen=True)
class ArticleTruth:
    """What the generator knows of each article, in the order of publication; only the text shows, and that in part.

    `prominence` is how much the site shows it, `quality` how much everybody likes it: the first tells of the second
    only in part.
    """

    published: NDArray[np.int64]
    subtopic: NDArray[np.int32]
    style: NDArray[np.int32]
    who: NDArray[np.int32]
    thing: NDArray[np.int32]
    prominence: NDArray[np.float64]
    quality: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.published)


def draw_articles(rng: np.random.Generator, start: int, days: int, per_day: int) -> ArticleTruth:
    """Draw `per_day` articles for each day from `start` on.

    Most belong to a story: an entity and a matter of one sub-topic that the site follows for `STORY_DAYS` days.
    """
    topics = subtopics()
    count = days * per_day
    day = np.repeat(np.arange(days), per_day)
    published = start + DAY * day + moments(rng, count)
    order = np.argsort(published, kind="stable")
    published, day = published[order], day[order]
    subtopic = rng.choice(len(topics), size=count, p=[topic.share for topic in topics])

    entities, matters = len(topics[0].who), len(topics[0].thing)
    stories = (len(topics), days // STORY_DAYS + 1, STORIES_AT_ONCE)
    story_who, story_thing = rng.integers(entities, size=stories), rng.integers(matters, size=stories)
    story = rng.integers(STORIES_AT_ONCE, size=count)
    in_story = rng.random(count) < _STORY_SHARE
    who = np.where(in_story, story_who[subtopic, day // STORY_DAYS, story], rng.integers(entities, size=count))
    thing = np.where(in_story, story_thing[subtopic, day // STORY_DAYS, story], rng.integers(matters, size=count))

    quality = rng.standard_normal(count)
    unseen = rng.standard_normal(count)
    visible = _PROMINENCE_SHOWS_QUALITY
    prominence = np.exp(_PROMINENCE_SPREAD * (visible * quality + np.sqrt(1 - visible**2) * unseen))
    return ArticleTruth(
        published=published,
        subtopic=subtopic.astype(np.int32),
        style=rng.choice(len(STYLES), size=count, p=STYLE_SHARES).astype(np.int32),
        who=who.astype(np.int32),
        thing=thing.astype(np.int32),
        prominence=prominence,
        quality=quality,
    )


def word_articles(rng: np.random.Generator, truth: ArticleTruth) -> Articles:
    """Write every article's title and abstract. Ids are in no order, so that they tell nothing of the time."""
    topics = subtopics()
    count = len(truth)
    columns = zip(
        truth.subtopic.tolist(),
        truth.style.tolist(),
        truth.who.tolist(),
        truth.thing.tolist(),
        rng.integers(1 << 20, size=(count, DRAWS)).tolist(),
        strict=True,
    )
    texts = [write_article(topics[topic], style, who, thing, draws) for topic, style, who, thing, draws in columns]
    titles = [title for title, _ in texts]
    return Articles(
        ids=[f"N{number}" for number in (1 + rng.permutation(count)).tolist()],
        titles=titles,
        categories=[topics[topic].category for topic in truth.subtopic.tolist()],
        subcategories=[topics[topic].name for topic in truth.subtopic.tolist()],
        abstracts=[abstract for _, abstract in texts],
        published=truth.published,
        entities=_entities(truth, titles),
    )


def _entities(truth: ArticleTruth, titles: list[str]) -> Entities:
    """Who and what each title names, numbered as in a knowledge base: every entity and matter of every sub-topic."""
    topics = subtopics()
    entities, matters = len(topics[0].who), len(topics[0].thing)
    mentions = []
    for title, topic, who, thing in zip(
        titles, *(x.tolist() for x in (truth.subtopic, truth.who, truth.thing)), strict=True
    ):
        number = topic * (entities + matters)
        named = ((number + who, topics[topic].who[who]), (number + entities + thing, topics[topic].thing[thing]))
        mentions.append([(f"Q{1 + place}", form) for place, name in named if (form := mention_in(title, name))])
    return Entities.from_lists(mentions)


def category_of_subtopic() -> NDArray[np.int64]:
    """For each sub-topic, the number of its category."""
    return np.array([CATEGORIES.index(topic.category) for topic in subtopics()])
