import math
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from small_ratings import random_ratings, seeds, without_user

from discreet.data.formats.movielens import read_ratings
from discreet.data.synthetic.rating_world import ratings_world
from discreet.privacy.guarantee import Adjacency, Adversary, Scope, Status, Unit
from discreet.privacy.participation_cost import gaussian_epsilon
from discreet.vendors.methods.bounding import at_most, clipped, even_weights, own_deviation
from discreet.vendors.methods.dpals import DPALS
from discreet.vendors.methods.private_start import count_and_sum, shares
from discreet.vendors.methods.user_vectors import ItemFactors, fit_users, normal_equations, unpacked
from discreet.vendors.partition import folds, partition
from discreet.vendors.vendor_method import VendorMethod


def rmse(method, fold, seed=0):
    predictor = method.predictor(method.share([fold.train], seed), 0, fold.train, seed)
    return float(np.sqrt(np.mean((predictor.predict(fold.test.user, fold.test.item) - fold.test.value) ** 2)))


@pytest.fixture(scope="module")
def fold():
    return folds(ratings_world(600, 300, 40_000, seed=1))[0]


@given(seeds, st.integers(0, 11), st.floats(0.1, 3.0), st.floats(0.1, 3.0), st.floats(0.1, 2.0))
@settings(max_examples=80, deadline=None)
def test_removing_a_user_moves_a_round_by_no_more_than_its_sensitivity(seed, user, vector_bound, error_bound, weight):
    ratings = random_ratings(seed)
    method = DPALS(epsilon=1, vector_bound=vector_bound, error_bound=error_bound, curvature_weight=weight)
    rng = np.random.default_rng(seed)
    items = ItemFactors(3.0, rng.normal(0, 3, (len(ratings.items), 4)))

    def statistic(data):
        weights = even_weights(data.user, len(data.users))
        return np.concatenate(method.statistics(data, weights, items, fit_users(data, items, method.ridge)), axis=1)

    moved = np.linalg.norm(statistic(ratings) - statistic(without_user(ratings, user)))
    assert moved <= math.sqrt(1 + weight**2) * (1 + 1e-9)


@given(seeds, st.integers(0, 11), st.floats(0.1, 3.0))
@settings(max_examples=60, deadline=None)
def test_removing_a_user_moves_the_first_release_by_no_more_than_root_two(seed, user, bound):
    ratings = random_ratings(seed)

    def statistic(data):
        weights = even_weights(data.user, len(data.users))
        residual = data.value - 3.0 - own_deviation(data, 3.0)[data.user]
        return count_and_sum(data.item, len(data.items), weights, residual, bound)

    moved = np.linalg.norm(statistic(ratings) - statistic(without_user(ratings, user)))
    assert moved <= math.sqrt(2) * (1 + 1e-9)


def test_the_sensitivity_is_attained():
    ratings = random_ratings(3, users=1, items=6)
    ratings = replace(ratings, value=np.full(len(ratings), 5.0, np.float32))
    method = DPALS(epsilon=1, vector_bound=0.5, error_bound=0.5, curvature_weight=0.7)
    items = ItemFactors(0.0, np.zeros((6, 3)))
    users = np.array([[0.0, 9.0, 9.0]])
    products, sums = method.statistics(ratings, even_weights(ratings.user, 1), items, users)
    assert np.hypot(np.linalg.norm(products), np.linalg.norm(sums)) == pytest.approx(math.sqrt(1 + 0.7**2))


