"""Exact noise: its distribution, its exactness at the edges, and where its randomness comes from."""

import math
import os
import random
from fractions import Fraction

import mpmath
import numpy as np
import opendp.prelude as opendp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise, rounded_up
from discreet.privacy.noise_tables import gaussian_tables, laplace_tables

SCALES = [
    Fraction(3, 10),
    Fraction(1),
    Fraction(37, 10),
    Fraction(8),
    Fraction(161, 10),
    Fraction(12345),
    Fraction(10**7),
]
KINDS = ["laplace", "gaussian"]


def draw(noise, kind, scale, size):
    return (noise.discrete_laplace if kind == "laplace" else noise.discrete_gaussian)(scale, size)


def weight(kind, scale, y):
    y = np.asarray(y, dtype=np.float64)
    return np.exp(-np.abs(y) / float(scale)) if kind == "laplace" else np.exp(-(y**2) / (2 * float(scale) ** 2))


def p_value(samples, kind, scale, bins=60):
    """Chi-square against the exact probabilities of single integers, or of runs of them where the scale is large."""
    reach = int(40 * scale) + 10 if kind == "laplace" else int(12 * scale) + 10
    width = max(1, int(8 * scale) // bins)
    edges = np.arange(-(reach // width) * width, reach + width, width)
    if reach < 10**7:
        support = np.arange(edges[0], edges[-1])
        masses = np.add.reduceat(weight(kind, scale, support), np.arange(0, len(support), width))
    else:
        middle = (edges[:-1] + edges[1:] - 1) / 2
        law = stats.laplace(scale=float(scale)) if kind == "laplace" else stats.norm(scale=float(scale))
        assert len(middle) > 40
        masses = law.cdf(edges[1:] - 0.5) - law.cdf(edges[:-1] - 0.5)
    counts = np.histogram(samples, edges)[0]
    expected = masses / masses.sum() * len(samples)
    enough = expected >= 20
    observed = np.append(counts[enough], len(samples) - counts[enough].sum())
    predicted = np.append(expected[enough], len(samples) - expected[enough].sum())
    if predicted[-1] < 5:
        observed, predicted = observed[:-1], predicted[:-1] * observed[:-1].sum() / predicted[:-1].sum()
    return stats.chisquare(observed, predicted, sum_check=False).pvalue


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_simulated_noise_has_the_exact_distribution(kind, scale):
    assert p_value(draw(SimulatedNoise(7), kind, scale, 200_000), kind, scale) > 1e-3


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_secure_noise_has_the_exact_distribution(kind, scale):
    assert p_value(draw(SecureNoise(), kind, scale, 100_000), kind, scale) > 1e-7


def test_the_chi_square_test_notices_a_scale_that_is_off_by_two_percent():
    samples = SimulatedNoise(3).discrete_gaussian(Fraction(102, 10), 200_000)
    assert p_value(samples, "gaussian", Fraction(10)) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_neighbouring_integers_within_a_cell_are_weighted_exactly(kind):
    """With scale 64 a cell has 16 integers; the coins must shape the distribution inside it."""
    scale = Fraction(64)
    samples = np.abs(draw(SimulatedNoise(11), kind, scale, 1_000_000))
    counts = np.bincount(samples, minlength=128)[1:128]
    expected = weight(kind, scale, np.arange(1, 128))
    assert stats.chisquare(counts, expected / expected.sum() * counts.sum()).pvalue > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_moments_and_tails(kind):
    scale, size = Fraction(20), 1_000_000
    samples = draw(SimulatedNoise(5), kind, scale, size)
    support = np.arange(-2000, 2001)
    mass = weight(kind, scale, support)
    mass /= mass.sum()
    variance = (mass * support**2).sum()
    assert abs(samples.mean()) < 5 * math.sqrt(variance / size)
    fourth = (mass * support**4).sum()
    assert abs((samples**2).mean() - variance) < 5 * math.sqrt((fourth - variance**2) / size)
    for distance in (40, 60, 80, 100):
        tail = mass[np.abs(support) >= distance].sum()
        assert abs((np.abs(samples) >= distance).sum() - size * tail) < 5 * math.sqrt(size * tail) + 5


@pytest.mark.parametrize(("kind", "scale"), [("laplace", 3.7), ("gaussian", 3.7), ("gaussian", 50.0)])
def test_agrees_with_opendp(kind, scale):
    opendp.enable_features("contrib")
    size = 20_000
    metric = opendp.l1_distance(T=int) if kind == "laplace" else opendp.l2_distance(T=float)
    space = opendp.vector_domain(opendp.atom_domain(T=int), size=size), metric
    peer = (opendp.m.make_laplace if kind == "laplace" else opendp.m.make_gaussian)(*space, scale=scale)
    theirs, ours = np.array(peer([0] * size)), draw(SimulatedNoise(2), kind, Fraction(scale), size)
    edges = np.unique(np.quantile(np.concatenate((theirs, ours)), np.linspace(0, 1, 25)))
    edges[-1] += 1
    table = np.array([np.histogram(theirs, edges)[0], np.histogram(ours, edges)[0]])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "scale", [Fraction(1, 50), Fraction(3, 10), Fraction(5, 2), Fraction(1000, 3), Fraction(2**45)]
)
def test_table_digits_are_those_of_the_true_probabilities(kind, scale):
    tables = (laplace_tables if kind == "laplace" else gaussian_tables)(scale, 16)
    with mpmath.workdps(600):
        width = mpmath.mpf(2**tables.bits)
        exact_scale = mpmath.mpf(scale.numerator) / scale.denominator
        steps = [c * width / exact_scale for c in range(900)]
        weights = [mpmath.exp(-x) if kind == "laplace" else mpmath.exp(-x * x / 2) for x in steps]
        total = mpmath.fsum(weights)
        for c, row in enumerate(tables.cumulative):
            assert int.from_bytes(row.tobytes(), "big") == int(
                mpmath.floor(mpmath.fsum(weights[: c + 1]) / total * 256**16)
            )
    assert tables.cumulative[-1].tolist() == [255] * 16


class FixedBytes(Noise):
    """Gives a fixed stream, a few bytes at a time whatever was asked for."""

    def __init__(self, stream, portion=None):
        self.stream, self.portion = stream, portion

    def random_bytes(self, count):
        portion = min(count, self.portion or count)
        if not self.stream:
            raise EOFError
        given_now, self.stream = self.stream[:portion], self.stream[portion:]
        return given_now


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(5), Fraction(1000)])
def test_a_sample_that_runs_out_of_bytes_is_continued_not_drawn_anew(kind, scale):
    stream = random.Random(1).randbytes(40_000)
    at_once = draw(FixedBytes(stream), kind, scale, 500)
    for portion in (1, 2, 7):
        assert (draw(FixedBytes(stream, portion), kind, scale, 500) == at_once).all()


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_equal_all_digits_are_decided_by_further_digits(kind):
    tables_of = laplace_tables if kind == "laplace" else gaussian_tables
    short, long = tables_of(Fraction(2), 8), tables_of(Fraction(2), 16)
    first_cell = short.cumulative[0].tobytes()
    digit = int(long.cumulative[0][8])
    assert 0 < digit < 255
    positive = b"\x00"
    rest = positive + bytes(64)
    below = draw(FixedBytes(first_cell + bytes([digit - 1]) + rest), kind, Fraction(2), 1)
    above = draw(FixedBytes(first_cell + bytes([digit + 1]) + rest), kind, Fraction(2), 1)
    assert (below.tolist(), above.tolist()) == ([0], [1])


