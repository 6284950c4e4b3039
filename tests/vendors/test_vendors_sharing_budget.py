"""How much noise there is, and that the ε it is sold for is the true one."""

from __future__ import annotations

import math

import dp_accounting as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.privacy.accounting import compose
from discreet.privacy.guarantee import Adjacency, Adversary, Scope, Status, Unit
from discreet.vendors.sharing.contributions import UNIT
from discreet.vendors.sharing.sharing_budget import SharingBudget

DELTA = 1e-5
ROUNDS = [(float(UNIT), 0.4, 8000), (UNIT / math.sqrt(2), 0.2, 45_000), (float(UNIT), 0.4, 30_000)]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0, 10.0])
@pytest.mark.parametrize(("vendors", "colluders"), [(2, 0), (10, 0), (10, 8), (100, 3)])
def test_cost_is_that_of_dp_accounting(epsilon: float, vendors: int, colluders: int) -> None:
    budget = SharingBudget(epsilon, DELTA, vendors, colluders)
    events = []
    for sensitivity, share, _ in ROUNDS:
        of_each = float(budget.vendor_deviation(sensitivity, share))
        hidden = of_each * math.sqrt(vendors - 1 - colluders)
        events.append(dp.GaussianDpEvent(hidden / sensitivity))
    assert compose([dp.ComposedDpEvent(events)]).epsilon(DELTA) == pytest.approx(epsilon, rel=2e-3)
    true_epsilon, true_delta = budget.true_cost(ROUNDS)
    assert epsilon * 0.999 < true_epsilon <= epsilon
    assert DELTA * 0.999 < true_delta <= DELTA


@given(st.floats(0.01, 20), st.integers(2, 200), st.data())
@settings(max_examples=30, deadline=None)
def test_the_lattice_never_breaks_the_budget(epsilon: float, vendors: int, data: st.DataObject) -> None:
    colluders = data.draw(st.integers(0, vendors - 2))
    true_epsilon, true_delta = SharingBudget(epsilon, DELTA, vendors, colluders).true_cost(ROUNDS)
    assert true_epsilon <= epsilon
    assert true_delta <= DELTA


def test_rounds_that_spend_more_are_refused() -> None:
    with pytest.raises(DiscreetError, match="cost more than"):
        SharingBudget(1.0, DELTA, 10).true_cost([*ROUNDS, (float(UNIT), 0.1, 10)])


def test_a_reader_is_left_with_the_others_noise() -> None:
    alone, wary = SharingBudget(1.0, DELTA, 10), SharingBudget(1.0, DELTA, 10, colluders=4)
    assert alone.reader_deviation(1e9, 1.0) == pytest.approx(alone.hidden_deviation(1e9, 1.0))
    assert wary.reader_deviation(1e9, 1.0) == pytest.approx(alone.hidden_deviation(1e9, 1.0) * math.sqrt(9 / 5))
    assert wary.hidden_deviation(1e9, 1.0) == alone.hidden_deviation(1e9, 1.0)


def test_guarantee_says_it_all() -> None:
    guarantee = SharingBudget(5.0, DELTA, 10).guarantee()
    assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (5.0, DELTA, Unit.USER)
    assert (guarantee.adjacency, guarantee.adversary) == (Adjacency.ADD_REMOVE, Adversary.OTHER_VENDORS)
    assert (guarantee.scope, guarantee.status) == (Scope.LIFETIME, Status.PROVED)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ((0.0, DELTA, 10, 0), "epsilon must be"),
        ((50.0, DELTA, 10, 0), "epsilon must be"),
        ((math.nan, DELTA, 10, 0), "epsilon must be"),
        ((1.0, 0.0, 10, 0), "delta must be"),
        ((1.0, DELTA, 1, 0), "at least 2 vendors"),
        ((1.0, DELTA, 3, 2), "at most 1 can collude"),
        ((1.0, DELTA, 3, -1), "can collude"),
    ],
)
def test_bad_settings_are_one_clear_line(settings_: tuple[float, float, int, int], message: str) -> None:
    with pytest.raises(DiscreetError, match=message) as refused:
        SharingBudget(*settings_)
    assert "\n" not in str(refused.value)
