"""The accountant against closed forms, against other accountants, and against what it must refuse."""

import itertools
import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.dp_event import DiscreteLaplaceDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import DiscreetError
from discreet.privacy.accounting import (
    compose,
    rounds,
    sampled_rounds,
    supports,
)
from discreet.privacy.accounting.events import ApproximateDpEvent, PaddedDpEvent
from discreet.privacy.accounting.zcdp import gaussian_rho, zcdp_delta, zcdp_epsilon
from discreet.privacy.guarantee import Adjacency, Adversary, Unit
from discreet.privacy.mechanisms.attention import ClippedAttention, private_attention
from discreet.privacy.mechanisms.averages import DPAverage, DPItemAverages
from discreet.privacy.mechanisms.clipped_mean import ClippedMean
from discreet.privacy.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from discreet.privacy.mechanisms.exponential import Exponential
from discreet.privacy.mechanisms.float_noise import FloatNoise
from discreet.privacy.mechanisms.gaussian import AnalyticGaussian
from discreet.privacy.mechanisms.label_permutation import LabelPermutation
from discreet.privacy.mechanisms.laplace import Laplace
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.mechanisms.subset_selection import SubsetSelection
from discreet.privacy.mechanisms.topic_counts import TopicCounts

KNOWN_EVENTS = [
    dp.GaussianDpEvent(1.7),
    dp.LaplaceDpEvent(2.0),
    DiscreteLaplaceDpEvent(0.1, 4),
    ApproximateDpEvent(0.5),
    ApproximateDpEvent(0.5, 1e-9),
    dp.ZCDpEvent(0.02),
    PaddedDpEvent(0.2, dp.LaplaceDpEvent(1.0)),
    dp.RandomizedResponseDpEvent(0.8, 10),
]


def binary_composition_delta(epsilon: float, times: int, target: float) -> float:
    """δ of `times` uses of the worst ε-DP mechanism: a binomial sum (Kairouz, Oh, Viswanath, Theorem 3.3)."""
    truth = 1 / (1 + math.exp(-epsilon))
    total = 0.0
    for lies in range(times + 1):
        mass = math.comb(times, lies) * truth ** (times - lies) * (1 - truth) ** lies
        total += max(0.0, mass * (1 - math.exp(target - epsilon * (times - 2 * lies))))
    return total


@pytest.mark.parametrize("times", [1, 2, 16, 100])
def test_k_gaussians_are_one_of_sigma_over_root_k(times):
    together = compose([rounds(dp.GaussianDpEvent(3.0), participations=times)]).epsilon(1e-6)
    assert together == pytest.approx(dp.get_epsilon_gaussian(3.0 / math.sqrt(times), 1e-6), rel=1e-3)


