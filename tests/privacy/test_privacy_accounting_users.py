"""What whole trainings and whole users cost: sampled rounds, noise for a target, groups."""

import math
from dataclasses import replace

import dp_accounting as dp
import pytest

from discreet.errors import DiscreetError
from discreet.privacy.accounting import (
    all_clicks,
    calibrate,
    compose,
    group_privacy,
    rounds,
    sampled_rounds,
)
from discreet.privacy.accounting.events import ApproximateDpEvent
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit


def test_hidden_sampling_helps_and_rate_one_is_no_sampling():
    noise = dp.GaussianDpEvent(2.0)
    seen = compose([rounds(noise, participations=50)]).epsilon(1e-6)
    assert compose([sampled_rounds(noise, rate=0.05, rounds=50)]).epsilon(1e-6) < seen / 5
    assert compose([sampled_rounds(noise, rate=1.0, rounds=50)]).epsilon(1e-6) == pytest.approx(seen, rel=1e-3)


def test_two_accountants_on_one_training_run():
    """q = 1e-3, σ = 0.8, 2,000 rounds, δ = 1e-6: PLD 0.560, Rényi DP 1.505."""
    event = sampled_rounds(dp.GaussianDpEvent(0.8), rate=1e-3, rounds=2000)
    ours = compose([event]).epsilon(1e-6)
    assert ours == pytest.approx(0.560, abs=5e-4)
    assert dp.rdp.RdpAccountant().compose(event).get_epsilon(1e-6) == pytest.approx(1.505, abs=5e-3)


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "hidden", "seen"), [(1, 3.43, 23.1), (5, 1.05, 5.37)])
def test_noise_for_fifty_thousand_users(epsilon, hidden, seen):
    """2 % of 50,000 users a round, 1,500 rounds, δ = 1e-6; or at most 30 participations that the server sees.

    The figures for ε = 3 and 10 are those of `test_participation`.
    """
    needed = calibrate(lambda noise: sampled_rounds(dp.GaussianDpEvent(noise), rate=0.02, rounds=1500), epsilon, 1e-6)
    assert 0.985 * hidden < needed <= hidden
    needed = calibrate(lambda noise: rounds(dp.GaussianDpEvent(noise), participations=30), epsilon, 1e-6)
    assert needed == pytest.approx(seen, rel=3e-3)


@pytest.mark.parametrize(
    ("noise", "target"),
    [
        (dp.LaplaceDpEvent, 0.05),
        (dp.LaplaceDpEvent, 4.0),
        (dp.GaussianDpEvent, 0.05),
        (dp.GaussianDpEvent, 4.0),
        pytest.param(dp.LaplaceDpEvent, 30.0, marks=pytest.mark.slow),
        pytest.param(dp.GaussianDpEvent, 30.0, marks=pytest.mark.slow),
    ],
)
def test_calibration_meets_the_target_and_wastes_little(target, noise):
    scale = calibrate(noise, target, 1e-6)
    assert target * 0.99 <= compose([noise(scale)]).epsilon(1e-6) <= target


def test_calibration_of_the_impossible_says_so():
    with pytest.raises(DiscreetError, match="no amount of noise"):
        calibrate(lambda _: ApproximateDpEvent(1.0), 0.5, 1e-9)
    with pytest.raises(ValueError, match="target_epsilon"):
        calibrate(dp.LaplaceDpEvent, 0.0, 1e-6)


def click_guarantee(epsilon: float, delta: float) -> Guarantee:
    return Guarantee(
        epsilon, delta, Unit.CLICK, Adjacency.SUBSTITUTE, Adversary.SERVER, Scope.LIFETIME, Status.PROVED, "test"
    )


def test_all_clicks_together_are_group_privacy_and_no_user():
    assert all_clicks(click_guarantee(0.5, 0.0), 30).epsilon == pytest.approx(15.0)
    history = all_clicks(click_guarantee(0.5, 1e-9), 4)
    assert (history.unit, history.epsilon) == (Unit.CLICKS, 2.0)
    assert history.delta == pytest.approx(4 * math.exp(1.5) * 1e-9)
    assert "ε = 2, δ = 1.79e-08 per history of clicks (substitute) against the server" in str(history)
    with pytest.raises(ValueError, match="of a history of clicks, not of one click"):
        all_clicks(history, 2)
    with pytest.raises(ValueError, match="of a user, not of one click"):
        all_clicks(replace(history, unit=Unit.USER), 2)


@pytest.mark.parametrize("size", [60, 5000])
def test_group_delta_that_overflows_leaves_nothing(size):
    assert group_privacy(1.0, 1e-9, size) == (math.inf, 0.0)
    assert group_privacy(1.0, 0.0, size) == (size, 0.0)


def test_group_privacy_bounds_what_the_gaussian_really_loses():
    one = compose([dp.GaussianDpEvent(5.0)])
    epsilon, delta = group_privacy(one.epsilon(1e-9), 1e-9, 3)
    assert compose([dp.GaussianDpEvent(5.0 / 3)]).delta(epsilon) <= delta
