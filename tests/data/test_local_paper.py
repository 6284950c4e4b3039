"""The local paper of the demonstration: a feed that grows, and readers who open big news more often."""

import numpy as np

from discreet.data.synthetic.local_paper import local_paper
from discreet.serving.feeds.formats import read_feed

DAY = 86_400
START = 20_000 * DAY


def test_the_feed_has_what_was_published_lately_and_nothing_of_tomorrow():
    paper = local_paper(5, START, 2, articles_a_day=12, seed=3)
    first, later = (read_feed(paper.feed(now).encode(), "feed.json", int(now)) for now in (START, START + DAY / 2))
    assert first.kind == "JSON Feed"
    assert len(first.articles) == 24
    assert all(START - 2 * DAY < article.published <= START for article in first.articles)
    assert all(START - 1.5 * DAY < article.published <= START + DAY / 2 for article in later.articles)
    assert {article.id for article in later.articles} - {article.id for article in first.articles}


def test_readers_open_at_most_two_of_the_first_ten_and_what_they_like_more():
    paper = local_paper(40, START, 1, articles_a_day=30, seed=3)
    order = np.argsort(-paper.appeal.everyone)
    best, worst = ([paper.articles.ids[row] for row in rows] for rows in (order[:20], order[-20:]))
    rng = np.random.default_rng(0)
    opened = [
        [paper.opened(reader, shown, START, rng) for reader in range(40) for _ in range(5)] for shown in (best, worst)
    ]
    assert all(len(one) <= 2 for visits in opened for one in visits)
    assert {name for visit in opened[0] for name in visit} <= set(best[:10])
    liked, disliked = (sum(map(len, visits)) for visits in opened)
    assert liked > 2 * disliked
    assert paper.opened(0, ["not of this paper"], START, rng) == []


def test_the_same_seed_gives_the_same_paper():
    one, other = (local_paper(6, START, 1, articles_a_day=12, seed=5) for _ in range(2))
    assert one.feed(START) == other.feed(START)
    assert np.array_equal(one.visits.time, other.visits.time)
