"""The auditor: its bounds hold, it catches what is broken, and passes what is right."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.audits import (
    Audit,
    BlackBox,
    Enumeration,
    FloatLeak,
    Measure,
    MechanismSampler,
    NonInterference,
    leaks,
    register,
    registered,
    run,
    selected,
)
from discreet.audits.audit_registry import AUDITS
from discreet.audits.audit_run import FAMILY_ERROR, error_each
from discreet.audits.bounds import clopper_pearson, epsilon_bound, mu_bound
from discreet.audits.enumeration import largest_log_ratio
from discreet.audits.findings import plot, to_json
from discreet.audits.float_leak import NumpyLaplaceReach
from discreet.audits.paths import exact_distribution
from discreet.audits.sampling import AHEAD, WhenMasked, numbers
from discreet.audits.scores import Nearness, likelier_by_frequency
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Status
from discreet.privacy.mechanisms.attention import private_attention
from discreet.privacy.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from discreet.privacy.mechanisms.gaussian import AnalyticGaussian
from discreet.privacy.mechanisms.laplace import Laplace
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.noise import SecureNoise, SimulatedNoise

ERROR = 1e-6


def on_two_inputs(mechanism, first, second, **options):
    return BlackBox(
        MechanismSampler(mechanism, first, simulated=True),
        MechanismSampler(mechanism, second, simulated=True),
        **options,
    )


# --- bounds


@pytest.mark.parametrize(("probability", "runs"), [(0.0003, 2000), (0.03, 300), (0.5, 50), (0.97, 300)])
def test_clopper_pearson_covers(probability, runs):
    """Summed over all outcomes, each side misses the truth with probability at most the permitted error."""
    hits = np.arange(runs + 1)
    mass = stats.binom.pmf(hits, runs, probability)
    limits = np.array([clopper_pearson(int(k), runs, 0.01) for k in hits])
    assert mass[limits[:, 0] > probability].sum() <= 0.01
    assert mass[limits[:, 1] < probability].sum() <= 0.01


@given(st.integers(1, 500), st.data())
def test_clopper_pearson_surrounds_the_estimate(runs, data):
    hits = data.draw(st.integers(0, runs))
    low, high = clopper_pearson(hits, runs, 1e-3)
    assert 0 <= low <= hits / runs <= high <= 1
    wider_low, wider_high = clopper_pearson(hits, runs, 1e-5)
    assert wider_low <= low
    assert wider_high >= high


def test_bounds_approach_the_truth_from_below():
    runs = 10**7
    p, q = 0.4, 0.4 / math.exp(2)
    assert 1.98 < epsilon_bound(int(p * runs), int(q * runs), runs, 0.0, 1e-5) < 2.0
    assert epsilon_bound(int(p * runs), int(q * runs), runs, 0.1, 1e-5) < math.log(0.3 / q)
    hits, false_hits = (int(stats.norm.sf(t) * runs) for t in (0.5, 2.5))
    assert 1.98 < mu_bound(hits, false_hits, runs, 1e-5) < 2.0


def test_bounds_say_nothing_of_nothing():
    assert epsilon_bound(0, 0, 1000, 0.0, 0.01) == 0.0
    assert epsilon_bound(10, 0, 1000, 0.5, 0.01) == 0.0
    assert mu_bound(0, 0, 1000, 0.01) == 0.0
    with pytest.raises(ValueError, match="hits"):
        clopper_pearson(5, 4, 0.1)


def test_error_of_a_bound_is_what_it_says():
    """Among many audits of a true claim, the share that refutes it stays below the permitted error."""
    rng = np.random.default_rng(11)
    runs, p = 400, 0.6
    wrong = 0
    for _ in range(2000):
        hits, false_hits = rng.binomial(runs, p), rng.binomial(runs, p / math.e)
        wrong += epsilon_bound(int(hits), int(false_hits), runs, 0.0, 0.05) > 1.0
    assert wrong / 2000 <= 0.05


# --- black box


def test_the_right_scale_passes_and_half_of_it_is_caught():
    right = on_two_inputs(Laplace(epsilon=1.0, l1=1.0), [0.0], [1.0], runs=40_000)
    assert 0.8 < right.lower_bound(ERROR, 3) <= 1.0
    half_the_noise = on_two_inputs(Laplace(epsilon=2.0, l1=1.0), [0.0], [1.0], runs=40_000)
    assert half_the_noise.lower_bound(ERROR, 3) > 1.5


def test_rounding_keeps_the_float_leak_out_of_the_scale(monkeypatch):
    """Unrounded, the very same right mechanism is refuted by the last digits of its noise."""
    scores = (Nearness(1, ([1.0], [2.0])),)
    right = on_two_inputs(Laplace(epsilon=1.0, l1=1.0), [1.0], [2.0], runs=40_000, scores=scores)
    assert right.lower_bound(ERROR, 5) <= 1.0
    monkeypatch.setattr("discreet.audits.scores._DIGITS", 18)
    assert right.lower_bound(ERROR, 5) > 2.0


@pytest.mark.parametrize("dimension", [1, 6])
def test_gaussian_mu(dimension):
    mechanism = AnalyticGaussian(epsilon=5.0, delta=1e-5, l2=1.0, dimension=dimension)
    there = np.eye(dimension)[0]
    options = {"runs": 40_000, "gaussian": True, "scores": (Nearness(2),)}
    allowed = mechanism.l2 / mechanism.sigma
    right = on_two_inputs(mechanism, 0 * there, there, **options)
    assert right.measure is Measure.MU
    assert 0.9 * allowed < right.lower_bound(ERROR, 1) <= allowed
    assert on_two_inputs(mechanism, 0 * there, 2 * there, **options).lower_bound(ERROR, 1) > allowed


def test_delta_is_granted():
    mechanism = AnalyticGaussian(epsilon=1.0, delta=0.01, l2=1.0)
    examination = on_two_inputs(mechanism, [0.0], [1.0], runs=40_000, delta=0.01, scores=(Nearness(2),))
    assert examination.lower_bound(ERROR, 1) <= 1.0


@dataclass(frozen=True)
class Dice:
    """A loaded die: `side` comes up with the given weight, the others with weight 1."""

    side: int
    weight: float

    def __call__(self, runs: int, seed: int) -> np.ndarray:
        weights = np.ones(6)
        weights[self.side] = self.weight
        return np.random.default_rng(seed).choice(6, (runs, 1), p=weights / weights.sum()).astype(float)


def test_frequencies_find_the_telling_output():
    examination = BlackBox(Dice(2, math.e**2), Dice(4, math.e**2), runs=40_000, scores=(likelier_by_frequency,))
    assert 1.8 < examination.lower_bound(ERROR, 0) <= 2.0


def test_identical_inputs_cannot_be_told_apart():
    examination = BlackBox(Dice(2, 1.0), Dice(4, 1.0), runs=20_000, scores=(likelier_by_frequency, Nearness(1)))
    assert examination.lower_bound(ERROR, 0) < 0.1


def test_noise_ahead_hands_nothing_out_twice_and_keeps_the_distribution():
    noise = SecureNoise(AHEAD)
    assert len({noise.random_bytes(16) for _ in range(100_000)}) == 100_000
    drawn = np.concatenate([noise.discrete_laplace(Fraction(10**6), 7) for _ in range(2000)])
    assert len(np.unique(drawn)) > 0.98 * len(drawn)
    assert stats.kstest(drawn, stats.laplace(0, 10**6).cdf).pvalue > 1e-4


PADDED = private_attention(epsilon=1.0, dimension=3, padding=0.3, history_length=1)
CORNERS = np.eye(3)


@pytest.mark.parametrize(
    ("mechanism", "value"),
    [
        (DiscreteLaplace(epsilon=1.0, l1=1.0, dimension=3), [0.0, 1.0, 2.0]),
        (DiscreteGaussian(epsilon=1.0, delta=1e-5, l2=1.0, dimension=2), [5.0, 1.0]),
        (Laplace(epsilon=1.0, l1=1.0, dimension=2), [0.0, 3.0]),
        (PADDED, WhenMasked(CORNERS[0], CORNERS[2])),
        (RandomizedResponse(epsilon=1.0, choices=4), 2),
    ],
    ids=lambda part: getattr(part, "name", None),
)
def test_many_runs_at_once_are_distributed_as_single_releases(mechanism, value):
    """Compared with whole releases, coordinate by coordinate, and between coordinates and successive runs."""
    simulated = isinstance(mechanism, Laplace)
    noise = SimulatedNoise(8) if simulated else SecureNoise()
    single = np.array([numbers(mechanism.release(value, noise).payload) for _ in range(2000)])
    many = MechanismSampler(mechanism, value, simulated)(6000, 9)
    assert many.shape == (6000, single.shape[1])
    for column in range(single.shape[1]):
        assert stats.ks_2samp(single[:, column], many[:, column]).pvalue > 1e-6
    assert abs(stats.spearmanr(many[1:, 0], many[:-1, 0]).statistic) < 0.08
    if single.shape[1] > 1:
        between = [stats.spearmanr(outputs[:, 0], outputs[:, -1]).statistic for outputs in (single, many)]
        assert between[0] == pytest.approx(between[1], abs=0.15)


# --- exact


def coin_then_die(noise):
    if noise.below(10**12) < 3 * 10**11:
        return "coin"
    return noise.below(3)


def test_paths_are_followed_exactly():
    expected = {"coin": Fraction(3, 10), 0: Fraction(7, 30), 1: Fraction(7, 30), 2: Fraction(7, 30)}
    assert exact_distribution(coin_then_die) == expected
    assert exact_distribution(lambda noise: bool(noise.coins(Fraction(1, 7), 1)[0])) == {
        True: Fraction(1, 7),
        False: Fraction(6, 7),
    }
    with pytest.raises(TypeError, match="sample it instead"):
        exact_distribution(lambda noise: noise.random_bytes(1))


def test_enumeration_is_the_largest_ratio_and_refuses_what_is_no_distribution():
    a, b = {1: Fraction(1, 4), 2: Fraction(3, 4)}, {1: Fraction(1, 2), 2: Fraction(1, 2)}
    assert largest_log_ratio([a, b]) == pytest.approx(math.log(2))
    assert largest_log_ratio([a, {2: Fraction(1)}]) == math.inf
    with pytest.raises(ValueError, match="sum to"):
        largest_log_ratio([a, {1: Fraction(1, 2)}])


# --- float leak


def test_float_laplace_leaks():
    mechanism = Laplace(epsilon=1.0, l1=1.0)
    leak = FloatLeak(MechanismSampler(mechanism, [0.0], simulated=True), 0.0, 1.0, NumpyLaplaceReach(mechanism.scale))
    assert 0.7 < leak.lower_bound(ERROR, 2) < 0.9


def test_float_leak_refuses_a_sampler_it_does_not_know():
    mechanism = AnalyticGaussian(epsilon=1.0, delta=1e-5, l2=1.0)
    leak = FloatLeak(MechanismSampler(mechanism, [0.0], simulated=True), 0.0, 1.0, NumpyLaplaceReach(1.0))
    with pytest.raises(RuntimeError, match="another one"):
        leak.lower_bound(ERROR, 2)


# --- non-interference


def honest_device(log, releases):
    return b"ranked by " + releases


def counting_device(log, releases):
    return releases + len(log).to_bytes(2, "big")


LOGS = [["a"], ["b"], ["a", "b", "c"]]


def test_non_interference_passes_what_depends_on_releases_only():
    assert leaks(honest_device, LOGS, b"sketch") == []
    assert NonInterference(honest_device, LOGS, b"sketch").lower_bound(ERROR, 0) == 0.0


def test_non_interference_catches_a_count_sent_in_clear():
    found = leaks(counting_device, LOGS, b"sketch")
    assert [(leak.first, leak.second) for leak in found] == [(0, 2), (1, 2)]
    assert {leak.offset for leak in found} == {len(b"sketch") + 1}
    assert NonInterference(counting_device, LOGS, b"sketch").lower_bound(ERROR, 0) == math.inf


def test_non_interference_needs_fixed_randomness_and_two_logs():
    with pytest.raises(ValueError, match="fix its randomness"):
        leaks(lambda log, releases: SecureNoise().random_bytes(8), LOGS, b"")
    with pytest.raises(ValueError, match="two logs"):
        leaks(honest_device, LOGS[:1], b"")


# --- registry, run and report


def die(weight: float, claim: float, status: Status = Status.PROVED, setting: str = "") -> Audit:
    examination = BlackBox(Dice(2, weight), Dice(4, weight), runs=20_000, scores=(likelier_by_frequency,))
    return Audit("die", setting or f"weight {weight:.3g}", status, claim, examination)


FAIR = die(math.e, 1.0)
LOADED = die(math.e**2, 1.0)
PAPER = die(math.e**2, 1.0, Status.CLAIMED, "as published")
LEAKING = Audit("device", "", Status.CLAIMED, 0.0, NonInterference(counting_device, LOGS, b""))


def test_error_is_shared_by_the_audits_in_which_chance_plays_a_part():
    assert error_each([FAIR, LOADED, PAPER, LEAKING]) == pytest.approx(FAMILY_ERROR / 3)
    assert error_each([LEAKING]) == FAMILY_ERROR


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_run_gives_findings_in_order_whatever_the_number_of_processes(processes):
    unpicklable = Audit("local", "", Status.PROVED, 0.0, NonInterference(lambda log, releases: b"", LOGS, b""))
    findings = run([FAIR, LOADED, PAPER, LEAKING, unpicklable], seed=4, processes=processes)
    assert [f.audit.mechanism for f in findings] == ["die", "die", "die", "device", "local"]
    assert [f.verdict for f in findings] == ["holds", "refuted", "refuted", "refuted", "holds"]
    assert [f.is_failure for f in findings] == [False, True, False, False, False]
    again = run([f.audit for f in findings], seed=4, processes=1)
    assert [f.lower_bound for f in findings] == [f.lower_bound for f in again]


def test_json_contract(tmp_path):
    findings = run([FAIR, LEAKING], processes=1)
    told = to_json(findings)
    assert told["family_wise_error"] == 1e-3
    first, second = told["mechanisms"]
    assert first.keys() >= {"mechanism", "status", "claim", "lower_bound", "verdict"}
    assert (first["mechanism"], first["status"], first["verdict"]) == ("die (weight 2.72)", "proved", "holds")
    assert (second["claim"], second["lower_bound"], second["verdict"]) == (0.0, "inf", "refuted")


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_plot_is_a_picture(tmp_path, ending):
    path = tmp_path / "folder" / f"audit.{ending}"
    plot(run([FAIR, LOADED, PAPER, LEAKING], processes=1), path)
    assert path.read_bytes()[:5] in (b"<?xml", b"\x89PNG\r")
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_claims_are_compared_with_room_for_rounding_only():
    audit = Audit("m", "", Status.PROVED, 1.0, FAIR.examination)
    assert audit.holds(1.0 + 1e-12)
    assert not audit.holds(1.001)
    assert not audit.holds(math.nan)
    with pytest.raises(ValueError, match="at least 0"):
        Audit("m", "", Status.PROVED, -1.0, FAIR.examination)


def test_registry_refuses_names_twice_and_names_unknown(monkeypatch):
    monkeypatch.setattr(AUDITS, "_own", {})
    for audit in (FAIR, LOADED, LEAKING):
        register(audit)
    with pytest.raises(DiscreetError, match="another audit is called"):
        register(replace(FAIR))
    assert registered() == [FAIR, LOADED, LEAKING]
    assert selected([]) == [FAIR, LOADED, LEAKING]
    assert selected(["die"]) == [FAIR, LOADED]
    assert selected([LOADED.name, "device"]) == [LOADED, LEAKING]
    with pytest.raises(DiscreetError, match=r"no audit of 'dice'.*die, device"):
        selected(["dice"])


def test_enumeration_as_an_audit():
    audit = Audit("exact", "", Status.PROVED, math.log(7 / 3), Enumeration(both_ways))
    (finding,) = run([audit])
    assert finding.lower_bound == pytest.approx(math.log(7 / 3))
    assert finding.holds


def both_ways():
    return [{0: Fraction(3, 10), 1: Fraction(7, 10)}, {0: Fraction(7, 10), 1: Fraction(3, 10)}]
