"""Generated ratings: MovieLens' shape, and tastes that public genres tell of in part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.formats.movielens import read_ratings
from discreet.data.ratings import Ratings
from discreet.data.synthetic import ratings_world, write_ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return ratings_world(1500, 1200, 150_000, seed=6)


def test_stars_are_like_movielens(ratings: Ratings) -> None:
    assert set(np.unique(ratings.value)) == {1, 2, 3, 4, 5}
    assert 3.5 <= ratings.value.mean() <= 3.7
    assert 1.0 <= ratings.value.std() <= 1.2
    assert 0.97 <= len(ratings) / 150_000 <= 1.001


def test_half_stars_on_request() -> None:
    assert set(np.unique(ratings_world(100, 200, half_stars=True).value)) == set(np.arange(1, 5.5, 0.5))


@given(st.integers(1, 60), st.integers(2, 90), st.floats(0.01, 0.5), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_no_user_rates_an_item_twice(users: int, items: int, share: float, seed: int) -> None:
    data = ratings_world(users, items, max(1, int(share * users * items)), seed=seed)
    pairs = data.user.astype(np.int64) * items + data.item
    assert len(np.unique(pairs)) == len(data) >= 1
    assert data.user.min() >= 0
    assert data.user.max() < users
    assert data.item.max() < items


def test_activity_and_popularity_are_skewed(ratings: Ratings) -> None:
    per_user = np.bincount(ratings.user, minlength=1500)
    per_item = np.sort(np.bincount(ratings.item, minlength=1200))[::-1]
    assert per_user.min() >= 20
    assert np.median(per_user) < 0.8 * per_user.mean()
    assert 0.25 < per_item[:120].sum() / len(ratings) < 0.6
    logs = np.log(per_user[per_user > 25])
    assert abs(np.mean((logs - logs.mean()) ** 3) / logs.std() ** 3) < 0.8


def test_users_and_items_have_biases_and_tastes(ratings: Ratings) -> None:
    """What is left after each layer: the global mean, the two biases, and a fitted taste for genres."""
    rng = np.random.default_rng(0)
    train = rng.random(len(ratings)) < 0.7
    errors = [ratings.value - ratings.value[train].mean()]
    for group, count in ((ratings.item, 1200), (ratings.user, 1500)):
        total = np.bincount(group[train], weights=errors[-1][train], minlength=count)
        errors.append(errors[-1] - (total / (np.bincount(group[train], minlength=count) + 5))[group])
    genres = sorted({genre for row in ratings.items.genres for genre in row})
    liked = errors[-1].astype(np.float64).copy()
    for genre in genres:
        has = np.array([genre in row for row in ratings.items.genres])[ratings.item]
        on = train & has
        total = np.bincount(ratings.user[on], weights=errors[-1][on], minlength=1500)
        liked -= np.where(has, (total / (np.bincount(ratings.user[on], minlength=1500) + 15))[ratings.user], 0) / 1.5
    errors.append(liked)
    rmse = [float(np.sqrt(np.mean(error[~train] ** 2))) for error in errors]
    assert rmse[1] < 0.97 * rmse[0]
    assert rmse[2] < 0.97 * rmse[1]
    assert rmse[3] < 0.995 * rmse[2]
    assert rmse[3] > 0.75


def test_same_seed_same_ratings_other_seed_others() -> None:
    one, same, other = (ratings_world(80, 150, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.value, same.value)
    np.testing.assert_array_equal(one.time, same.time)
    assert list(one.items.titles) == list(same.items.titles)
    assert one.value.tolist() != other.value.tolist()


def test_more_than_half_of_all_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        ratings_world(10, 10, 60)


def test_what_is_written_is_read_back(ratings: Ratings, tmp_path: Path) -> None:
    write_ratings(ratings, tmp_path / "out")
    back = read_ratings(tmp_path / "out")
    assert len(back) == len(ratings)

    def rows(data: Ratings) -> set[tuple[str, str, float, int, str]]:
        names = [(data.items.ids[i], data.items.titles[i]) for i in data.item]
        columns = zip(data.user, names, data.value, data.time, strict=True)
        return {(data.users[u], name, float(v), int(t), title) for u, (name, title), v, t in columns}

    assert rows(back) == rows(ratings)
    header = (tmp_path / "out" / "ratings.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == "userId,movieId,rating,timestamp"
    genres = dict(zip(back.items.ids, back.items.genres, strict=True))
    assert all(
        set(genres[name]) == set(ours)
        for name, ours in zip(ratings.items.ids, ratings.items.genres, strict=True)
        if name in genres
    )