def test_gaussians_of_different_noise_add_up_in_their_precision():
    parts = [dp.GaussianDpEvent(2.0), dp.GaussianDpEvent(3.0), dp.GaussianDpEvent(6.0)]
    sigma = 1 / math.sqrt(sum(1 / part.noise_multiplier**2 for part in parts))
    assert compose(parts).epsilon(1e-5) == pytest.approx(dp.get_epsilon_gaussian(sigma, 1e-5), rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("times", [1, 5, 60])
def test_pure_events_compose_as_the_binomial_sum_says(epsilon, times):
    composition = compose([rounds(ApproximateDpEvent(epsilon), participations=times)])
    for share in (0.2, 0.6, 0.95):
        target = share * epsilon * times
        exact = binary_composition_delta(epsilon, times, target)
        assert exact * (1 - 1e-9) - 1e-12 <= composition.delta(target) <= exact * 1.02 + 1e-12


@pytest.mark.parametrize(
    "event", [dp.LaplaceDpEvent(2.0), DiscreteLaplaceDpEvent(0.1, 5), dp.RandomizedResponseDpEvent(0.7, 12)], ids=repr
)
def test_pure_noise_costs_at_most_basic_composition_and_exactly_that_without_delta(event):
    one = compose([event]).epsilon(0.0)
    many = compose([rounds(event, participations=40)])
    assert many.epsilon(0.0) == pytest.approx(40 * one)
    assert many.delta(40 * one * 1.0001) == 0.0
    assert 0 < many.epsilon(1e-6) < 40 * one
    assert many.epsilon(1e-6) <= compose([rounds(ApproximateDpEvent(one), participations=40)]).epsilon(1e-6)


def test_pure_epsilon_of_each_kind():
    assert compose([dp.LaplaceDpEvent(4.0)]).epsilon(0) == pytest.approx(0.25)
    assert compose([DiscreteLaplaceDpEvent(0.3, 7)]).epsilon(0) == pytest.approx(2.1)
    lie = 0.8 / 10
    truth = 1 - 0.8 + lie
    assert compose([dp.RandomizedResponseDpEvent(0.8, 10)]).epsilon(0) == pytest.approx(math.log(truth / lie))
    padded = PaddedDpEvent(0.2, ApproximateDpEvent(3.0))
    assert compose([padded]).epsilon(0) == pytest.approx(math.log(0.2 + 0.8 * math.exp(3)))
    assert compose([dp.GaussianDpEvent(5.0)]).epsilon(0) == math.inf


@pytest.mark.parametrize("steps", [1, 2, 9])
def test_discrete_laplace_agrees_with_its_probabilities(steps):
    rate, reach = 0.4, 200
    x = np.arange(-reach, reach + 1)
    here, there = np.exp(-rate * np.abs(x)), np.exp(-rate * np.abs(x - steps))
    here, there = here / here.sum(), there / there.sum()
    composition = compose([DiscreteLaplaceDpEvent(rate, steps)])
    for epsilon in np.linspace(0, rate * steps * 0.99, 7):
        exact = np.maximum(0, here - math.exp(epsilon) * there).sum()
        assert exact - 1e-12 <= composition.delta(epsilon) <= exact * 1.01 + 1e-9


def test_discrete_laplace_on_a_fine_lattice_is_laplace():
    fine = compose([rounds(DiscreteLaplaceDpEvent(1e-6, 10**5), participations=100)]).epsilon(1e-6)
    smooth = compose([rounds(dp.LaplaceDpEvent(10.0), participations=100)]).epsilon(1e-6)
    assert fine == pytest.approx(smooth, rel=1e-3)


def test_a_change_spread_over_coordinates_loses_no_more_than_one_of_the_same_l1_size():
    """Why one event with the L1 sensitivity is a right account of a whole vector of discrete Laplace noise."""
    rate = 0.5
    whole = compose([DiscreteLaplaceDpEvent(rate, 4)])
    for split in [(2, 2), (3, 1), (1, 1, 1, 1)]:
        spread = compose([DiscreteLaplaceDpEvent(rate, steps) for steps in split])
        for epsilon in (0.0, 0.5, 1.0, 1.5, 1.9):
            assert spread.delta(epsilon) <= whole.delta(epsilon) + 1e-6


def test_randomised_response_is_counted_every_time():
    """dp-accounting 0.6 itself counts a repeated randomised response once."""
    truth, lie, buckets, times = 0.2 + 0.8 / 5, 0.8 / 5, 5, 3
    losses = [(truth, math.log(truth / lie)), (lie, -math.log(truth / lie)), ((buckets - 2) * lie, 0.0)]
    target = 0.9
    exact = 0.0
    for run in itertools.product(losses, repeat=times):
        mass, loss = math.prod(p for p, _ in run), sum(x for _, x in run)
        exact += max(0.0, mass * -math.expm1(target - loss))
    event = dp.RandomizedResponseDpEvent(0.8, buckets)
    assert compose([rounds(event, participations=times)]).delta(target) == pytest.approx(exact, rel=1e-2)


def test_padding_gives_the_formula_and_composes_better_than_it():
    noise = dp.LaplaceDpEvent(1.0)
    amplified = math.log1p(0.8 * math.expm1(1.0))
    padded = PaddedDpEvent(0.2, noise)
    assert compose([padded]).epsilon(0) == pytest.approx(amplified)
    thirty = compose([rounds(padded, participations=30)]).epsilon(1e-6)
    assert thirty < compose([rounds(dp.LaplaceDpEvent(1 / amplified), participations=30)]).epsilon(1e-6)
    assert compose([PaddedDpEvent(0.0, noise)]).epsilon(1e-6) == pytest.approx(compose([noise]).epsilon(1e-6), rel=5e-3)
    inner = compose([dp.GaussianDpEvent(1.0)])
    epsilon = 2.0
    moved = math.log((math.exp(epsilon) - 0.2) / 0.8)
    padded_gaussian = compose([PaddedDpEvent(0.2, dp.GaussianDpEvent(1.0))])
    assert padded_gaussian.delta(epsilon) == pytest.approx(0.8 * inner.delta(moved), rel=1e-3)


@pytest.mark.parametrize(("epsilon", "multiplier"), [(1, 4.045), (5, 0.953), (10, 0.530)])
def test_zcdp_of_the_discrete_gaussian(epsilon, multiplier):
    assert zcdp_epsilon(gaussian_rho(multiplier), 1e-5) == pytest.approx(epsilon, rel=2e-3)
    assert compose([dp.ZCDpEvent(gaussian_rho(multiplier))]).epsilon(1e-5) == pytest.approx(epsilon, rel=2e-3)
    rdp = dp.rdp.RdpAccountant(np.concatenate([np.linspace(1.01, 10, 500), np.arange(11, 200)]))
    assert zcdp_epsilon(gaussian_rho(multiplier), 1e-5) == pytest.approx(
        rdp.compose(dp.GaussianDpEvent(multiplier)).get_epsilon(1e-5), rel=1e-2
    )


def test_zcdp_conversions_are_inverse_and_composition_adds_rho():
    rho, delta = 0.37, 1e-7
    assert zcdp_delta(rho, zcdp_epsilon(rho, delta))[0] == pytest.approx(delta, rel=1e-6)
    split = compose([rounds(dp.ZCDpEvent(rho / 8), participations=8)]).epsilon(delta)
    assert split == pytest.approx(zcdp_epsilon(rho, delta), rel=1e-3)
    assert split > compose([dp.GaussianDpEvent(1 / math.sqrt(2 * rho))]).epsilon(delta)


def test_different_mechanisms_compose_tighter_than_their_sum_and_looser_than_each():
    parts = [dp.GaussianDpEvent(2.0), dp.LaplaceDpEvent(2.0), ApproximateDpEvent(0.5), dp.ZCDpEvent(0.1)]
    alone = [compose([part]).epsilon(1e-6) for part in parts]
    together = compose(parts).epsilon(1e-6)
    assert max(alone) < together < sum(alone)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(KNOWN_EVENTS), min_size=1, max_size=4),
    st.sampled_from([1e-9, 1e-6, 1e-3]),
)
def test_epsilon_and_delta_are_consistent_monotone_and_within_basic_composition(events, delta):
    composition = compose(events)
    epsilon = composition.epsilon(delta)
    assert composition.delta(epsilon) <= delta * (1 + 1e-6)
    assert composition.epsilon(delta * 10) <= epsilon
    assert compose([*events, events[0]]).epsilon(delta) >= epsilon - 1e-9
    basic = sum(compose([event]).epsilon(delta / len(events)) for event in events)
    assert epsilon <= basic * 1.001 + 1e-3


