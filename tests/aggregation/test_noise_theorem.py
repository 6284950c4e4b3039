"""The theorem of `aggregator_noise`: one aggregator's noise suffices, by enumeration, peers and audits."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import opendp.prelude as opendp
import pytest
from aggregation_tasks import task

from discreet.aggregation.task import Kind, NoiseKind, Task
from discreet.audits import sum_noise as audits
from discreet.audits.audit_registry import selected
from discreet.audits.audit_run import run
from discreet.audits.black_box import BlackBox
from discreet.audits.hockey_stick import exact_epsilon
from discreet.audits.scores import Nearness
from discreet.audits.sum_noise import NoisySumView, OtherAggregator, audited_task
from discreet.privacy.accounting import compose


def masses(some: Task, moved: np.ndarray, reach: int) -> np.ndarray:
    """The probability of each output of two values, around those of the reader."""
    places = np.arange(-reach, reach + 1)
    power = 1 if some.noise is NoiseKind.LAPLACE else 2
    sides = [np.exp(-((np.abs(places - value) / float(some.noise_scale)) ** power) / power) for value in moved]
    sides = [side / side.sum() for side in sides]
    return np.multiply.outer(*sides).ravel()


@pytest.mark.parametrize(
    ("max_total", "epsilon", "delta"), [(1, 1.0, 0), (3, 2.0, 0), (2, 0.7, 0), (3, 1.0, 1e-5), (4, 4.0, 1e-3)]
)
@pytest.mark.parametrize("kind", [Kind.SUMVEC, Kind.SIGNEDVEC])
def test_every_reader_of_two_values_is_within_epsilon(kind: Kind, max_total: int, epsilon: float, delta: float) -> None:
    """All vectors that a reader can contribute against none, by enumerating what one share's noise makes of them."""
    some = audited_task(kind, 2, 2, max_total, epsilon, delta)
    reach = int((12 if delta else 35) * float(some.noise_scale)) + 3
    worst = 0.0
    for values in product(range(some.min_value, 3), repeat=2):
        if sum(map(abs, values)) <= max_total:
            pair = masses(some, np.array(values), reach), masses(some, np.zeros(2), reach)
            worst = max(worst, exact_epsilon(*pair, delta + 1e-12))
    assert 0.5 * epsilon < worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_opendp_finds_the_same(delta: float) -> None:
    opendp.enable_features("contrib")
    some = audited_task(Kind.MULTIHOT, 8, 1, 3, 0.4, delta)
    domain = opendp.vector_domain(opendp.atom_domain(T=int), size=8)
    if delta:
        peer = opendp.m.make_gaussian(domain, opendp.l2_distance(T=float), scale=float(some.noise_scale))
        rho = peer.map(d_in=some.sensitivity.l2)
        assert some.event().rho == pytest.approx(rho, rel=1e-6)
        assert some.event().rho >= rho * (1 - 1e-12)
    else:
        peer = opendp.m.make_laplace(domain, opendp.l1_distance(T=int), scale=float(some.noise_scale))
        assert peer.map(d_in=3) == pytest.approx(some.epsilon, rel=1e-6)


def test_a_year_of_days_costs_what_the_accountant_says() -> None:
    """The figures of docs/explanation/aggregation.md."""
    days = [task(epsilon=0.05, max_total=1).event()] * 365
    assert compose(days).epsilon(1e-6) == pytest.approx(4.6, abs=0.15)


@pytest.mark.long
def test_audits_hold_with_an_honest_and_with_a_lying_aggregator() -> None:
    findings = run(selected(["sums"]))
    assert [finding.audit.name for finding in findings if not finding.holds] == []
    by_name = {finding.audit.name: finding.lower_bound for finding in findings}
    for name, bound in by_name.items():
        if "laplace" in name and ("no noise" in name or "tells" in name):
            claim = 1.0 if "ε=1" in name else 3.0
            assert bound > 0.85 * claim, "the audit would not notice"


@pytest.mark.parametrize("other", [OtherAggregator.SILENT, OtherAggregator.TELLS])
def test_noise_that_is_split_between_the_aggregators_is_refuted(
    other: OtherAggregator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the noise each would do against the publisher alone, and fails against it and one aggregator."""
    genuine = audits.share_noise
    monkeypatch.setattr(audits, "share_noise", lambda some, noise: genuine(some, noise) // 2)
    some = audited_task(Kind.SUMVEC, 2, 60, 60, 1.0, 0.0)
    views = NoisySumView(some, (60, 0), other), NoisySumView(some, (0, 0), other)
    bound = BlackBox(*views, runs=20_000, scores=(Nearness(1, ((60, 0), (0, 0))),)).lower_bound(1e-6, 1)
    assert bound > 1.3


def test_shares_in_the_field_hide_the_reader_but_for_the_sum() -> None:
    some = audited_task(Kind.MULTIHOT, 2, 1, 1, 100.0, 0.0)
    seen = NoisySumView(some, (1, 0), OtherAggregator.SILENT)(2_000, 0)
    assert math.isclose(np.mean(seen[:, 0] == 1), 1)
    assert math.isclose(np.mean(seen[:, 1] == 0), 1)
