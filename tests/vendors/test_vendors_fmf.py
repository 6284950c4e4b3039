import math

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from small_ratings import random_ratings, seeds, without_rating, without_user

from discreet.data.synthetic.rating_world import ratings_world
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency, Adversary, Status, Unit
from discreet.vendors.methods.bounding import at_most
from discreet.vendors.methods.descent import Descent
from discreet.vendors.methods.fmf import FMF
from discreet.vendors.methods.private_start import count_and_sum
from discreet.vendors.methods.user_vectors import ItemFactors, UserRidge, fit_users
from discreet.vendors.methods.vertical import transposed
from discreet.vendors.partition import Distribution, Level, folds, partition, selected
from discreet.vendors.vendor_method import VendorMethod

RATING = Level.RATING


def rmse(method, fold, seed=0):
    predictor = method.predictor(method.share([fold.train], seed), 0, fold.train, seed)
    return float(np.sqrt(np.mean((predictor.predict(fold.test.user, fold.test.item) - fold.test.value) ** 2)))


def bounds(vector_bound, error_bound):
    return Descent(dimension=3, rounds=4, step=0.5, vector_bound=vector_bound, error_bound=error_bound)


def random_items(ratings, seed, size=2.0):
    return ItemFactors(3.0, np.random.default_rng(seed).normal(0, size, (len(ratings.items), 4)))


@pytest.fixture(scope="module")
def fold():
    return folds(ratings_world(600, 300, 40_000, seed=1))[0]


@given(seeds, st.integers(0, 11), st.integers(1, 6), st.floats(0.1, 3.0), st.floats(0.1, 3.0))
@settings(max_examples=60, deadline=None)
def test_removing_a_user_moves_a_round_by_no_more_than_one(seed, user, limit, vector_bound, error_bound):
    ratings = random_ratings(seed)
    ratings = selected(ratings, at_most(ratings.user, limit, np.random.default_rng(seed)))
    items, rounds = random_items(ratings, seed), bounds(vector_bound, error_bound)

    def gradients(data):
        weights = np.full(len(data), 1 / math.sqrt(limit))
        return rounds.item_gradients(data, weights, items, fit_users(data, items, UserRidge(1.0, 1.0)))

    assert np.linalg.norm(gradients(ratings) - gradients(without_user(ratings, user))) <= 1 + 1e-9


@given(seeds, st.data(), st.floats(0.1, 3.0), st.floats(0.1, 3.0))
@settings(max_examples=60, deadline=None)
def test_removing_a_rating_moves_both_sides_gradients_by_no_more_than_one(seed, data, vector_bound, error_bound):
    ratings = random_ratings(seed)
    number = data.draw(st.integers(0, len(ratings) - 1))
    rng, rounds = np.random.default_rng(seed), bounds(vector_bound, error_bound)
    limit = vector_bound / 2
    items = ItemFactors(3.0, np.clip(rng.normal(0, 2, (len(ratings.items), 4)), -limit, limit))
    users = np.clip(rng.normal(0, 2, (len(ratings.users), 4)), -limit, limit)

    def gradients(part):
        return np.concatenate(rounds.both_gradients(part, np.ones(len(part)), items, users))

    assert np.linalg.norm(gradients(ratings) - gradients(without_rating(ratings, number))) <= 1 + 1e-9


@given(seeds, st.data())
@settings(max_examples=40, deadline=None)
def test_removing_a_rating_moves_the_first_release_of_a_side_by_no_more_than_root_two(seed, data):
    ratings = random_ratings(seed)
    number = data.draw(st.integers(0, len(ratings) - 1))

    def statistic(part):
        return count_and_sum(part.item, len(part.items), np.ones(len(part)), part.value - 3.0, 1.5)

    moved = np.linalg.norm(statistic(ratings) - statistic(without_rating(ratings, number)))
    assert moved <= math.sqrt(2) * (1 + 1e-9)


def test_the_published_sensitivity_of_a_rating_is_exceeded_and_the_stated_one_is_not():
    """One rating moves its user's exact vector, and with it everything else that the user rated."""
    rounds, limit, most = bounds(1.0, 1.0), 6, 0.0
    for seed in range(200):
        ratings = random_ratings(seed, users=3, items=limit, density=0.9)
        items = random_items(ratings, seed)

        def gradients(data, items=items):
            return rounds.item_gradients(data, np.ones(len(data)), items, fit_users(data, items, UserRidge(0.1, 0.1)))

        moved = np.linalg.norm(gradients(ratings) - gradients(without_rating(ratings, seed % len(ratings))))
        assert moved <= math.sqrt(4 * limit - 2)
        most = max(most, float(moved))
    assert most > 1.5


