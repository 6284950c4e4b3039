import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_ratings import random_ratings, seeds

from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency, Unit
from discreet.vendors.partition import Distribution, Level, Sizes, check_level, folds, partition, pooled


def triples(ratings):
    return sorted(
        (ratings.users[user], ratings.items.ids[item], float(value))
        for user, item, value in zip(ratings.user, ratings.item, ratings.value, strict=True)
    )


@given(seeds, st.integers(2, 5), st.sampled_from(list(Distribution)), st.sampled_from(list(Sizes)))
@settings(max_examples=60, deadline=None)
def test_every_rating_goes_to_exactly_one_vendor(seed, vendors, distribution, sizes):
    ratings = random_ratings(seed, users=30, items=25, density=0.6)
    parts = partition(ratings, vendors, distribution=distribution, sizes=sizes, seed=seed)
    assert sorted(rating for part in parts for rating in triples(part)) == triples(ratings)
    for part in parts:
        assert set(part.user) == set(range(len(part.users)))
        assert part.items is ratings.items


def test_horizontal_vendors_share_no_user_and_vertical_ones_no_item():
    ratings = random_ratings(1, users=40, items=30)
    horizontal = [set(part.users) for part in partition(ratings, 4)]
    assert sum(map(len, horizontal)) == len(set.union(*horizontal)) == 40
    vertical = [set(part.item) for part in partition(ratings, 4, distribution=Distribution.VERTICAL)]
    assert sum(map(len, vertical)) == len(set.union(*vertical))
    arbitrary = [set(part.users) for part in partition(ratings, 4, distribution=Distribution.ARBITRARY)]
    assert sum(map(len, arbitrary)) > 40


def test_sizes_are_as_asked_for():
    ratings = random_ratings(2, users=200, items=20)
    sizes = lambda kind: [len(part.users) for part in partition(ratings, 4, sizes=kind)]  # noqa: E731
    assert sizes(Sizes.EQUAL) == [50, 50, 50, 50]
    zipf = sizes(Sizes.ZIPF)
    assert sum(zipf) == 200
    assert zipf[0] / zipf[1] == pytest.approx(2, rel=0.05)
    geometric = sizes(Sizes.GEOMETRIC)
    assert geometric[1] / geometric[0] == pytest.approx(0.75, rel=0.05)
    assert sizes([7, 1, 1, 1])[0] == pytest.approx(140, abs=2)


def test_the_same_seed_deals_alike_and_another_otherwise():
    ratings = random_ratings(3, users=50)
    assert [part.users for part in partition(ratings, 3, seed=5)] == [p.users for p in partition(ratings, 3, seed=5)]
    assert [part.users for part in partition(ratings, 3, seed=5)] != [p.users for p in partition(ratings, 3, seed=6)]


@pytest.mark.parametrize(
    ("ratings", "vendors", "sizes", "said"),
    [
        (random_ratings(0), 1, Sizes.EQUAL, "at least 2 vendors"),
        (random_ratings(0, users=1), 2, Sizes.EQUAL, "1 user cannot be split"),
        (random_ratings(0, users=3), 4, Sizes.EQUAL, "cannot be dealt out to 4 vendors"),
        (random_ratings(0), 2, [1.0, 0.0], "sizes above 0"),
        (random_ratings(0), 2, [1.0], "give 2 sizes"),
    ],
)
def test_what_cannot_be_split_is_refused_in_one_line(ratings, vendors, sizes, said):
    with pytest.raises(DiscreetError, match=said) as refused:
        partition(ratings, vendors, sizes=sizes)
    assert "\n" not in str(refused.value)


def test_a_vendor_without_ratings_is_refused():
    ratings = random_ratings(0, users=2, items=50, density=0.0)
    with pytest.raises(DiscreetError, match="has no rating"):
        partition(ratings, 40, distribution=Distribution.VERTICAL)


@pytest.mark.parametrize("distribution", [Distribution.VERTICAL, Distribution.ARBITRARY])
def test_privacy_of_users_is_refused_where_vendors_share_users(distribution):
    with pytest.raises(DiscreetError, match="user-level privacy cannot be had"):
        check_level(distribution, Level.USER)
    check_level(distribution, Level.RATING)
    check_level(Distribution.HORIZONTAL, Level.USER)


def test_levels_are_units_and_adjacencies():
    assert (Level.RATING_VALUE.unit, Level.RATING_VALUE.adjacency) == (Unit.RATING_VALUE, Adjacency.SUBSTITUTE)
    assert (Level.RATING.unit, Level.RATING.adjacency) == (Unit.RATING, Adjacency.ADD_REMOVE)
    assert (Level.USER.unit, Level.USER.adjacency) == (Unit.USER, Adjacency.ADD_REMOVE)


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_one_fold_tests_a_tenth_and_ten_test_everything_once(seed):
    ratings = random_ratings(seed, users=20)
    (single,) = folds(ratings, seed=seed)
    assert len(single.test) == round(len(ratings) / 10)
    assert sorted(triples(single.train) + triples(single.test)) == triples(ratings)
    ten = folds(ratings, 10, seed=seed)
    assert sorted(rating for fold in ten for rating in triples(fold.test)) == triples(ratings)
    assert all(sorted(triples(fold.train) + triples(fold.test)) == triples(ratings) for fold in ten)


def test_too_few_ratings_for_the_folds_are_refused():
    ratings = random_ratings(0, users=2, items=2, density=0.0)
    with pytest.raises(DiscreetError, match="cannot be cut into 10 parts"):
        folds(ratings, 10)


def test_pooling_keeps_vendors_users_apart():
    ratings = random_ratings(4, users=20)
    parts = partition(ratings, 3, distribution=Distribution.ARBITRARY)
    together = pooled(parts)
    assert len(together) == len(ratings)
    assert len(together.users) == sum(len(part.users) for part in parts) == len(set(together.users))
    assert np.bincount(together.user).sum() == len(ratings)
