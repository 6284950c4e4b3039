import math
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from small_ratings import seeds

from discreet.data.synthetic.rating_world import ratings_world
from discreet.privacy.guarantee import Adjacency, Adversary, Status, Unit
from discreet.vendors.methods.liu import Liu
from discreet.vendors.partition import folds, partition
from discreet.vendors.vendor_method import VendorMethod


def rmse(method, fold, seed=0):
    predictor = method.predictor(method.share([fold.train], seed), 0, fold.train, seed)
    return float(np.sqrt(np.mean((predictor.predict(fold.test.user, fold.test.item) - fold.test.value) ** 2)))


def accounted(first, later, rounds, delta):
    accountant = PLDAccountant()
    accountant.compose(GaussianDpEvent(first))
    accountant.compose(GaussianDpEvent(later), rounds)
    return accountant.get_epsilon(delta)


@pytest.fixture(scope="module")
def fold():
    return folds(ratings_world(600, 300, 40_000, seed=1))[0]


def test_all_rounds_together_cost_epsilon_by_dp_accounting():
    method = Liu(epsilon=4.0)
    assert accounted(*method.multipliers(), method.rounds.rounds, 1e-5) == pytest.approx(4.0, rel=2e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_claim_stands_beside_what_the_noised_rounds_prove(epsilon):
    method = Liu(epsilon=epsilon, calibration="paper")
    guarantee = method.guarantee(10)
    assert (guarantee.status, guarantee.claimed_epsilon, guarantee.delta) == (Status.CLAIMED, epsilon, 1e-5)
    assert guarantee.epsilon == pytest.approx(accounted(*method.multipliers(), method.rounds.rounds, 1e-5), rel=2e-2)


def test_more_rounds_of_the_published_sampler_prove_less():
    def true(rounds):
        longer = replace(Liu(epsilon=1.0).rounds, rounds=rounds)
        return Liu(epsilon=1.0, calibration="paper", rounds=longer).guarantee(2).epsilon

    assert true(5) < true(50) < true(500)


@given(seeds, st.floats(0.0, 1000.0))
@settings(max_examples=40, deadline=None)
def test_the_published_noise_is_at_least_what_is_accounted_for(seed, count):
    method = Liu(epsilon=2.0, calibration="paper")
    counts = np.random.default_rng(seed).random(5) * count
    assert np.min(method.rounds.noise(0.0, method.heat, counts)) >= method.multipliers()[1] * (1 - 1e-12)


def test_the_guarantee_says_everything():
    guarantee = Liu(epsilon=2.0).guarantee(4)
    assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (2.0, 1e-5, Unit.USER)
    assert (guarantee.adjacency, guarantee.adversary) == (Adjacency.ADD_REMOVE, Adversary.OTHER_VENDORS)
    assert guarantee.status is Status.PROVED
    assert Liu(epsilon=math.inf).guarantee(2).epsilon == math.inf


def test_less_privacy_is_more_accurate(fold):
    errors = [np.mean([rmse(Liu(epsilon=e), fold, seed) for seed in range(3)]) for e in (0.05, 2.0, 50.0)]
    assert errors[0] > errors[1] > errors[2]


def test_runs_are_reproducible(fold):
    method: VendorMethod = Liu(epsilon=5.0, calibration="paper")
    parts = partition(fold.train, 2)
    one, same, other = (method.share(parts, seed).rows for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