def test_nested_events_cost_what_they_unfold_to():
    inner = dp.ComposedDpEvent([dp.GaussianDpEvent(4.0), dp.LaplaceDpEvent(5.0)])
    nested = compose([dp.SelfComposedDpEvent(inner, 3), dp.NoOpDpEvent()])
    flat = compose([dp.GaussianDpEvent(4.0), dp.LaplaceDpEvent(5.0)] * 3)
    assert nested.epsilon(1e-6) == pytest.approx(flat.epsilon(1e-6), rel=1e-9)


def test_nothing_costs_nothing_and_no_privacy_costs_everything():
    assert compose([]).epsilon(0.0) == 0.0
    assert compose([]).delta(0.0) == 0.0
    leaky = compose([dp.GaussianDpEvent(1.0), dp.NonPrivateDpEvent()])
    assert leaky.epsilon(1e-6) == math.inf
    assert leaky.delta(50.0) == 1.0


def test_absurd_costs_are_added_up_rather_than_refused():
    whole_gradient = rounds(ApproximateDpEvent(1.7e6), participations=1500)
    assert compose([whole_gradient]).epsilon(1e-6) == pytest.approx(1.7e6 * 1500)
    many_requests = compose([rounds(dp.LaplaceDpEvent(0.1), participations=7300), dp.GaussianDpEvent(1.0)])
    assert 73_000 < many_requests.epsilon(1e-6) < 73_006