def test_every_value_is_reachable_far_out_in_the_tail():
    """All bytes 255 ask for ever more digits, and lead ever further out."""
    far = FixedBytes(b"\xff" * 12 + b"\x10" + bytes(64)).discrete_laplace(Fraction(1), 1)[0]
    assert far == pytest.approx(96 * math.log(2), abs=4)


@given(st.integers(1, 10**30), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_below_stays_below(bound, seed):
    noise = SimulatedNoise(seed)
    assert all(0 <= noise.below(bound) < bound for _ in range(5))


def test_below_and_coins_are_uniform():
    noise = SimulatedNoise(1)
    counts = np.bincount([noise.below(7) for _ in range(14_000)], minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-3
    assert abs(noise.coins(Fraction(1, 3), 9000).mean() - 1 / 3) < 0.025


def test_simulated_noise_repeats_and_secure_noise_does_not():
    a, b = (SimulatedNoise(4).discrete_gaussian(Fraction(100), 50) for _ in range(2))
    assert (a == b).all()
    c, d = (SecureNoise().discrete_gaussian(Fraction(10**6), 50) for _ in range(2))
    assert (c != d).any()


def test_secure_noise_uses_the_operating_system_alone(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a seeded generator was used in the secure path")

    for name in ("default_rng", "Generator", "RandomState", "random", "normal", "laplace", "bytes", "randint"):
        monkeypatch.setattr(np.random, name, refuse)
    for name in ("random", "randbytes", "randrange", "getrandbits", "Random"):
        monkeypatch.setattr(random, name, refuse)
    asked = []
    urandom = os.urandom
    monkeypatch.setattr("discreet.privacy.noise.urandom", lambda count: asked.append(count) or urandom(count))
    noise = SecureNoise()
    noise.discrete_laplace(Fraction(3), 100)
    noise.discrete_gaussian(Fraction(3), 100)
    noise.below(1000)
    noise.coins(Fraction(1, 3), 10)
    assert len(asked) >= 4
    assert sum(asked) > 200


@given(st.floats(1e-5, 1e12))
def test_parameters_are_rounded_up_and_by_little(value):
    rounded = rounded_up(value)
    assert Fraction(value) <= rounded <= Fraction(value) * (1 + Fraction(1, 2**30))


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**51), Fraction(1, 2**21)])
def test_scales_outside_the_range_are_refused(scale):
    with pytest.raises(ValueError, match="must be from"):
        SecureNoise().discrete_laplace(scale, 1)


def test_inexact_parameters_are_refused():
    with pytest.raises(TypeError, match="Fraction"):
        SecureNoise().discrete_gaussian(1.5, 1)
