import math

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant

from discreet.data.synthetic.rating_world import ratings_world
from discreet.privacy.guarantee import Adjacency, Adversary, Scope, Status, Unit
from discreet.vendors.methods.cmf import CMF
from discreet.vendors.methods.descent import Descent
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
    method = CMF(epsilon=2.0)
    assert accounted(*method.multipliers(), method.rounds.rounds, 1e-5) == pytest.approx(2.0, rel=2e-3)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_the_paper_adds_far_more_noise_than_its_claim_needs(epsilon):
    method = CMF(epsilon=epsilon, calibration="paper")
    guarantee = method.guarantee(10)
    assert (guarantee.status, guarantee.claimed_epsilon) == (Status.CLAIMED, epsilon)
    assert guarantee.epsilon == pytest.approx(accounted(*method.multipliers(), method.rounds.rounds, 1e-5), rel=2e-2)
    assert guarantee.epsilon < epsilon / 10


def test_the_guarantee_says_everything():
    guarantee = CMF(epsilon=2.0, delta=1e-6).guarantee(4)
    assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (2.0, 1e-6, Unit.RATING)
    assert (guarantee.adjacency, guarantee.adversary) == (Adjacency.ADD_REMOVE, Adversary.OTHER_VENDORS)
    assert (guarantee.scope, guarantee.status) == (Scope.LIFETIME, Status.PROVED)


def test_langevin_noise_never_falls_below_what_privacy_needs():
    rounds = Descent(dimension=3, rounds=5, step=0.5, vector_bound=1.0, error_bound=1.5)
    counts = np.array([0.0, 1.0, 50.0, 5000.0])
    for sigma in (0.01, 1.0, 100.0):
        noise = rounds.noise(sigma, 2.0, counts)
        assert np.min(noise) >= sigma
    assert np.all(np.diff(rounds.noise(0.0, 2.0, counts)[:, 0]) > 0)
    assert rounds.noise(0.7, 0.0, counts) == 0.7


def test_langevin_rounds_sample_the_posterior_of_a_mean():
    """With one coordinate and the gradient of n ratings around m, samples have the posterior's mean and spread."""
    rounds = Descent(dimension=0, rounds=1, step=0.05, vector_bound=0.0, error_bound=1.0, ridge=2.0)
    chains, mean, heat = 4000, 0.4, 2 * 0.9**2
    rng, counts, rows = np.random.default_rng(0), np.full(4000, 30.0), np.zeros((chains, 1))
    for _ in range(200):
        gradients = 30 * (mean - rows) + rounds.noise(0.0, heat, counts) * rng.standard_normal((chains, 1))
        rows = rounds.stepped(rows, gradients, counts, np.zeros(chains), 0.0)
    precision = (30 + 2) / 0.9**2
    assert np.mean(rows) == pytest.approx(30 * mean / 32, abs=0.01)
    assert np.std(rows) == pytest.approx(1 / math.sqrt(precision), rel=0.06)


def test_less_privacy_is_more_accurate_and_the_papers_noise_is_worse(fold):
    errors = [np.mean([rmse(CMF(epsilon=e), fold, seed) for seed in range(3)]) for e in (0.05, 1.0, 20.0)]
    assert errors[0] > errors[1] > errors[2]
    assert rmse(CMF(epsilon=1.0, calibration="paper"), fold) > errors[1]


def test_runs_are_reproducible(fold):
    method: VendorMethod = CMF(epsilon=5.0)
    parts = partition(fold.train, 2)
    one, same, other = (method.share(parts, seed).rows for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
