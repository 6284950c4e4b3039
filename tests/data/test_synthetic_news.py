"""The generated news world: its sizes, its text, and that it never looks ahead."""

from __future__ import annotations

import re

import numpy as np
import pytest

from discreet.data.news import Impressions
from discreet.data.synthetic import NewsWorld, news_world, news_world_with_truth
from discreet.data.synthetic.rhythm import DAY
from discreet.data.synthetic.world import TRAIN_START


@pytest.fixture(scope="module")
def world() -> NewsWorld:
    return news_world_with_truth(3000, seed=11)


def every_split(world: NewsWorld) -> Impressions:
    train, dev = world.data.splits["train"], world.data.splits["dev"]
    assert train.timeline is dev.timeline
    return Impressions(
        **{
            name: np.concatenate((getattr(train, name), getattr(dev, name)))
            for name in ("reader", "time", "shown", "clicked", "history_start", "history_stop")
        },
        slate=np.concatenate((train.slate, train.slate[-1] + dev.slate[1:])),
        timeline=train.timeline,
    )


def test_sizes_are_like_minds(world: NewsWorld) -> None:
    train = world.data.splits["train"]
    clicks = np.add.reduceat(train.clicked.astype(int), train.slate[:-1])
    assert 14 <= np.median(train.history_sizes) <= 23
    assert 26 <= train.history_sizes.mean() <= 42
    assert 0.005 <= (train.history_sizes == 0).mean() <= 0.05
    assert 20 <= np.median(train.slate_sizes) <= 30
    assert 30 <= train.slate_sizes.mean() <= 40
    assert np.percentile(train.slate_sizes, 5) <= 4
    assert np.percentile(train.slate_sizes, 95) >= 85
    assert 1.35 <= clicks.mean() <= 1.65
    assert 0.035 <= train.clicked.mean() <= 0.05


def test_every_impression_has_a_click_and_something_not_clicked(world: NewsWorld) -> None:
    for impressions in world.data.splits.values():
        clicks = np.add.reduceat(impressions.clicked.astype(int), impressions.slate[:-1])
        assert (clicks >= 1).all()
        assert (clicks < impressions.slate_sizes).all()


def test_impressions_per_reader_are_about_three_and_heavy_tailed(world: NewsWorld) -> None:
    per_reader = np.bincount(every_split(world).reader, minlength=3000)
    assert per_reader.min() >= 1
    assert 2.6 <= per_reader.mean() <= 3.6
    assert np.median(per_reader) < per_reader.mean() < np.percentile(per_reader, 99) / 4