@given(seeds, st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_contributions_are_bounded(seed, limit):
    ratings = random_ratings(seed)
    squares = np.bincount(ratings.user, even_weights(ratings.user, len(ratings.users)) ** 2)
    assert squares == pytest.approx(np.ones(len(ratings.users)))
    kept = at_most(ratings.user, limit, np.random.default_rng(seed))
    had = np.bincount(ratings.user)
    assert (np.bincount(ratings.user[kept], minlength=len(had)) == np.minimum(had, limit)).all()
    vectors = np.random.default_rng(seed).normal(0, 2, (20, 3))
    shorter = clipped(vectors, 1.0)
    assert np.linalg.norm(shorter, axis=1).max() <= 1 + 1e-12
    inside = np.linalg.norm(vectors, axis=1) <= 1
    assert np.array_equal(shorter[inside], vectors[inside])


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_all_rounds_together_cost_epsilon_by_dp_accounting(epsilon):
    method = DPALS(epsilon=epsilon)
    first, later = shares(method.gaussian_multiplier(), method.start_share, method.rounds)
    accountant = PLDAccountant()
    accountant.compose(GaussianDpEvent(first))
    accountant.compose(GaussianDpEvent(later), method.rounds)
    assert accountant.get_epsilon(method.delta) == pytest.approx(epsilon, rel=2e-3)
    assert gaussian_epsilon(method.gaussian_multiplier(), method.delta) == pytest.approx(epsilon, rel=1e-6)


def test_without_noise_and_with_wide_bounds_it_comes_near_alternating_least_squares(fold):
    method = DPALS(
        epsilon=math.inf, rounds=15, dimension=4, vector_bound=3.0, error_bound=4.0, start_bound=4.0, vector_prior=0.3
    )
    assert rmse(method, fold) == pytest.approx(plain_als(fold, method.dimension), abs=0.01)


def test_noise_costs_accuracy_and_is_worth_more_than_nothing(fold):
    errors = [np.mean([rmse(DPALS(epsilon=epsilon), fold, seed) for seed in range(3)]) for epsilon in (0.1, 1.0, 20.0)]
    assert errors[0] > errors[1] > errors[2]
    constant = np.sqrt(np.mean((fold.test.value - fold.train.value.mean()) ** 2))
    assert errors[1] < constant


def test_the_noise_on_the_sums_is_that_of_the_budget():
    """Everybody rates all four items with the middle of the scale: biases are noise over the known count."""
    ratings = random_ratings(5, users=3000, items=4, density=1.0)
    ratings = replace(ratings, value=np.full(len(ratings), 3.0, np.float32))
    method = DPALS(epsilon=2.0, rounds=0, bias_prior=1e6, start_bound=1.5)
    count = 3000 * 0.5
    noise = [method.share([ratings], seed).rows[:, 0] * count for seed in range(400)]
    centred = math.sqrt(1 - 1 / 4)
    assert np.std(noise) == pytest.approx(math.sqrt(2) * method.gaussian_multiplier() * 1.5 * centred, rel=0.08)


def test_runs_are_reproducible_and_seeds_differ(fold):
    method: VendorMethod = DPALS(epsilon=5.0)
    parts = partition(fold.train, 2)
    one, same, other = method.share(parts, 7), method.share(parts, 7), method.share(parts, 8)
    assert np.array_equal(one.rows, same.rows)
    assert one.mean == same.mean
    assert not np.array_equal(one.rows, other.rows)


def test_how_ratings_are_spread_does_not_matter(fold):
    method = DPALS(epsilon=math.inf)
    apart, together = method.share(partition(fold.train, 3), 0), method.share([fold.train], 0)
    assert apart.rows == pytest.approx(together.rows, abs=1e-8)


def test_predictions_are_within_the_scale(fold):
    predictor = DPALS(epsilon=0.1).predictor(DPALS(epsilon=0.1).share([fold.train], 0), 0, fold.train, 0)
    predicted = predictor.predict(fold.test.user, fold.test.item)
    assert 1 <= predicted.min() <= predicted.max() <= 5


def test_the_guarantee_says_everything():
    guarantee = DPALS(epsilon=3.0, delta=1e-6).guarantee(10)
    assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (3.0, 1e-6, Unit.USER)
    assert (guarantee.adjacency, guarantee.adversary) == (Adjacency.ADD_REMOVE, Adversary.OTHER_VENDORS)
    assert (guarantee.scope, guarantee.status) == (Scope.LIFETIME, Status.PROVED)
    assert "joint DP" in guarantee.mechanism
    assert DPALS(epsilon=math.inf).guarantee(2).epsilon == math.inf


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"epsilon": 1.0, "delta": 0.0}, {"epsilon": 1.0, "delta": 1.0}])
def test_budgets_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        DPALS(**wrong)


@pytest.mark.realdata
def test_on_movielens_it_is_worth_more_than_users_means(shared_data):
    fold = folds(read_ratings(shared_data / "movielens" / "ml-100k.zip"))[0]
    means = 3.0 + own_deviation(fold.train, 3.0)
    users_alone = np.sqrt(np.mean((means[fold.test.user] - fold.test.value) ** 2))
    assert rmse(DPALS(epsilon=10.0), fold) < users_alone - 0.05


def plain_als(fold, dimension, sweeps=15, ridge=8.0):
    """Alternating least squares without noise, weights or clips."""
    train, rng = fold.train, np.random.default_rng(0)
    mean = float(train.value.mean())
    rows = np.column_stack((np.zeros(len(train.items)), rng.normal(0, 0.1, (len(train.items), dimension))))
    for _ in range(sweeps):
        users = fit_users(train, ItemFactors(mean, rows), DPALS(epsilon=1).ridge)
        features = np.column_stack((np.ones(len(users)), users[:, 1:]))
        target = train.value - mean - users[train.user, 0]
        products, sums = normal_equations(train.item, train.user, None, target, features, len(train.items))
        rows = np.linalg.solve(unpacked(products, dimension + 1) + ridge * np.eye(dimension + 1), sums[..., None])[
            ..., 0
        ]
    method = DPALS(epsilon=1)
    predictor = method.predictor(ItemFactors(mean, rows), 0, train, 0)
    return float(np.sqrt(np.mean((predictor.predict(fold.test.user, fold.test.item) - fold.test.value) ** 2)))
