"""Noise that many parties add together: the theorem where its price can be seen, the lattice, wrap and refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import dp_accounting as dp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from numpy.typing import NDArray
from scipy.stats import norm

from discreet.audits.hockey_stick import exact_epsilon, hockey_stick
from discreet.audits.mechanisms.distributed import (
    exact_audit,
    four_parties,
    training_audit,
    worst_client_audit,
)
from discreet.errors import DiscreetError
from discreet.privacy.accounting import compose
from discreet.privacy.accounting.lattice_price import (
    LatticePrice,
    NoiseRound,
    convolution_distance,
    lattice_price,
    part_deviation,
)
from discreet.privacy.distributed_gaussian import MIN_HEADROOM, DistributedGaussian
from discreet.privacy.mechanisms.gaussian import analytic_multiplier, gaussian_delta
from discreet.privacy.noise import SecureNoise, SimulatedNoise
from discreet.privacy.participation_cost import multiplier_for

Floats = NDArray[np.float64]


def discrete_gaussian(sigma: float, reach: int) -> Floats:
    masses = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return np.asarray(masses / masses.sum())


def sum_of_parts(sigma: float, parts: int, reach: int) -> Floats:
    total = one = discrete_gaussian(sigma, reach)
    for _ in range(parts - 1):
        total = np.convolve(total, one)
    return np.asarray(total)


def rounded_gaussian(sigma: float, reach: int) -> Floats:
    points = np.arange(-reach, reach + 1)
    inner, outer = np.abs(points) - 0.5, np.abs(points) + 0.5
    return np.asarray(norm.sf(inner / sigma) - norm.sf(outer / sigma))


@pytest.mark.parametrize("sigma", [0.5, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("parts", [2, 3, 5])
def test_a_sum_of_discrete_gaussians_is_as_near_to_one_as_is_said(sigma: float, parts: int) -> None:
    reach = 14
    total = sum_of_parts(sigma, parts, reach)
    middle = slice(parts * reach - 5, parts * reach + 6)
    one = discrete_gaussian(sigma * math.sqrt(parts), parts * reach)
    off = np.abs(np.log(total[middle] / one[middle])).max()
    claimed = convolution_distance(sigma, parts)
    assert off <= claimed
    assert parts > 2 or off > claimed / 8


@pytest.mark.parametrize("sigma", [2.0, 2.5, 4.0, 9.0])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_noise_is_as_near_to_the_rounded_gaussian_as_is_said(sigma: float, parts: int) -> None:
    part = part_deviation(sigma, parts)
    price = lattice_price([NoiseRound(part, parts, 1)])
    reach = math.ceil(12 * float(part))
    noise, rounded = sum_of_parts(float(part), parts, reach), rounded_gaussian(sigma, parts * reach)
    sure = rounded > 1e-280
    assert np.log(noise[sure] / rounded[sure]).max() <= price.ratio
    distance = np.abs(noise - rounded).sum() / 2
    assert price.distance / 4 < distance <= price.distance


def test_the_bound_of_the_ratio_holds_one_way_only() -> None:
    """Far out the rounded Gaussian is heavier without limit, so the other side of (ε, δ) needs the distance."""
    noise, rounded = discrete_gaussian(3.0, 60), rounded_gaussian(3.0, 60)
    assert np.log(rounded / noise).max() > 10 * lattice_price([NoiseRound(Fraction(3), 1, 1)]).ratio


@pytest.mark.parametrize(("parts", "shift"), [(1, (12, 0)), (2, (8, 8)), (3, (5, 12))])
def test_the_theorem_holds_in_two_dimensions(parts: int, shift: tuple[int, int]) -> None:
    multiplier, sensitivity = 1.5, math.hypot(*shift)
    part = part_deviation(multiplier * sensitivity, parts)
    price = lattice_price([NoiseRound(part, parts, 2)])
    reach = math.ceil(9 * float(part))
    line = sum_of_parts(float(part), parts, reach)
    plane = np.outer(line, line)
    grown = np.zeros((plane.shape[0] + shift[0], plane.shape[1] + shift[1]))
    here, there = grown.copy(), grown.copy()
    here[: plane.shape[0], : plane.shape[1]] = plane
    there[shift[0] :, shift[1] :] = plane
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        on_lattice, delta = price.carried(epsilon, gaussian_delta(epsilon, multiplier))
        exact = hockey_stick(here.ravel(), there.ravel(), on_lattice)
        assert exact <= delta
        assert exact > delta / 4


@given(st.floats(2, 1e6), st.integers(1, 50), st.integers(1, 10**9))
@settings(max_examples=60, deadline=None)
def test_the_price_falls_with_noise_and_rises_with_values(sigma: float, parts: int, values: int) -> None:
    sigma *= math.sqrt(parts)
    price = lattice_price([NoiseRound(part_deviation(sigma, parts), parts, values)])
    louder = lattice_price([NoiseRound(part_deviation(2 * sigma, parts), parts, values)])
    longer = lattice_price([NoiseRound(part_deviation(sigma, parts), parts, 2 * values)])
    split = lattice_price([NoiseRound(part_deviation(sigma, parts), parts, values)] * 2)
    assert louder.ratio < price.ratio < longer.ratio
    assert louder.distance < price.distance < longer.distance
    assert split.ratio == pytest.approx(longer.ratio)
    assert split.distance == pytest.approx(longer.distance)


def test_a_price_moves_any_account() -> None:
    course = compose([dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(1.0)), 20)])
    price = LatticePrice(1e-7, 1e-12)
    epsilon = price.epsilon(course.epsilon, 1e-5)
    assert course.epsilon(1e-5) < epsilon < course.epsilon(1e-5) * 1.001
    assert LatticePrice().carried(1.0, 1e-5) == (1.0, 1e-5)
    assert LatticePrice(1e-7, 1e-12).epsilon(lambda _: math.inf, 1e-5) == math.inf
    with pytest.raises(DiscreetError, match="too coarse"):
        LatticePrice(1e-7, 1e-9).epsilon(course.epsilon, 1e-5)
    with pytest.raises(DiscreetError, match="too coarse"):
        LatticePrice(1e-7, 1e-300).epsilon(lambda _: 2000.0, 1e-5)


@pytest.mark.parametrize(("part", "parts"), [(0.4, 30), (1.9, 1)])
def test_noise_too_small_for_the_theorem_is_refused(part: float, parts: int) -> None:
    with pytest.raises(ValueError, match="at least"):
        lattice_price([NoiseRound(Fraction(part), parts, 1)])


def terms(**changes: object) -> DistributedGaussian:
    usual = {"multiplier": 2.0, "clip": 0.7, "dimension": 5, "contributions": 1000, "parties": 10, "quorum": 7}
    return DistributedGaussian(**{**usual, **changes})  # type: ignore[arg-type]


def test_the_parts_that_stay_hidden_have_the_noise_that_is_asked_for() -> None:
    for quorum, colluders in ((7, 0), (7, 3), (10, 9), (1, 0)):
        mechanism = terms(quorum=quorum, colluders=colluders)
        hidden = float(mechanism.party_deviation) * math.sqrt(quorum - colluders) / mechanism.unit
        assert 2.0 <= hidden < 2.0 * (1 + 1e-8)
        assert mechanism.sum_deviation(10) == pytest.approx(hidden * math.sqrt(10 / (quorum - colluders)) * 0.7)


@given(
    st.floats(1e-2, 1e4),
    st.integers(1, 10**8),
    st.integers(1, 10**8),
    st.integers(1, 1000),
    st.sampled_from([32, 64]),
    st.data(),
)
@settings(max_examples=100, deadline=None)
def test_no_setting_that_is_taken_wraps(
    multiplier: float, dimension: int, contributions: int, parties: int, bits: int, data: st.DataObject
) -> None:
    quorum = data.draw(st.integers(1, parties))
    changes = {"multiplier": multiplier, "dimension": dimension, "contributions": contributions, "bits": bits}
    try:
        mechanism = terms(parties=parties, quorum=quorum, colluders=data.draw(st.integers(0, quorum - 1)), **changes)
    except DiscreetError:
        mechanism = None
    if mechanism is None:
        assert bits == 32
        return
    assert mechanism.headroom <= MIN_HEADROOM
    deviations = float(mechanism.party_deviation) * math.sqrt(parties)
    assert contributions * mechanism.unit + 7 * deviations < 2 ** (bits - 1)


def test_a_hundred_million_readers_fit_into_64_bits_at_a_price_that_no_one_notices() -> None:
    mechanism = terms(dimension=10**6, contributions=10**8, parties=1000, quorum=800, colluders=100, multiplier=0.5)
    assert 10**8 * mechanism.unit < 2**63
    price = mechanism.price(10_000)
    epsilon, delta = price.carried(10.0, 1e-6)
    assert epsilon - 10 < 1e-10
    assert delta / 1e-6 - 1 < 1e-4


def test_wrapping_is_as_likely_as_is_said() -> None:
    """A lattice one step finer would have wrapped too often, which the sampled noise shows on a small one."""
    mechanism = terms(bits=12, contributions=4, multiplier=1.0, parties=2, quorum=2, dimension=20_000)
    total = sum(mechanism.party_noise(SimulatedNoise(seed)) for seed in range(2))
    assert np.abs(total).max() + 4 * mechanism.unit < 2**11
    assert mechanism._headroom(mechanism.unit) <= MIN_HEADROOM < mechanism._headroom(2 * mechanism.unit)
    finest = 16 * mechanism.unit
    louder = SimulatedNoise(3).discrete_gaussian(part_deviation(finest, 1), 20_000)
    assert (np.abs(louder) > 2**11 - 1).any()
    assert mechanism._headroom(finest) == 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quorum": 11}, "must stay"),
        ({"quorum": 0}, "must stay"),
        ({"colluders": 7}, "at most 6 may collude"),
        ({"colluders": -1}, "may collude"),
        ({"bits": 16, "contributions": 10**5}, "no room"),
        ({"contributions": 2**63}, "no room"),
        ({"multiplier": 1e18}, "no room"),
    ],
)
def test_settings_that_cannot_be_are_one_clear_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DiscreetError, match=message) as refused:
        terms(**changes)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "changes", [{"multiplier": 0.0}, {"multiplier": math.nan}, {"clip": math.inf}, {"clip": 1e-300}, {"dimension": 0}]
)
def test_nonsense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        terms(**changes)


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-2, 2),
    st.sampled_from([5e-324, -5e-324, 1.7e308, -1.7e308, 2.2250738585072014e-308, 0.7, 0.0, -0.0]),
)


@given(
    st_numpy.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 40)), elements=numbers),
    st.floats(1e-100, 1e100),
)
@settings(max_examples=200, deadline=None)
def test_cutting_to_the_lattice_never_lengthens(vectors: Floats, clip: float) -> None:
    mechanism = terms(dimension=vectors.shape[1], clip=clip)
    integers = mechanism.integers(vectors)
    step = Fraction(clip) / mechanism.unit
    for row, cut in zip(vectors, integers, strict=True):
        assert sum(int(value) ** 2 for value in cut) <= mechanism.unit**2
        for value, whole in zip(row, cut, strict=True):
            assert abs(int(whole) * step) <= abs(Fraction(float(value)))
            assert int(whole) * math.copysign(1, value) >= 0


@given(st.integers(1, 3000), st.integers(0, 2**32), st.sampled_from([1e-6, 0.5, 1.0, 1e9]))
@settings(max_examples=40, deadline=None)
def test_clipping_keeps_direction_and_nearly_all_of_the_norm(dimension: int, seed: int, length: float) -> None:
    vector = np.random.default_rng(seed).normal(size=dimension)
    vector *= length / np.linalg.norm(vector)
    mechanism = terms(dimension=dimension, clip=1.0)
    back = mechanism.values(mechanism.integers(vector))
    np.testing.assert_allclose(back, vector * min(1.0, 1 / length), atol=1e-8)
    assert sum(int(value) ** 2 for value in mechanism.integers(vector)) <= mechanism.unit**2


def test_a_long_vector_at_the_clip_stays_within_it() -> None:
    mechanism = terms(dimension=10**6)
    integers = mechanism.integers(np.full(10**6, 3.0))
    norm_of_it = math.sqrt(sum(int(value) ** 2 for value in integers))
    assert mechanism.unit * (1 - 1e-8) < norm_of_it <= mechanism.unit


@pytest.mark.parametrize("vector", [[math.nan] * 5, [0, 0, math.inf, 0, 0], [1.0] * 4, [[[1.0] * 5]]])
def test_vectors_that_cannot_be_summed_are_refused(vector: object) -> None:
    with pytest.raises(ValueError, match="not"):
        terms().integers(vector)  # type: ignore[arg-type]


def test_noise_of_all_parties_at_once_is_that_of_all_one_by_one() -> None:
    mechanism = terms(dimension=40_000)
    noise = SimulatedNoise(5)
    one_by_one = np.sum([mechanism.party_noise(noise) for _ in range(8)], axis=0)
    at_once = mechanism.summed_noise(noise, 8)
    for sample in (one_by_one, at_once):
        assert mechanism.values(sample).std() == pytest.approx(mechanism.sum_deviation(8), rel=0.02)
    for parties in (6, 11):
        with pytest.raises(ValueError, match="parties are in a sum"):
            mechanism.summed_noise(noise, parties)


def test_secure_noise_is_never_the_same_twice() -> None:
    mechanism = terms()
    assert (mechanism.party_noise(SecureNoise()) != mechanism.party_noise(SecureNoise())).any()


Z = multiplier_for(1.0, 1e-5, 1)


def test_the_exact_audit_is_tight_and_finds_what_is_broken() -> None:
    party = replace(four_parties(Z, 1, 1, contributions=100_000, bits=32), clip=1.0)
    honest = exact_audit((party,) * 3, 1, Z, 1e-5, "")
    bound = honest.examination.lower_bound(1e-3, 0)
    assert honest.holds(bound)
    assert bound > 0.999 * honest.claim
    uncounted = replace(party, colluders=0)
    broken = exact_audit((uncounted,) * 3, 1, Z, 1e-5, "colluder not counted")
    assert not broken.holds(broken.examination.lower_bound(1e-3, 0))
    weak = replace(party, multiplier=Z / 2)
    assert weak.unit == party.unit
    broken = exact_audit((party, party, weak), 1, Z, 1e-5, "one party's noise is half")
    assert not broken.holds(broken.examination.lower_bound(1e-3, 0))


def test_the_audit_of_the_worst_client_has_power_and_finds_what_is_broken() -> None:
    multiplier = analytic_multiplier(5.0, 1e-5)
    party = four_parties(multiplier, 50, 1)
    audits = {
        "honest": worst_client_audit((party,) * 3, 1, multiplier, "honest", 10_000),
        "colluder not counted": worst_client_audit((replace(party, colluders=0),) * 3, 1, multiplier, "c", 10_000),
        "one party's noise is half": worst_client_audit(
            (party, party, replace(party, multiplier=multiplier / 2)), 1, multiplier, "w", 10_000
        ),
        "one party too few": worst_client_audit((party,) * 2, 1, multiplier, "d", 10_000),
    }
    bounds = {name: audit.examination.lower_bound(1e-5, 0) for name, audit in audits.items()}
    held = {name for name, audit in audits.items() if audit.holds(bounds[name])}
    assert held == {"honest"}
    assert bounds["honest"] > 0.75 * audits["honest"].claim


def test_the_audit_of_a_life_has_power_and_finds_what_is_broken() -> None:
    party = four_parties(1.0, 1, 0)
    audit = training_audit((party,) * 3, 1.0, 0.2, 20, 8, 1e-2, 20_000)
    bound = audit.examination.lower_bound(1e-5, 0)
    assert audit.holds(bound)
    assert bound > audit.claim / 2
    weak = replace(party, multiplier=0.5)
    broken = training_audit((weak,) * 3, 1.0, 0.2, 20, 8, 1e-2, 20_000)
    assert not broken.holds(broken.examination.lower_bound(1e-5, 0))


def test_the_exact_epsilon_is_that_of_a_known_pair() -> None:
    truth = np.array([math.e, 1.0]) / (1 + math.e)
    assert exact_epsilon(truth, truth[::-1], 0.0) == pytest.approx(1.0, abs=1e-5)
    assert exact_epsilon(truth, truth, 0.0) == 0.0
    assert exact_epsilon(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.5) == math.inf
