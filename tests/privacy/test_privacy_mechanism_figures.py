"""The figures that the documentation states, and the sensitivities by search."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import ZCDpEvent
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax

from discreet.privacy.accounting.zcdp import zcdp_epsilon
from discreet.privacy.guarantee import Adjacency, Status, Unit
from discreet.privacy.mechanisms import (
    AnalyticGaussian,
    ClippedAttention,
    ClippedMean,
    DiscreteGaussian,
    DiscreteLaplace,
    DPAverage,
    DPItemAverages,
    FloatNoise,
    LabelPermutation,
    RandomizedResponse,
    SubsetSelection,
    TopicCounts,
    private_attention,
)
from discreet.privacy.mechanisms.gaussian import gaussian_delta
from discreet.privacy.noise import SimulatedNoise


@pytest.mark.parametrize(("epsilon", "ratio"), [(1, 3.731), (5, 0.892), (10, 0.500)])
def test_analytic_gaussian(epsilon, ratio):
    mechanism = AnalyticGaussian(epsilon, 1e-5, 1.0)
    assert mechanism.sigma == pytest.approx(ratio, abs=5e-4)
    assert gaussian_delta(epsilon, mechanism.sigma) <= 1e-5 < gaussian_delta(epsilon, mechanism.sigma * 0.999)


@pytest.mark.parametrize(("epsilon", "ratio"), [(1, 4.045), (5, 0.953), (10, 0.530)])
def test_discrete_gaussian_by_zcdp(epsilon, ratio):
    mechanism = DiscreteGaussian(epsilon=epsilon, delta=1e-5, l2=1.0, grid=2.0**-30)
    assert float(mechanism.scale) * mechanism.step == pytest.approx(ratio, abs=6e-4)
    event = mechanism.event()
    assert isinstance(event, ZCDpEvent)
    assert zcdp_epsilon(event.rho, 1e-5) <= epsilon
    accountant = RdpAccountant(orders=list(1 + np.logspace(-2, 3, 400)))
    assert accountant.compose(event).get_epsilon(1e-5) == pytest.approx(epsilon, rel=0.01)


@pytest.mark.parametrize("dimension", [1, 10, 1000])
def test_rounding_to_the_lattice_is_counted(dimension):
    laplace = DiscreteLaplace(epsilon=1.0, l1=1.0, dimension=dimension, grid=2.0**-4)
    assert laplace.lattice_l1 == 16 + dimension
    assert laplace.scale >= laplace.lattice_l1
    gaussian = DiscreteGaussian(epsilon=1.0, delta=1e-5, l2=1.0, dimension=dimension, grid=2.0**-4)
    assert gaussian.lattice_l2 == pytest.approx(16 + math.sqrt(dimension))


@given(st.floats(0.01, 50), st.floats(1e-6, 1e6), st.integers(1, 1000))
def test_discrete_laplace_never_exceeds_epsilon(epsilon, l1, dimension):
    mechanism = DiscreteLaplace(epsilon=epsilon, l1=l1, dimension=dimension)
    assert Fraction(mechanism.lattice_l1) / mechanism.scale <= Fraction(epsilon)
    assert dimension * mechanism.step <= l1 / 1000


PAPER = [
    # B, p, θ, true ε
    (3, 0.2, 1.0, 20.2),
    (5, 0.5, 1.0, 20.7),
    (5, 0.5, 0.5, 33.0),
]


@pytest.mark.parametrize(("basis", "padding", "theta", "true"), PAPER)
def test_attention_as_published_really_costs(basis, padding, theta, true):
    mechanism = private_attention(
        epsilon=10.0, dimension=basis, theta=theta, padding=padding, history_length=50, calibration="paper"
    )
    guarantee = mechanism.guarantee()
    assert guarantee.status is Status.CLAIMED
    assert guarantee.claimed_epsilon == pytest.approx(10.0)
    assert guarantee.epsilon == pytest.approx(true, abs=0.06)
    inner = mechanism.inner
    published = theta / math.log((math.exp(10) - padding) / (1 - padding))
    assert float(inner.scale) * inner.step == pytest.approx(published, rel=1e-6)


def attention(logits, theta):
    weights = softmax(logits)
    return weights / max(1.0, np.linalg.norm(weights) / theta)


def log_density(output, weights, scale):
    return -np.abs(output - weights).sum() / scale


def test_the_true_cost_of_published_attention_is_attained():
    """A likelihood ratio at one output is a lower bound of ε, highest where padding looks like a neighbour."""
    theta, p, epsilon = 0.5, 0.5, 10.0
    scale = theta / math.log((math.exp(epsilon) - p) / (1 - p))
    left, right = attention([50, 50, 0, 0, 0], theta), attention([0, 0, 50, 50, 50], theta)
    bounds = {}
    for name, masked in {"corner": right, "middle": attention(np.zeros(5), theta)}.items():
        mixed = [
            np.logaddexp(math.log(1 - p) + log_density(left, w, scale), math.log(p) + log_density(left, masked, scale))
            for w in (left, right)
        ]
        bounds[name] = mixed[0] - mixed[1]
    assert bounds["corner"] == pytest.approx(32.95, abs=0.05)
    assert 10 < bounds["middle"] < bounds["corner"]


def test_vdp_as_published_on_400_dimensions():
    guarantee = ClippedMean(epsilon=10.0, theta=0.001, dimension=400, calibration="paper").guarantee()
    assert guarantee.epsilon == pytest.approx(200, rel=1e-3)
    assert guarantee.claimed_epsilon == 10.0


def test_published_gaussian_scale_is_that_of_line_9():
    epsilon, delta, p, theta = 10.0, 1e-5, 0.5, 1.0
    mechanism = private_attention(
        epsilon=epsilon, delta=delta, dimension=5, theta=theta, padding=p, history_length=50, calibration="paper"
    )
    inner_epsilon = math.log((math.exp(epsilon) - p) / (1 - p))
    sigma = theta / inner_epsilon * math.sqrt(2 * math.log(1.25 * (1 - p) / delta))
    assert float(mechanism.inner.scale) * mechanism.inner.step == pytest.approx(sigma, rel=1e-6)
    guarantee = mechanism.guarantee()
    assert guarantee.epsilon > guarantee.claimed_epsilon == pytest.approx(epsilon)
    assert guarantee.delta == pytest.approx(delta)


@pytest.mark.parametrize("padding", [0.0, 0.5])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_exact_calibration_meets_the_target(padding, delta):
    mechanism = private_attention(epsilon=3.0, delta=delta, dimension=5, padding=padding, history_length=50)
    guarantee = mechanism.guarantee()
    assert (guarantee.epsilon, guarantee.delta) == (pytest.approx(3.0), pytest.approx(delta))
    assert guarantee.status is Status.PROVED


@pytest.mark.parametrize("basis", [2, 3, 5, 8])
@pytest.mark.parametrize("theta", [0.001, 0.6, 0.8, 2.0])
def test_attention_sensitivity_by_search(basis, theta):
    sensitivity = ClippedAttention(epsilon=1.0, theta=theta, dimension=basis).sensitivity
    random = np.random.default_rng(basis)
    halves = np.where(np.arange(basis) < basis // 2, 60.0, 0.0)
    corners = 60.0 * np.eye(basis)

    def apart(both, norm):
        return np.linalg.norm(attention(both[:basis], theta) - attention(both[basis:], theta), norm)

    for norm, bound, worst in (
        (1, sensitivity.l1, np.concatenate((halves, 60.0 - halves))),
        (2, sensitivity.l2, np.concatenate((corners[0], corners[1]))),
    ):
        found = max(apart(random.normal(0, spread, 2 * basis), norm) for spread in (1, 5, 25) for _ in range(300))
        climbed = -minimize(lambda x, n=norm: -apart(x, n), random.normal(0, 3, 2 * basis), options={"maxiter": 30}).fun
        assert max(found, climbed) <= bound * (1 + 1e-9)
        assert apart(worst, norm) == pytest.approx(bound, rel=1e-9)


@given(st.integers(0, 10_000), st.floats(0.01, 3.0), st.floats(0.1, 20))
@settings(max_examples=60, deadline=None)
def test_attention_stays_within_its_lattice_sensitivity(seed, theta, epsilon):
    random = np.random.default_rng(seed)
    basis = int(random.integers(2, 9))
    mechanism = ClippedAttention(epsilon=epsilon, theta=theta, dimension=basis)
    a, b = (mechanism.checked(softmax(random.normal(0, 20, basis))) for _ in range(2))
    assert np.abs(a - b).sum() <= mechanism.lattice_l1
    assert np.linalg.norm(a - b) <= mechanism.lattice_l2


@given(st.lists(st.integers(0, 11), min_size=1, max_size=30), st.integers(0, 11))
def test_topic_counts_move_by_two_when_a_click_is_replaced_and_by_one_when_it_is_left_out(clicks, other):
    replaced = TopicCounts(epsilon=1.0, topics=12)
    left_out = TopicCounts(epsilon=1.0, topics=12, adjacency=Adjacency.ADD_REMOVE)
    before = replaced.checked(clicks)
    moved, fewer = replaced.checked([other, *clicks[1:]]), left_out.checked(clicks[1:])
    assert before.sum() == len(clicks)
    assert np.abs(before - moved).sum() == (replaced.lattice_l1 if other != clicks[0] else 0)
    assert np.linalg.norm(before - moved) <= replaced.lattice_l2
    assert np.abs(before - fewer).sum() == left_out.lattice_l1 == 1
    assert left_out.scale * 2 == replaced.scale


@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(1, 30), st.floats(0.001, 10))
@settings(max_examples=60, deadline=None)
def test_clipped_mean_moves_by_two_theta_over_h(seed, clicks, dimension, theta):
    random = np.random.default_rng(seed)
    mechanism = ClippedMean(epsilon=1.0, theta=theta, dimension=dimension, history_length=clicks)
    rows = random.normal(0, theta, (clicks, dimension))
    other = rows.copy()
    other[0] = -1000 * theta * np.sign(rows[0])
    rows[0] = -other[0]
    a, b = mechanism.checked(rows), mechanism.checked(other)
    assert np.linalg.norm(a - b) <= mechanism.lattice_l2
    assert np.abs(a - b).sum() <= mechanism.lattice_l1
    assert np.abs(a - b).sum() >= 0.99 * mechanism.lattice_l1
    assert mechanism.lattice_l2 * mechanism.step == pytest.approx(2 * theta / clicks)


@pytest.mark.parametrize(("epsilon", "choices"), [(0.5, 37), (1, 37), (3, 37), (10, 37), (3, 5)])
def test_labels_are_kept_with_the_stated_probability(epsilon, choices):
    keep = float(RandomizedResponse(epsilon=epsilon, choices=choices).keep)
    assert keep == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + choices - 1), rel=1e-9)
    subset = SubsetSelection(epsilon=epsilon, choices=choices)
    assert abs(subset.subset_size - choices / (math.exp(epsilon) + 1)) <= 1
    odds = subset.subset_size * math.exp(epsilon)
    assert float(subset.inclusion) == pytest.approx(odds / (odds + choices - subset.subset_size), rel=1e-9)


def test_published_labels_cost_infinitely_much_and_the_label_alone_more_than_claimed():
    mechanism = LabelPermutation(epsilon=1.0, choices=37, negatives=4)
    assert mechanism.beta == 0.0
    assert mechanism.label_epsilon == pytest.approx(math.log(36 / 4))
    assert math.isinf(mechanism.guarantee().epsilon)
    assert LabelPermutation(epsilon=1.0, choices=5, negatives=4).guarantee().epsilon == 1.0


def test_costs_of_averages_by_unit():
    bounds = {"epsilon": 2.0, "lowest": 1, "highest": 5}

    def item_cost(unit, adjacency, **more):
        return DPItemAverages(**bounds, items=9, unit=unit, adjacency=adjacency, **more).guarantee().epsilon

    assert DPAverage(**bounds).guarantee().epsilon == 2.0
    assert DPAverage(**bounds, unit=Unit.USER, ratings_per_user=10).guarantee().epsilon == 20.0
    assert item_cost(Unit.RATING, Adjacency.ADD_REMOVE) == 2.0
    assert item_cost(Unit.RATING_VALUE, Adjacency.SUBSTITUTE) == 2.0
    assert item_cost(Unit.RATING, Adjacency.SUBSTITUTE) == pytest.approx(1.99 * 2.0)
    assert item_cost(Unit.USER, Adjacency.ADD_REMOVE, ratings_per_user=10) == 20.0


@pytest.mark.parametrize(("epsilon", "least"), [(3.0, 0.55), (10.0, 0.8)])
def test_most_outputs_of_float_noise_are_impossible_for_a_neighbour(epsilon, least):
    """No float64 noise n at all has 1 + n equal to these outputs of 0 + noise."""
    size = 20_000
    mechanism = FloatNoise(epsilon=epsilon, noise_sensitivity=1.0, dimension=size)
    outputs = mechanism.release(np.zeros(size), SimulatedNoise(1)).values
    noise = outputs - 1.0
    near = (noise, np.nextafter(noise, np.inf), np.nextafter(noise, -np.inf))
    possible = np.any([1.0 + n == outputs for n in near], axis=0)
    assert 1 - possible.mean() > least
    assert math.isinf(mechanism.guarantee().epsilon)
