"""Generated ratings that behave like MovieLens: popular and obscure films, strict and kind users, tastes in genres.

    rating = round( μ + user bias + film bias + ⟨user taste, film features⟩ + noise ),  clipped to the scale

A film's features come from its public genres and year, and in part from nothing public at all, so that public side
information helps a model, but does not say everything.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.data.synthetic.films import LAST_YEAR, draw_films
from discreet.files import replacing_folder

_START = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp())
_YEARS = 3 * 365 * 86_400
_MEAN = 3.65
_USER_BIAS, _FILM_BIAS, _TASTE, _NOISE = 0.43, 0.5, 0.45, 0.85
_POPULAR_IS_GOOD = 0.45
_RANK = 8
_PUBLIC_SHARE = 0.7
_ZIPF_EXPONENT, _ZIPF_OFFSET = 1.1, 60.0
_ACTIVITY_SPREAD, _MIN_RATINGS, _MAX_SHARE = 1.0, 20, 0.5
_ROUNDS = 6
_RATINGS_PER_USER = 165


def ratings_world(
    users: int = 6000,
    items: int = 4000,
    ratings: int | None = None,
    *,
    half_stars: bool = False,
    skew: float = _ZIPF_EXPONENT,
    seed: int = 0,
) -> Ratings:
    """Generate about `ratings` ratings from 1 to 5 stars, no user rating a film twice.

    The k-th film is rated as often as (k + 60)^-`skew`: the larger, the more films have a rating or none.

    By default 165 ratings for each user, as in MovieLens 1M, or a tenth of all pairs where that is less.
    Every user has at least 20 ratings where there are films enough, and at most half of all films. The same arguments
    always give the same data.
    """
    if ratings is None:
        ratings = max(1, min(_RATINGS_PER_USER * users, users * items // 10))
    for name, value in (("users", users), ("items", items), ("ratings", ratings)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    if not 0 <= skew < np.inf:
        raise ValueError(f"skew must be at least 0, not {skew}")
    if ratings > _MAX_SHARE * users * items:
        raise ValueError(f"{ratings} ratings do not fit: at most half of the {users} × {items} pairs can be rated")
    streams = np.random.default_rng(seed).spawn(4)
    films, genres = draw_films(streams[0], items)
    popularity = (np.arange(items) + _ZIPF_OFFSET) ** -skew
    user, item = _pairs(streams[1], _activity(streams[1], users, items, ratings), popularity / popularity.sum())

    rng = streams[2]
    fame = (np.log(popularity) - np.log(popularity).mean()) / max(float(np.log(popularity).std()), 1e-12)
    film_bias = _FILM_BIAS * (_POPULAR_IS_GOOD * fame + np.sqrt(1 - _POPULAR_IS_GOOD**2) * rng.standard_normal(items))
    user_bias = rng.normal(0, _USER_BIAS, size=users)
    features = _film_features(rng, genres, films.years)
    tastes = rng.standard_normal((users, _RANK)) / np.sqrt(_RANK)
    bias = user_bias[user] + film_bias[item]
    taste = np.zeros(len(user))
    for factor in range(_RANK):
        taste += tastes[user, factor] * features[item, factor]
    score = bias - bias.mean() + _MEAN + _TASTE * taste + rng.normal(0, _NOISE, size=len(user))
    value = np.round(2 * score) / 2 if half_stars else np.round(score)
    return Ratings(
        name=f"generated-ratings-{users}-{seed}",
        user=user,
        item=item,
        value=np.clip(value, 1, 5).astype(np.float32),
        time=_times(streams[3], user, users),
        users=[str(number) for number in range(1, users + 1)],
        items=films,
        scale=(1.0, 5.0),
    )


def write_ratings(ratings: Ratings, folder: Path, *, overwrite: bool = False) -> None:
    """Write `ratings.csv` and `movies.csv` in MovieLens' form into `folder`, which appears only when it is complete."""
    with replacing_folder(folder, overwrite=overwrite) as draft:
        pl.DataFrame(
            {
                "userId": pl.Series(ratings.users).gather(ratings.user),
                "movieId": pl.Series(ratings.items.ids).gather(ratings.item),
                "rating": ratings.value,
                "timestamp": ratings.time,
            }
        ).write_csv(draft / "ratings.csv")
        pl.DataFrame(
            {
                "movieId": ratings.items.ids,
                "title": ratings.items.titles,
                "genres": ["|".join(genres) or "(no genres listed)" for genres in ratings.items.genres],
            }
        ).write_csv(draft / "movies.csv")


def _activity(rng: np.random.Generator, users: int, items: int, ratings: int) -> NDArray[np.int64]:
    """How many films each user rates: log-normal, scaled so that they sum to about `ratings`."""
    max_ratings = max(1, int(_MAX_SHARE * items))
    min_ratings = min(_MIN_RATINGS, max_ratings, max(1, ratings // users))
    raw = np.exp(_ACTIVITY_SPREAD * rng.standard_normal(users))
    scale = ratings / raw.sum()
    for _ in range(20):
        counts = np.clip(scale * raw, min_ratings, max_ratings)
        scale *= ratings / counts.sum()
    return np.asarray(np.clip(np.round(scale * raw), min_ratings, max_ratings), dtype=np.int64)


def _pairs(
    rng: np.random.Generator, counts: NDArray[np.int64], popularity: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Distinct films for each user, drawn by popularity; in a few rounds, each filling what repetitions left open."""
    items = len(popularity)
    edges = np.cumsum(popularity)
    pairs = np.zeros(0, dtype=np.int64)
    for _ in range(_ROUNDS):
        missing = counts - np.bincount(pairs // items, minlength=len(counts))
        user = np.repeat(np.arange(len(counts)), missing)
        film = np.minimum(np.searchsorted(edges, rng.random(len(user)), side="right"), items - 1)
        pairs = np.sort(np.concatenate((pairs, user * items + film)))
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    user, film = np.divmod(pairs, items)
    return user.astype(np.int32), film.astype(np.int32)


def _film_features(
    rng: np.random.Generator, genres: NDArray[np.bool_], years: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Features of unit variance: the sum of the genres' and the year's directions, and something of the film's own."""
    public = np.column_stack((genres, (LAST_YEAR - years) / 15.0))
    seen = public.astype(np.float64) @ rng.standard_normal((public.shape[1], _RANK))
    seen = (seen - seen.mean(axis=0)) / np.maximum(seen.std(axis=0), 1e-12)
    own = rng.standard_normal(seen.shape)
    return np.asarray(np.sqrt(_PUBLIC_SHARE) * seen + np.sqrt(1 - _PUBLIC_SHARE) * own)


def _times(rng: np.random.Generator, user: NDArray[np.int32], users: int) -> NDArray[np.int64]:
    """Each user rates for a while after joining, a minute and more apart on average, in no order of the films."""
    joined = _START + rng.integers(_YEARS, size=users)
    return np.asarray(joined[user] + rng.exponential(20 * 86_400, size=len(user)).astype(np.int64))
