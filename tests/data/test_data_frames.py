"""Data sets from tables in memory."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from discreet.data.frames import news_from_frames, ratings_from_frame
from discreet.errors import DiscreetError

DAY = 86_400
ARTICLES = {
    "id": ["a", "b", "c"],
    "title": ["One", None, "Three"],
    "published": [0, None, datetime(1970, 1, 2, tzinfo=UTC)],
}
IMPRESSIONS = {
    "reader": ["r", "s", "r", "r"],
    "time": [20, 10, 30, DAY + 5],
    "shown": [["a", "b"], ["b", "c"], ["b", "c"], ["c", "a"]],
    "clicked": [["a"], [], [0, 1], [True, False]],
}


def frame(columns):
    return pl.DataFrame(columns, strict=False)


def test_histories_are_what_was_clicked_before_and_the_last_day_is_dev():
    news = news_from_frames(pl.DataFrame({"id": ["a", "b", "c"]}), IMPRESSIONS)
    train, dev = news.splits["train"], news.splits["dev"]
    assert train.time.tolist() == [10, 20, 30]
    assert [train.history(i).tolist() for i in range(3)] == [[], [], [0]]
    assert dev.history(0).tolist() == [0, 2]
    assert dev.clicked.tolist() == [True, False]
    assert news.readers == ["r", "s"]


def test_clicks_of_one_second_are_not_each_other_s_past():
    columns = {
        "reader": ["r", "r"],
        "time": [5, 5],
        "shown": [["a"], ["b"]],
        "clicked": [["a"], ["b"]],
        "split": ["dev", "dev"],
    }
    dev = news_from_frames(ARTICLES, columns).splits["dev"]
    assert dev.history_sizes.tolist() == [0, 0]


def test_missing_texts_and_times():
    articles = news_from_frames(ARTICLES, IMPRESSIONS).articles
    assert articles.titles == ["One", "", "Three"]
    assert articles.published.tolist() == [0, -1, DAY]


def test_given_histories_are_kept():
    columns = {**IMPRESSIONS, "history": [["c"], [], ["c", "a"], ["b"]]}
    train = news_from_frames(ARTICLES, columns).splits["train"]
    assert [train.history(i).tolist() for i in range(3)] == [[], [2], [2, 0]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shown": [["a", "x"], ["b"], ["b"], ["c"]]}, "row 0: 'shown' names article 'x'"),
        ({"clicked": [["c"], [], [], []]}, "row 0: an article was clicked that was not shown"),
        ({"time": ["soon", 1, 2, 3]}, "row 0: 'time' is 'soon'"),
        ({"shown": [[], ["b"], ["b"], ["c"]]}, "row 0: nothing is shown"),
        ({"split": ["train", "x", "dev", "dev"]}, "split 'x'"),
        ({"time": [1, 2, 3, 4]}, "all are of one day"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(change, words):
    with pytest.raises(DiscreetError, match=words) as error:
        news_from_frames(ARTICLES, {**IMPRESSIONS, **change})
    assert "\n" not in str(error.value)


def test_a_missing_column_is_named():
    with pytest.raises(DiscreetError, match="no column 'reader'; there are time"):
        news_from_frames(ARTICLES, {"time": [1]})


def test_pandas_frames_are_read_too():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    news = news_from_frames(pandas.DataFrame({"id": ["a", "b", "c"]}), pandas.DataFrame(IMPRESSIONS))
    assert len(news.splits["train"]) == 3


def test_ratings_from_a_frame():
    ratings = ratings_from_frame(pl.DataFrame({"user": [7, 7, 8], "item": ["x", "y", "x"], "rating": [1, 5, 3]}))
    assert ratings.users == ["7", "8"]
    assert ratings.items.ids == ["x", "y"]
    assert np.array_equal(ratings.value, [1, 5, 3])
    assert ratings.scale == (1.0, 5.0)
    with pytest.raises(DiscreetError, match="twice"):
        ratings_from_frame({"user": [1, 1], "item": [2, 2], "rating": [3, 4]})
    with pytest.raises(DiscreetError, match="outside the scale"):
        ratings_from_frame({"user": [1], "item": [2], "rating": [9]}, scale=(1, 5))