def test_splits_are_the_days_that_were_asked_for() -> None:
    splits = news_world(300, train_days=2, seed=5).splits
    days = {split: np.unique((impressions.time - TRAIN_START) // DAY) for split, impressions in splits.items()}
    assert days["train"].tolist() == [0, 1]
    assert days["dev"].tolist() == [2]
    assert all((np.diff(impressions.time) >= 0).all() for impressions in splits.values())


def test_days_have_a_rhythm(world: NewsWorld) -> None:
    hour = every_split(world).time // 3600 % 24
    morning, night = np.isin(hour, (8, 9, 10, 11)).mean(), np.isin(hour, (20, 21, 22, 23)).mean()
    assert morning > 4 * night > 0


def test_nothing_is_shown_before_it_is_out(world: NewsWorld) -> None:
    impressions = every_split(world)
    published = world.data.articles.published[impressions.shown]
    assert (published <= np.repeat(impressions.time, impressions.slate_sizes)).all()


def test_train_histories_are_older_than_the_log(world: NewsWorld) -> None:
    train = world.data.splits["train"]
    for i in range(len(train)):
        assert (world.data.articles.published[train.history(i)] < TRAIN_START).all()


def test_dev_histories_are_train_histories_and_the_clicks_in_train(world: NewsWorld) -> None:
    train, dev = world.data.splits["train"], world.data.splits["dev"]
    clicked_in_train: dict[int, list[int]] = {}
    early: dict[int, list[int]] = {}
    for i in range(len(train)):
        slate = slice(train.slate[i], train.slate[i + 1])
        clicked_in_train.setdefault(int(train.reader[i]), []).extend(train.shown[slate][train.clicked[slate]].tolist())
        early[int(train.reader[i])] = train.history(i).tolist()
    both = [i for i in range(len(dev)) if int(dev.reader[i]) in early]
    assert len(both) > 100
    for i in both:
        reader = int(dev.reader[i])
        assert dev.history(i).tolist() == early[reader] + clicked_in_train[reader]


def test_nobody_is_shown_what_they_have_read(world: NewsWorld) -> None:
    dev = world.data.splits["dev"]
    for i in range(len(dev)):
        history = dev.history(i)
        shown = dev.shown[dev.slate[i] : dev.slate[i + 1]]
        assert len(set(history.tolist())) == len(history)
        assert len(set(shown.tolist())) == len(shown)
        assert not np.isin(shown, history).any()


def test_the_place_in_a_slate_tells_nothing(world: NewsWorld) -> None:
    train = world.data.splits["train"]
    place = np.arange(len(train.shown)) - train.slate[train.impression_of_shown]
    relative = (place + 0.5) / train.slate_sizes[train.impression_of_shown]
    clicked = relative[train.clicked]
    assert abs(clicked.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(clicked))


def test_popularity_is_heavy_tailed(world: NewsWorld) -> None:
    shows = np.sort(np.bincount(world.data.splits["train"].shown))[::-1]
    shows = shows[shows > 0]
    assert shows[: len(shows) // 10].sum() > 0.35 * shows.sum()


def test_articles_age_within_days(world: NewsWorld) -> None:
    train = world.data.splits["train"]
    age = (np.repeat(train.time, train.slate_sizes) - world.data.articles.published[train.shown]) / DAY
    assert age.max() <= 3 + 2 / 24
    assert 0.2 < np.median(age) < 1.0
    fresh, stale = train.clicked[age < 0.5].mean(), train.clicked[age > 2].mean()
    assert fresh > 1.3 * stale > 0


def test_titles_can_be_read(world: NewsWorld) -> None:
    articles = world.data.articles
    for text in (*articles.titles, *articles.abstracts):
        assert text == text.strip()
        assert "  " not in text
        assert text[0].isupper() or text[0].isdigit()
        assert not re.search(r"[{}|\t\n]", text)
    words = [len(title.split()) for title in articles.titles]
    assert 10.0 <= np.mean(words) <= 12.5
    assert min(words) >= 4
    assert len(set(articles.titles)) > 0.85 * len(articles)


def test_topics_are_many_and_their_words_their_own(world: NewsWorld) -> None:
    articles = world.data.articles
    assert len(set(articles.categories)) == 15
    assert len(set(articles.subcategories)) >= 60
    words: dict[str, set[str]] = {}
    for topic, title in zip(articles.subcategories, articles.titles, strict=True):
        words.setdefault(topic, set()).update(re.findall(r"[a-z]+", title.lower()))
    shared = [len(words[a] & words[b]) / len(words[a] | words[b]) for a in words for b in words if a < b]
    assert np.mean(shared) < 0.4


def test_ids_tell_nothing_of_the_time(world: NewsWorld) -> None:
    numbers = np.array([int(name[1:]) for name in world.data.articles.ids])
    assert len(np.unique(numbers)) == len(numbers)
    correlation = np.corrcoef(numbers, world.data.articles.published)[0, 1]
    assert abs(correlation) < 4 / np.sqrt(len(numbers))


def test_same_seed_same_world_other_seed_another() -> None:
    one, same, other = (news_world(150, seed=seed) for seed in (4, 4, 5))
    assert list(one.articles.titles) == list(same.articles.titles)
    assert list(one.articles.titles) != list(other.articles.titles)
    for split in one.splits:
        for name in ("reader", "time", "slate", "shown", "clicked", "timeline", "history_start", "history_stop"):
            np.testing.assert_array_equal(getattr(one.splits[split], name), getattr(same.splits[split], name))
    assert one.splits["train"].shown.tolist() != other.splits["train"].shown.tolist()


@pytest.mark.parametrize(
    "sizes",
    [{"readers": 1}, {"readers": 30, "history_days": 0}, {"readers": 40, "articles_per_day": 10, "train_days": 1}],
)
def test_tiny_worlds_work(sizes: dict[str, int]) -> None:
    splits = news_world(**sizes, seed=2).splits
    assert len(splits["train"]) > 0
    for impressions in splits.values():
        assert (impressions.slate_sizes >= 2).all()
        assert impressions.slate[-1] == len(impressions.shown) == len(impressions.clicked)


@pytest.mark.parametrize("sizes", [{"readers": 0}, {"train_days": 0}, {"history_days": -1}, {"articles_per_day": 3}])
def test_impossible_sizes_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(sizes))} must be at least"):
        news_world(**sizes)
