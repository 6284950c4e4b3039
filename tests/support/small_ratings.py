"""Small random ratings for the vendors' tests, and ways to take one user or one rating away."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from discreet.data.ratings import Items, Ratings
from discreet.vendors.partition import selected


def random_ratings(seed: int, users: int = 12, items: int = 9, density: float = 0.5) -> Ratings:
    """Ratings from 1 to 5 of a random share of all pairs, at least one for each user."""
    rng = np.random.default_rng(seed)
    rated = rng.random((users, items)) < density
    rated[np.arange(users), rng.integers(items, size=users)] = True
    user, item = np.nonzero(rated)
    named = Items([f"i{n}" for n in range(items)], [""] * items, [()] * items, np.full(items, -1, np.int32))
    return Ratings(
        name="small",
        user=user.astype(np.int32),
        item=item.astype(np.int32),
        value=rng.integers(1, 6, size=len(user)).astype(np.float32),
        time=np.full(len(user), -1, np.int64),
        users=[f"u{n}" for n in range(users)],
        items=named,
        scale=(1.0, 5.0),
    )


def without_user(ratings: Ratings, user: int) -> Ratings:
    return selected(ratings, ratings.user != user)


def without_rating(ratings: Ratings, number: int) -> Ratings:
    return selected(ratings, np.arange(len(ratings)) != number)


def with_value(ratings: Ratings, number: int, value: float) -> Ratings:
    values = ratings.value.copy()
    values[number] = value
    return replace(ratings, value=values)


seeds = st.integers(0, 2**32 - 1)