@pytest.mark.parametrize("level", [Level.USER, RATING])
def test_all_rounds_together_cost_epsilon_by_dp_accounting(level):
    method = FMF(epsilon=3.0, level=level)
    first, later = method.multipliers()
    accountant = PLDAccountant()
    accountant.compose(GaussianDpEvent(first))
    accountant.compose(GaussianDpEvent(later), method.settings.rounds)
    assert accountant.get_epsilon(method.delta) == pytest.approx(3.0, rel=2e-3)


def test_sampled_rounds_cost_at_most_epsilon_by_dp_accounting():
    method = FMF(epsilon=3.0, sampling=0.2)
    first, later = method.multipliers()
    accountant = PLDAccountant()
    accountant.compose(GaussianDpEvent(first))
    accountant.compose(PoissonSampledDpEvent(0.2, GaussianDpEvent(later)), method.settings.rounds)
    assert 2.9 < accountant.get_epsilon(method.delta) <= 3.0 * (1 + 1e-3)
    assert later < FMF(epsilon=3.0).multipliers()[1]


@pytest.mark.parametrize("level", [Level.USER, RATING])
def test_less_privacy_is_more_accurate(fold, level):
    errors = [np.mean([rmse(FMF(epsilon=e, level=level), fold, seed) for seed in range(3)]) for e in (0.05, 2.0, 50.0)]
    assert errors[0] > errors[1] > errors[2]


def test_sampling_trains_too(fold):
    constant = np.sqrt(np.mean((fold.test.value - fold.train.value.mean()) ** 2))
    assert rmse(FMF(epsilon=3.0, sampling=0.2), fold) < constant


def test_the_paper_states_its_claim_and_the_truth():
    paper = FMF(epsilon=1.0, level=RATING, calibration="paper", ratings_per_user=50).guarantee(10)
    assert (paper.status, paper.claimed_epsilon, paper.unit) == (Status.CLAIMED, 1.0, Unit.RATING)
    assert 5 < paper.epsilon < math.inf
    assert (
        paper.epsilon < FMF(epsilon=1.0, level=RATING, calibration="paper", ratings_per_user=500).guarantee(2).epsilon
    )
    without_noise = FMF(epsilon=math.inf, level=RATING, calibration="paper").guarantee(2)
    assert without_noise.epsilon == math.inf


def test_guarantees_say_everything():
    user, rating = FMF(epsilon=2.0).guarantee(3), FMF(epsilon=2.0, level=RATING).guarantee(3)
    assert (user.unit, rating.unit) == (Unit.USER, Unit.RATING)
    for guarantee in (user, rating):
        assert (guarantee.epsilon, guarantee.delta, guarantee.status) == (2.0, 1e-5, Status.PROVED)
        assert (guarantee.adjacency, guarantee.adversary) == (Adjacency.ADD_REMOVE, Adversary.OTHER_VENDORS)
    assert FMF(epsilon=2.0, calibration="paper").guarantee(3).status is Status.PROVED


def test_privacy_of_users_is_refused_in_a_vertical_distribution():
    with pytest.raises(DiscreetError, match="user-level privacy cannot be had"):
        FMF(epsilon=1.0, distribution=Distribution.VERTICAL)


def test_vertical_vendors_share_users_and_fit_their_own_items(fold):
    parts = partition(fold.train, 2, distribution=Distribution.VERTICAL, seed=3)
    method: VendorMethod = FMF(epsilon=20.0, level=RATING, distribution=Distribution.VERTICAL)
    shared = method.share(parts, 0)
    assert sorted(shared.names) == sorted(set(parts[0].users) | set(parts[1].users))
    split = folds(parts[0])[0]
    predicted = method.predictor(shared, 0, split.train, 0).predict(split.test.user, split.test.item)
    constant = np.sqrt(np.mean((split.test.value - split.train.value.mean()) ** 2))
    assert np.sqrt(np.mean((predicted - split.test.value) ** 2)) < constant


def test_transposing_matches_users_by_name():
    ratings = random_ratings(9, users=10, items=8)
    turned = transposed(partition(ratings, 3, distribution=Distribution.VERTICAL))
    pairs = lambda users, items, data: {  # noqa: E731
        (users[u], items[i], float(v)) for u, i, v in zip(data.user, data.item, data.value, strict=True)
    }
    straight = pairs(ratings.users, ratings.items.ids, ratings)
    crossed = {(user, item, value) for item, user, value in pairs(turned.users, turned.items.ids, turned)}
    assert crossed == straight


def test_runs_are_reproducible(fold):
    for method in (FMF(epsilon=5.0), FMF(epsilon=5.0, level=RATING), FMF(epsilon=3.0, sampling=0.2)):
        one, same, other = (method.share([fold.train], seed).rows for seed in (1, 1, 2))
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)
