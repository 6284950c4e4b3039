"""Degree, threshold and quorum: the conditions, and that they are kept."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from scipy.stats import hypergeom
from secure_sum_rounds import terms_for

from discreet.aggregation.secure_sum import SumPlan
from discreet.aggregation.secure_sum.sum_plan import COMPLETE_UP_TO


@pytest.mark.parametrize("clients", [51, 100, 200, 1000, 10_000])
def test_default_plans_of_many_clients_are_sparse_private_and_reliable(clients):
    plan = SumPlan.default(clients)
    colluding, dropping = clients // 10, clients // 5
    risks = plan.risks(colluding, dropping)
    assert not plan.is_complete
    assert risks.both_shares + risks.split <= 2**-40
    assert risks.stuck <= 2**-20
    assert 2 * plan.quorum > clients + colluding


def test_the_degree_grows_with_the_logarithm():
    degrees = [SumPlan.default(clients).degree for clients in (1000, 10_000, 100_000)]
    assert degrees[2] - degrees[1] < degrees[1] - degrees[0] < 100


@pytest.mark.parametrize("clients", [100, 1000])
def test_no_smaller_degree_would_do(clients):
    plan = SumPlan.default(clients)
    for threshold in range((plan.degree - 2) // 2 + 1, plan.degree):
        risks = SumPlan(clients, plan.degree - 2, threshold, plan.quorum).risks(clients // 10, clients // 5)
        assert not (risks.private and risks.reliable)


@pytest.mark.parametrize("clients", [2, 3, 10, COMPLETE_UP_TO])
def test_few_clients_have_the_complete_graph(clients):
    plan = SumPlan.default(clients)
    assert plan.is_complete
    assert plan.threshold == plan.quorum == math.floor(2 * clients / 3) + 1


def test_the_complete_graph_is_safe_just_as_long_as_twice_the_threshold_exceeds_clients_and_colluding():
    plan = SumPlan.complete(9, 7)
    assert plan.risks(4, 2) == plan.risks(0, 0)
    assert plan.risks(4, 2).private
    assert plan.risks(4, 2).reliable
    assert not plan.risks(5, 2).private
    assert not plan.risks(4, 3).reliable


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_risks_are_the_formulas_of_scipy(data):
    clients = data.draw(st.integers(20, 400))
    degree = 2 * data.draw(st.integers(3, (clients - 2) // 2))
    threshold = data.draw(st.integers(degree // 2 + 1, degree + 1))
    colluding, dropping = data.draw(st.integers(0, clients // 5)), data.draw(st.integers(0, clients // 5))
    risks = SumPlan(clients, degree, threshold, clients - dropping).risks(colluding, dropping)
    both = (clients - colluding) * hypergeom.sf(2 * threshold - degree - 2, clients - 1, colluding, degree)
    stuck = (clients - dropping) * hypergeom.sf(degree - threshold + 1, clients - 1, dropping, degree)
    if dropping:
        stuck += dropping * hypergeom.sf(degree - threshold, clients - 1, dropping - 1, degree)
    assert risks.both_shares == pytest.approx(min(1, both), rel=1e-6, abs=1e-30)
    assert risks.stuck == pytest.approx(min(1, stuck), rel=1e-6, abs=1e-30)


def is_connected(staying, clients, reach):
    """Whether clients of a circle hold together, each with `reach` neighbours on either side."""
    apart = np.abs(np.subtract.outer(staying, staying))
    return connected_components(np.minimum(apart, clients - apart) <= reach)[0] == 1


def test_a_split_is_as_rare_as_its_bound_says():
    """Random sets of absent clients in a circle of 40 with 6 neighbours each."""
    clients, gone, draws = 40, 10, 2000
    bound = SumPlan(clients, 6, 4, clients - gone).risks(0, gone).split
    random = np.random.default_rng(5)
    staying = (random.choice(clients, clients - gone, replace=False) for _ in range(draws))
    splits = sum(not is_connected(some, clients, 3) for some in staying)
    assert 0 < splits / draws < bound < 1


def test_fewer_absent_clients_than_the_degree_never_split_the_circle():
    for gone in combinations(range(9), 3):
        assert is_connected(sorted(set(range(9)) - set(gone)), 9, 2)
    assert SumPlan(9, 4, 4, 6).risks(0, 3).split == 0
    assert SumPlan(9, 4, 4, 5).risks(0, 4).split > 0
    assert not is_connected([0, 3, 4, 5, 6], 9, 2)


@pytest.mark.parametrize(
    ("clients", "plan"), [(7, SumPlan.complete(7)), (8, SumPlan.complete(8)), (30, SumPlan(30, 6, 5, 25))]
)
def test_neighbours_are_mutual_as_many_as_planned_and_shuffled_by_the_session(clients, plan):
    terms, _ = terms_for(clients, plan=plan)
    one, other = terms.neighbours(bytes(32)), terms.neighbours(b"\1" * 32)
    for near in (one, other):
        assert all(len(near[u]) == plan.degree and u not in near[u] for u in range(clients))
        assert all(u in near[v] for u in range(clients) for v in near[u])
    assert (one == other) == plan.is_complete


@pytest.mark.parametrize(
    "numbers",
    [(1, 0, 1, 1), (10, 3, 3, 8), (10, 9, 5, 8), (10, 9, 11, 8), (10, 4, 2, 8), (10, 9, 8, 5), (10, 9, 8, 11)],
)
def test_plans_that_cannot_be_safe_are_errors(numbers):
    with pytest.raises(ValueError, match=r"must be|needs"):
        SumPlan(*numbers)


def test_no_plan_where_too_many_collude():
    with pytest.raises(ValueError, match=r"use Plan\.complete"):
        SumPlan.sparse(60, 20, 20)
