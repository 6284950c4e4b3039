"""The method: it fits, ranks, is saved and loaded, and says truthfully what it costs."""

import math
from dataclasses import replace

import numpy as np
import pytest

import discreet as d
from discreet.audits.front_page import audited_log
from discreet.data.news import NewsData
from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.methods.front_page.history_features import reader_features
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.method import TrainingTask
from discreet.methods.run import Run
from discreet.privacy.guarantee import Adjacency, Adversary, Scope, Unit


@pytest.fixture(scope="module")
def news():
    return news_world(400, seed=3)


@pytest.fixture(scope="module")
def task(news):
    return TrainingTask(news, "hashed")


def auc(task, method, seed=0):
    run = Run(method, method.train(task, seed), "world", seed, "hashed", task)
    return float(run.evaluate("dev").results[0].runs[0].values["auc"].mean())


def test_ranks_better_than_content_and_popularity_helps(task):
    content, private, exact = (
        auc(task, method) for method in (d.Content(), d.FrontPage(), d.FrontPage(epsilon=math.inf))
    )
    assert private > content + 0.01
    assert exact > content + 0.02


def test_is_saved_and_loaded(news, tmp_path):
    run = d.FrontPage(epsilon=3).fit(news, text="hashed")
    run.save(tmp_path / "run")
    loaded = Run.load(tmp_path / "run")
    dev = news.splits["dev"]
    assert np.array_equal(run.score(dev), loaded.score(dev, news))
    assert loaded.guarantee == run.guarantee


def test_going_on_from_the_state_is_the_same_as_from_the_beginning(task, news):
    method = d.FrontPage(epsilon=1)
    dev, state = news.splits["dev"], method.train(task, 0)
    never = {"until": np.array([2**60])}
    assert np.allclose(method.log_rates(task, state, dev, 0), method.log_rates(task, never, dev, 0), atol=1e-9)


def test_nothing_of_the_future_counts(task, news):
    """Without everything after noon of the dev day, what was ranked before noon is ranked the same."""
    dev = news.splits["dev"]
    noon = int(np.median(dev.time)) // 3600 * 3600
    early = dev.select(dev.time < noon)
    cut = TrainingTask(
        NewsData("cut", news.articles, news.readers, {"train": news.splits["train"], "dev": early}), "hashed"
    )
    method = d.FrontPage(epsilon=1)
    state = method.train(task, 0)
    assert np.array_equal(method.score(task, state, early, 0), method.score(cut, state, early, 0))


def test_guarantee_says_all():
    day = d.FrontPage(epsilon=1).guarantee({})
    assert (day.epsilon, day.delta, day.scope) == (1, 0, Scope.DAY)
    assert (day.unit, day.adjacency) == (Unit.USER, Adjacency.ZERO_OUT)
    assert day.adversary is Adversary.PUBLISHER_AND_AGGREGATOR
    assert "simulated" in day.mechanism
    life = d.FrontPage(epsilon=1, max_days=6).guarantee({})
    assert life.scope is Scope.LIFETIME
    assert life.delta == 1e-6
    assert 0.99 < life.epsilon <= 1
    assert "6 days" in life.mechanism
    assert math.isinf(d.FrontPage(epsilon=math.inf).guarantee({}).epsilon)
    assert "50,000 readers" in d.FrontPage(population=50_000).guarantee({}).mechanism


def test_days_compose():
    method = d.FrontPage(epsilon=0.05)
    assert method.lifetime(1) == pytest.approx(0.05, rel=1e-3)
    assert method.lifetime(6) <= 0.3 + 1e-9
    assert method.lifetime(365) < 0.5 * 365 * 0.05
    assert d.FrontPage(epsilon=1, max_days=6).daily_epsilon >= 1 / 6


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 0},
        {"epsilon": 1000},
        {"epsilon": math.nan},
        {"max_days": -1},
        {"delta": 0.5},
        {"max_clicks": -1},
        {"popularity_weight": -1.0},
        {"window_minutes": 7},
        {"window_minutes": 0},
        {"population": -1},
    ],
)
def test_refuses_settings_that_mean_nothing(settings):
    with pytest.raises(DiscreetError, match="front_page: "):
        d.FrontPage(**settings)


def test_as_many_clicks_count_as_slates_are_sent_and_the_noise_allows(news, task):
    method = d.FrontPage(epsilon=100)
    assert method._clicks(task) == method.train(task, 0)["max_clicks"][0]
    train = news.splits["train"]
    often = replace(train, reader=np.zeros_like(train.reader))
    busy = NewsData("busy", news.articles, news.readers, {"train": often, "dev": news.splits["dev"]})
    often_sent = TrainingTask(busy, "hashed")
    assert [d.FrontPage(epsilon=e)._clicks(often_sent) for e in (100, math.inf)] == [10, 10]
    assert d.FrontPage(epsilon=0.1)._clicks(often_sent) == 1
    some = [d.FrontPage(epsilon=e)._clicks(often_sent) for e in (1, 3, 10)]
    assert some == sorted(some)
    assert d.FrontPage(epsilon=0.1, population=10**9)._clicks(often_sent) == 10
    assert d.FrontPage(max_clicks=2)._clicks(task) == 2
    assert "at most 2 clicks a day" in d.FrontPage(max_clicks=2).guarantee({}).mechanism


def test_public_side_does_not_depend_on_clicks_or_histories():
    one, other = (PublicArticles.of(TrainingTask(audited_log(clicks), "hashed")) for clicks in (None, 2))
    for name in ("vectors", "category", "share", "text"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.unit == other.unit


def test_a_reader_without_history_ranks_by_popularity_and_recency(task):
    public = PublicArticles.of(task)
    assert not reader_features(public, np.zeros(0, np.int32), np.arange(5, dtype=np.int32)).any()


def test_data_without_titles_and_categories_is_ranked_by_popularity(news):
    empty = [""] * len(news.articles)
    bare = NewsData("bare", replace(news.articles, titles=empty, categories=empty), news.readers, news.splits)
    assert auc(TrainingTask(bare, "hashed"), d.FrontPage(epsilon=math.inf)) > 0.52
