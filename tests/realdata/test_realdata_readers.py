"""The readers on the published files: their counts are known."""

import numpy as np
import pytest

from discreet.data.open import open_news, open_ratings
from discreet.data.validation import check_data

pytestmark = pytest.mark.realdata


def test_mind_sample(shared_data):
    counts = check_data(shared_data / "mind")
    assert counts["format"] == "mind"
    assert counts["splits"]["train"]["impressions"] == 3058
    assert counts["splits"]["dev"]["impressions"] == 974
    assert counts["splits"]["train"]["first"].startswith("2019-11-09")
    assert counts["splits"]["dev"]["last"].startswith("2019-11-13")
    assert 17 <= counts["splits"]["train"]["history_median"] <= 19
    assert counts["articles_with_title"] == counts["articles"]
    assert len(open_news(shared_data / "mind" / "MINDsmall_train").articles) == 48739


def test_ebnerd_demo(shared_data):
    counts = check_data(shared_data / "ebnerd_demo")
    train, dev = counts["splits"]["train"], counts["splits"]["dev"]
    assert (train["impressions"], train["readers"]) == (24724, 1590)
    assert (dev["impressions"], dev["readers"]) == (25356, 1562)
    assert train["without_clicks"] == dev["without_clicks"] == 0
    assert train["first"].startswith("2023-05-18")


@pytest.mark.long
def test_globo(shared_data):
    data = open_news(shared_data / "globo" / "clicks.tar.xz", seed=1)
    train, dev = data.splits["train"], data.splits["dev"]
    assert len(train.timeline) == 2_988_181
    assert len(data.readers) == 322_897
    assert len(data.articles) == 46_033
    assert train.time.max() < dev.time.min()
    assert (dev.slate_sizes == 21).all()
    assert dev.clicked.sum() == len(dev) > 400_000
    clicked = dev.shown[dev.clicked]
    some = np.random.default_rng(0).choice(len(dev), 500, replace=False)
    assert not any(clicked[i] in dev.history(i) for i in some)


def test_movielens_1m(shared_data):
    ratings = open_ratings(shared_data / "movielens" / "ml-1m.zip")
    assert (len(ratings), len(ratings.users), len(ratings.items)) == (1_000_209, 6_040, 3_706)
    assert ratings.scale == (1, 5)
    assert ratings.items.titles[ratings.items.ids.index("1")] == "Toy Story (1995)"
    assert (ratings.items.years > 1900).all()
    assert all(ratings.items.genres)


def test_movielens_100k(shared_data):
    ratings = open_ratings(shared_data / "movielens" / "ml-100k.zip")
    assert (len(ratings), len(ratings.users), len(ratings.items)) == (100_000, 943, 1_682)
    assert ratings.scale == (1, 5)
    toy_story = ratings.items.ids.index("1")
    assert ratings.items.genres[toy_story] == ("Animation", "Children's", "Comedy")
    assert ratings.items.years[toy_story] == 1995
