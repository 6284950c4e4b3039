"""A user's contribution: bounded whatever she rated, hers alone, and whole numbers that add and subtract exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.ratings import Items, Ratings
from discreet.vendors.sharing import contributions
from discreet.vendors.sharing.contributions import UNIT, Directions
from discreet.vendors.sharing.sharing_rounds import Opening, Pairs, Projections, Round

ITEMS = 12


def vendor(table: np.ndarray, scale: tuple[float, float] = (1.0, 5.0)) -> Ratings:
    """A vendor whose users gave these ratings; NaN is none."""
    user, item = np.nonzero(~np.isnan(table))
    names = [str(number) for number in range(ITEMS)]
    return Ratings(
        name="small",
        user=user.astype(np.int32),
        item=item.astype(np.int32),
        value=table[user, item].astype(np.float32),
        time=np.full(len(user), -1, np.int64),
        users=[str(number) for number in range(len(table))],
        items=Items(names, names, [()] * ITEMS, np.full(ITEMS, -1, np.int32)),
        scale=scale,
    )


rating = st.one_of(st.just(np.nan), st.floats(1, 5, width=32))
user_row = st.lists(rating, min_size=ITEMS, max_size=ITEMS)
public = st.integers(0, 2**32 - 1)


def rounds(seed: int) -> tuple[Round, ...]:
    """One of each, with public values of any size."""
    rng = np.random.default_rng(seed)
    size = rng.integers(2, ITEMS + 1)
    scale = 10.0 ** rng.uniform(-3, 3)
    emphasis = rng.exponential(scale, ITEMS)
    basis = rng.normal(0, scale, (size, rng.integers(1, 4)))
    directions = Directions(rng.normal(0, scale, ITEMS), rng.permutation(ITEMS)[:size], basis, emphasis)
    opening = Opening(0.4, emphasis, directions.offset)
    return opening, Pairs(0.2, directions.offset, directions.popular), Projections(0.4, directions)


@given(user_row, public)
@settings(max_examples=150, deadline=None)
def test_a_users_contribution_is_within_its_bound_exactly(row: list[float], seed: int) -> None:
    for asked in rounds(seed):
        integers = asked.contribution(vendor(np.array([row])))
        assert integers.dtype == np.int64
        squared = sum(int(value) ** 2 for value in integers)
        bound = UNIT**2 // 2 if isinstance(asked, Pairs) else UNIT**2
        assert squared <= bound
        assert asked.sensitivity == pytest.approx(bound**0.5, rel=1e-12)


@given(st.lists(user_row, min_size=2, max_size=5), public)
@settings(max_examples=60, deadline=None)
def test_a_users_contribution_does_not_see_other_users(rows: list[list[float]], seed: int) -> None:
    for asked in rounds(seed):
        together = asked.contribution(vendor(np.array(rows)))
        one_by_one = sum(asked.contribution(vendor(np.array([row]))) for row in rows)
        assert (together == one_by_one).all()


def test_a_user_with_ratings_uses_all_of_her_bound() -> None:
    row = np.full((1, ITEMS), np.nan)
    row[0, :4] = [1, 5, 4, 2]
    for asked in rounds(3)[::2]:
        norm = np.sqrt(np.square(asked.contribution(vendor(row)) / UNIT).sum())
        assert norm == pytest.approx(1, abs=1e-6)


def test_users_without_ratings_contribute_nothing() -> None:
    for asked in rounds(1):
        assert not asked.contribution(vendor(np.full((2, ITEMS), np.nan))).any()


def test_residuals_are_in_stars_on_any_scale() -> None:
    table = np.array([[1.0, 5.0, 3.0] + [np.nan] * (ITEMS - 3)])
    stars = contributions.residuals(vendor(table), np.zeros(ITEMS))
    percent = contributions.residuals(vendor((table - 1) * 25, scale=(0.0, 100.0)), np.zeros(ITEMS))
    assert np.allclose(stars, percent)
    assert np.allclose(stars, [-2, 2, 0])


def test_residuals_are_counted_from_the_offset_and_centred_after_it() -> None:
    """Whoever rates good items only is not taken for a kind user."""
    offset = np.zeros(ITEMS)
    offset[:2] = 1.0
    both_good = contributions.residuals(vendor(np.array([[4.0, 4.0] + [np.nan] * (ITEMS - 2)])), offset)
    assert np.allclose(both_good, 0.0)


def test_pairs_are_the_products_of_residuals() -> None:
    table = np.full((1, ITEMS), np.nan)
    table[0, [0, 1, 5]] = [5, 1, 5]
    popular = np.array([5, 0, 1])
    upper = contributions.pairs(vendor(table), np.zeros(ITEMS), popular) / UNIT
    assert upper[0] > 0 > upper[1]
    assert upper[1] == pytest.approx(upper[2])


def test_public_values_whose_squares_lose_their_digits_lengthen_nobody() -> None:
    """A server that means harm could choose them so small that sums of squares come out too small."""
    popular, first = np.arange(ITEMS), np.eye(ITEMS, 1)
    middle, mixed = vendor(np.full((1, ITEMS), 3.0)), vendor(np.array([[1.0, 5.0] * (ITEMS // 2)]))
    for tiny in np.geomspace(1e-164, 1e-156, 200):
        offset = np.full(ITEMS, tiny)
        leaning = Directions(offset, popular, np.ones((ITEMS, 3)), np.ones(ITEMS))
        small = Directions(np.zeros(ITEMS), popular, first * np.full(3, tiny), np.ones(ITEMS))
        for asked, ratings in (
            (Pairs(0.2, offset, popular), middle),
            (Projections(0.4, leaning), middle),
            (Projections(0.4, small), mixed),
        ):
            squared = sum(int(value) ** 2 for value in asked.contribution(ratings))
            assert squared <= (UNIT**2 // 2 if isinstance(asked, Pairs) else UNIT**2)
