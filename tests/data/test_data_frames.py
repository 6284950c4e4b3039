"""Data sets from tables in memory."""

import re
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from discreet.data.frames import news_from_frames, ratings_from_frame
from discreet.data.open import open_purchases, open_ratings
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
    with pytest.raises(DiscreetError, match="a second time"):
        ratings_from_frame({"user": [1, 1], "item": [2, 2], "rating": [3, 4]})
    with pytest.raises(DiscreetError, match="outside the scale"):
        ratings_from_frame({"user": [1], "item": [2], "rating": [9]}, scale=(1, 5))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rating": [4, None, 5]}, "row 1: 'rating' is None, not a finite number"),
        ({"rating": [4, "good", 5]}, "row 1: 'rating' is 'good', not a finite number"),
        ({"userId": [1, 2, None]}, "row 2: has no 'user'"),
        ({"movieId": [7, float("nan"), 9]}, "row 1: has no 'item'"),
        ({"userId": [1, 2, 1], "movieId": [7, 8, 7]}, "row 2: user 1 rates item 7 a second time (first in row 0)"),
        ({"userId": [], "movieId": [], "rating": []}, "there is none"),
    ],
)
def test_a_bad_row_of_ratings_is_named(change, words):
    columns = {"userId": [1, 2, 3], "movieId": [7, 8, 9], "rating": [4, 3, 5]} | change
    with pytest.raises(DiscreetError, match=re.escape(words)):
        ratings_from_frame(columns)


def test_columns_have_the_names_that_they_may_have_in_a_file():
    ratings = open_ratings(pl.DataFrame({"userId": [2**40, 5], "movieId": ["x", "y"], "rating": [0.5, 5.0]}))
    assert (ratings.users, ratings.scale) == ([str(2**40), "5"], (0.5, 5.0))
    orders = {"customer": ["c", "c", "d"], "sku": ["s", "s", "t"], "quantity": [1, 2, 1]}
    bought = open_purchases(orders | {"when": ["2024-03-01T10:00:00", "2024-03-02", 1709290000]})
    assert bought.value.tolist() == [1.0, 3.0]
    assert bought.time.tolist() == [1709290000, 1709337600]
    with pytest.raises(DiscreetError, match=r"row 2: 'count' is 0, not above 0"):
        open_purchases(orders | {"quantity": [1, 2, 0]})


def test_a_sparse_matrix_is_opened_and_an_array_is_refused():
    assert open_ratings(csr_array(np.eye(3))).users == ["0", "1", "2"]
    with pytest.raises(DiscreetError, match="cannot read a ndarray; give a path"):
        open_ratings(np.eye(3))