def test_little_noise_costs_much_and_nearly_none_costs_everything():
    for noise in (1e-1, 5e-2):
        exact = 0.5 / noise**2 + stats.norm.isf(1e-6) / noise  # where e^−ε is nothing, P(loss > ε) = δ
        assert compose([dp.GaussianDpEvent(noise)]).epsilon(1e-6) == pytest.approx(exact, rel=1e-2)
    assert compose([dp.GaussianDpEvent(1e-4)]).epsilon(1e-6) == math.inf
    assert compose([rounds(dp.GaussianDpEvent(2e-3), participations=10)]).delta(1e5) == 1.0
    sampled = compose([sampled_rounds(dp.GaussianDpEvent(0.1), rate=0.02, rounds=1500)]).epsilon(1e-6)
    assert 30 * 50 < sampled < 1500 * 100


@pytest.mark.parametrize(
    "event",
    [
        dp.UnsupportedDpEvent(),
        dp.SampledWithoutReplacementDpEvent(100, 10, dp.GaussianDpEvent(1.0)),
        dp.SelfComposedDpEvent(dp.UnsupportedDpEvent(), 3),
        dp.PoissonSampledDpEvent(0.1, ApproximateDpEvent(1.0)),
        dp.GaussianDpEvent(0.0),
        dp.ZCDpEvent(0.1, xi=1.0),
        PaddedDpEvent(0.1, dp.UnsupportedDpEvent()),
        PaddedDpEvent(0.1, ApproximateDpEvent(1.0, 1e-6)),
    ],
    ids=repr,
)
def test_what_is_not_understood_is_refused(event):
    assert not supports(event)
    with pytest.raises(DiscreetError, match="not guessed"):
        compose([dp.GaussianDpEvent(1.0), event])


@pytest.mark.parametrize("event", KNOWN_EVENTS, ids=repr)
def test_what_is_understood_is_supported(event):
    assert supports(event)
    assert supports(rounds(event, participations=2))


def test_adjacencies_do_not_mix():
    sampled = sampled_rounds(dp.GaussianDpEvent(1.0), rate=0.1, rounds=10)
    answer = dp.RandomizedResponseDpEvent(0.5, 4)
    assert compose([sampled]).adjacency is Adjacency.ADD_REMOVE
    assert compose([answer]).adjacency is Adjacency.SUBSTITUTE
    assert compose([dp.GaussianDpEvent(1.0)]).adjacency is None
    with pytest.raises(DiscreetError, match="cannot be composed"):
        compose([sampled, answer])
    with pytest.raises(DiscreetError, match="cannot be composed"):
        compose([sampled], adjacency=Adjacency.SUBSTITUTE)


