import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma, kstest
from small_ratings import random_ratings, seeds, with_value

from discreet.data.synthetic.rating_world import ratings_world
from discreet.privacy.guarantee import Adjacency, Adversary, Status, Unit
from discreet.vendors.methods.bounding import clipped
from discreet.vendors.methods.hua import Hua, fitted_users, pattern_vectors, spherical_laplace
from discreet.vendors.methods.user_vectors import normal_equations, with_ones
from discreet.vendors.partition import folds, partition
from discreet.vendors.vendor_method import VendorMethod


def rmse(method, fold, seed=0):
    predictor = method.predictor(method.share([fold.train], seed), 0, fold.train, seed)
    return float(np.sqrt(np.mean((predictor.predict(fold.test.user, fold.test.item) - fold.test.value) ** 2)))


def statistics(ratings, users, bound):
    features = with_ones(clipped(users, bound))
    return normal_equations(ratings.item, ratings.user, None, ratings.value - 3.0, features, len(ratings.items))


@pytest.fixture(scope="module")
def fold():
    return folds(ratings_world(600, 300, 40_000, seed=1))[0]


@given(seeds, st.data(), st.integers(1, 5), st.floats(0.1, 3.0))
@settings(max_examples=60, deadline=None)
def test_another_value_moves_one_item_by_no_more_than_the_reach(seed, data, value, bound):
    ratings = random_ratings(seed)
    number = data.draw(st.integers(0, len(ratings) - 1))
    users = np.random.default_rng(seed).normal(0, 2, (len(ratings.users), 3))
    products, sums = statistics(ratings, users, bound)
    other_products, other_sums = statistics(with_value(ratings, number, value), users, bound)
    assert np.array_equal(products, other_products)
    moved = np.linalg.norm(sums - other_sums, axis=1)
    assert np.count_nonzero(moved > 1e-12) <= 1
    assert moved.sum() <= 4 * math.sqrt(1 + bound**2) * (1 + 1e-9)


@given(seeds, st.data(), st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_users_vectors_of_the_exact_method_do_not_depend_on_values_and_those_of_the_paper_do(seed, data, value):
    ratings = random_ratings(seed)
    number = data.draw(st.integers(0, len(ratings) - 1))
    changed = with_value(ratings, number, value)
    assert np.array_equal(pattern_vectors(ratings, 3), pattern_vectors(changed, 3))
    if ratings.value[number] != value:
        paper = Hua(epsilon=1.0, dimension=3, calibration="paper")
        assert not np.array_equal(fitted_users(ratings, paper), fitted_users(changed, paper))


def test_the_noise_has_the_density_of_the_theorem():
    noise = spherical_laplace(20_000, 4, 0.7, np.random.default_rng(0))
    assert kstest(np.linalg.norm(noise, axis=1), gamma(4, scale=0.7).cdf).pvalue > 1e-3
    assert np.abs(noise.mean(axis=0)).max() < 0.05


def test_the_noise_on_the_sums_is_that_of_the_budget():
    """Everybody rates everything with the middle of the scale: biases are noise over the known count."""
    method = Hua(epsilon=3.0, dimension=0, sweeps=1, bias_prior=1e6)
    ratings = with_value(random_ratings(0, users=200, items=300, density=1.0), slice(None), 3.0)
    noise = np.concatenate([method.share([ratings], seed).rows[:, 0] * 200 for seed in range(8)])
    assert np.mean(np.abs(noise)) == pytest.approx(4 * math.sqrt(1 + method.vector_bound**2) / 3.0, rel=0.1)


def test_sweeps_divide_epsilon():
    assert [Hua(epsilon=1.0, sweeps=sweeps).releases for sweeps in (1, 2, 3)] == [1, 3, 5]
    assert Hua(epsilon=1.0, sweeps=3, calibration="paper").releases == 1


def test_the_guarantee_is_pure_and_the_papers_is_none():
    exact, paper = Hua(epsilon=2.0).guarantee(4), Hua(epsilon=2.0, calibration="paper").guarantee(4)
    assert (exact.epsilon, exact.delta, exact.status) == (2.0, 0.0, Status.PROVED)
    assert (paper.epsilon, paper.claimed_epsilon, paper.status) == (math.inf, 2.0, Status.CLAIMED)
    for guarantee in (exact, paper):
        assert (guarantee.unit, guarantee.adjacency) == (Unit.RATING_VALUE, Adjacency.SUBSTITUTE)
        assert guarantee.adversary is Adversary.OTHER_VENDORS


def test_less_privacy_is_more_accurate(fold):
    errors = [np.mean([rmse(Hua(epsilon=e), fold, seed) for seed in range(3)]) for e in (0.02, 0.5, 50.0)]
    assert errors[0] > errors[1] > errors[2]


def test_small_data_have_fewer_patterns():
    ratings = random_ratings(1, users=3, items=3)
    vectors = pattern_vectors(ratings, 8)
    assert vectors.shape == (3, 8)
    assert np.count_nonzero(np.abs(vectors).sum(axis=0)) <= 1
    assert np.isfinite(Hua(epsilon=1.0).share([ratings], 0).rows).all()


def test_runs_are_reproducible(fold):
    parts = partition(fold.train, 2)
    for method in (Hua(epsilon=5.0), Hua(epsilon=5.0, calibration="paper")):
        checked: VendorMethod = method
        one, same, other = (checked.share(parts, seed).rows for seed in (1, 1, 2))
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)