MECHANISMS = [
    TopicCounts(epsilon=0.7, topics=12),
    TopicCounts(epsilon=0.7, delta=1e-6, topics=12),
    ClippedMean(epsilon=2.0, theta=1.0, dimension=8, history_length=4),
    ClippedAttention(epsilon=3.0, dimension=5, theta=0.5),
    ClippedAttention(epsilon=3.0, dimension=5, theta=0.5, calibration=Calibration.PAPER),
    private_attention(epsilon=3.0, dimension=5, padding=0.3, history_length=10),
    private_attention(epsilon=3.0, dimension=5, padding=0.3, history_length=10, delta=1e-6),
    RandomizedResponse(epsilon=1.3, choices=37),
    SubsetSelection(epsilon=1.3, choices=37),
    Exponential(epsilon=1.3, choices=5, score_sensitivity=1.0),
    DiscreteLaplace(epsilon=0.4, l1=1.0, dimension=10),
    DiscreteGaussian(epsilon=0.4, delta=1e-6, l2=1.0, dimension=10),
    Laplace(epsilon=0.4, l1=1.0),
    AnalyticGaussian(epsilon=0.4, delta=1e-6, l2=1.0),
    DPAverage(epsilon=0.4, lowest=1.0, highest=5.0),
    DPItemAverages(epsilon=0.4, lowest=1.0, highest=5.0, items=9),
    LabelPermutation(epsilon=1.0, choices=37, negatives=4),
    FloatNoise(epsilon=1.0, noise_sensitivity=1.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_the_account_of_one_release_is_its_guarantee(mechanism):
    guarantee = mechanism.guarantee()
    account = compose([mechanism])
    assert account.adjacency is guarantee.adjacency
    assert account.epsilon(guarantee.delta) == pytest.approx(guarantee.epsilon, rel=2e-3)
    if math.isfinite(guarantee.epsilon):
        assert account.delta(guarantee.epsilon * (1 + 2e-3)) <= guarantee.delta


class Shaker:
    unit = Unit.CLICK
    adversary = Adversary.SERVER

    def __init__(self, adjacency: Adjacency) -> None:
        self.adjacency = adjacency

    def event(self) -> dp.DpEvent:
        return dp.LaplaceDpEvent(2.0)


def test_mechanisms_bring_their_adjacency():
    assert compose([Shaker(Adjacency.SUBSTITUTE)] * 2).epsilon(0) == pytest.approx(1.0)
    with pytest.raises(DiscreetError, match="cannot be composed"):
        compose([Shaker(Adjacency.SUBSTITUTE), Shaker(Adjacency.ADD_REMOVE)])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rounds(dp.GaussianDpEvent(1.0), participations=0),
        lambda: sampled_rounds(dp.GaussianDpEvent(1.0), rate=0.0, rounds=3),
        lambda: sampled_rounds(dp.GaussianDpEvent(1.0), rate=0.5, rounds=0),
        lambda: compose([]).epsilon(1.0),
        lambda: compose([]).delta(-1.0),
        lambda: ApproximateDpEvent(-1.0),
        lambda: ApproximateDpEvent(1.0, 1.0),
        lambda: PaddedDpEvent(1.0, dp.GaussianDpEvent(1.0)),
        lambda: zcdp_epsilon(0.1, 0.0),
        lambda: gaussian_rho(0.0),
    ],
)
def test_nonsense_is_a_value_error(wrong):
    with pytest.raises(ValueError, match=r"must|needs"):
        wrong()


def test_costs_of_different_units_or_adversaries_do_not_add_up():
    click = Laplace(epsilon=1.0, l1=1.0)
    for other in (
        Laplace(epsilon=1.0, l1=1.0, unit=Unit.USER),
        Laplace(epsilon=1.0, l1=1.0, adversary=Adversary.OTHER_VENDORS),
    ):
        with pytest.raises(DiscreetError, match="do not add up"):
            compose([click, other])
    assert compose([click, click]).epsilon(0.0) == pytest.approx(2.0)
