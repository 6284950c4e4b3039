"""From noised counts to interest: Bayes' rule, by the short way and by the long one."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom

from discreet.methods.click_reports.collect import collect_sketches, topic_counts
from discreet.methods.click_reports.interest import CodePrior, MeanReader, TopicPrior, noise_variance

MEAN = np.array([0.5, 0.3, 0.2])
FAR = 400


def bayes(count, length, share, concentration, epsilon, releases):
    """E[n | count] by summing over every n and every way the noise may have come about."""
    line = np.arange(-FAR, FAR + 1)
    one = np.exp(-epsilon / 2 * np.abs(line))
    one /= one.sum()
    noise = one
    for _ in range(releases - 1):
        noise = np.convolve(noise, one)
    middle = len(noise) // 2
    n = np.arange(length + 1)
    prior = betabinom.pmf(n, length, concentration * share, concentration * (1 - share))
    joint = prior * noise[middle + count - n]
    return joint @ n / joint.sum()


def interest(prior, counts, length, releases=1):
    counts = np.asarray(counts, np.float64)
    rows = len(counts)
    return prior.interest(counts, np.full(rows, length), np.full(rows, releases))


@given(
    st.lists(st.integers(-60, 80), min_size=3, max_size=3),
    st.integers(1, 9),
    st.integers(1, 4),
    st.floats(0.2, 4.0),
    st.floats(0.5, 60.0),
)
@example([0, 0, -9], 1, 2, 4.0, 1.0)  # the noise is far larger than it ever should be
@settings(max_examples=60, deadline=None)
def test_the_posterior_mean_is_that_of_bayes(counts, length, releases, epsilon, concentration):
    prior = TopicPrior(MEAN, concentration, epsilon)
    found = interest(prior, [counts], length, releases)[0]
    for k, count in enumerate(counts):
        wanted = bayes(count, length, MEAN[k], concentration, epsilon, releases) / length - MEAN[k]
        assert found[k] == pytest.approx(wanted, abs=1e-9)


def test_two_sketches_by_enumeration_of_both():
    """The sum of two releases, with the noise of each enumerated one by one."""
    epsilon, length, share, concentration, total = 0.8, 3, 0.3, 5.0, 4
    n = np.arange(length + 1)
    prior = betabinom.pmf(n, length, concentration * share, concentration * (1 - share))
    weight = np.zeros(length + 1)
    for value, first in itertools.product(n, range(-80, 81)):
        weight[value] += prior[value] * math.exp(-epsilon / 2 * (abs(first) + abs(total - value - first)))
    topics = TopicPrior(np.array([share, 1 - share]), concentration, epsilon)
    found = interest(topics, [[total, 0]], length, releases=2)[0, 0]
    assert found == pytest.approx(weight @ n / weight.sum() / length - share, abs=1e-9)


@given(st.integers(-40, 60), st.integers(1, 30), st.integers(1, 4), st.floats(0.05, 8.0), st.floats(0.5, 200.0))
@settings(max_examples=100, deadline=None)
def test_shares_stay_between_none_and_all_and_grow_with_the_count(count, length, releases, epsilon, concentration):
    prior = TopicPrior(MEAN, concentration, epsilon)
    low, high = interest(prior, [[count] * 3, [count + 1] * 3], length, releases) + MEAN
    for shares in (low, high):
        assert (shares >= 0).all()
        assert (shares <= 1).all()
    assert (high >= low - 1e-12).all()


@pytest.mark.parametrize("epsilon", [1e-6, 2000.0])
def test_counts_at_the_ends_of_what_numbers_can_say_are_still_counts(epsilon):
    found = interest(TopicPrior(MEAN, 5.0, epsilon), [[-(10**9), 0, 10**9]], 400, releases=16)
    assert np.isfinite(found).all()


@given(st.lists(st.integers(0, 9), min_size=3, max_size=3))
def test_without_noise_interest_is_the_share_above_the_mean(counts):
    assume(sum(counts))
    prior = TopicPrior(MEAN, 10.0, math.inf)
    assert interest(prior, [counts], sum(counts))[0] == pytest.approx(np.array(counts) / sum(counts) - MEAN)


def test_the_more_noise_the_less_is_believed():
    believed = [
        np.abs(interest(TopicPrior(MEAN, 5.0, epsilon), [[9, 0, 1]], 10)).max()
        for epsilon in (20.0, 2.0, 0.5, 0.1, 0.001)
    ]
    assert believed == sorted(believed, reverse=True)
    assert believed[0] == pytest.approx(0.4, abs=1e-3), "hardly any noise: the share itself"
    assert believed[-1] < 1e-3, "nothing but noise: the mean reader"


def test_a_reader_of_whom_nothing_came_is_the_mean_one():
    prior = TopicPrior(MEAN, 5.0, 1.0)
    counts = np.array([[4.0, -3, 2], [8, 1, 1]])
    found = prior.interest(counts, np.array([0, 10]), np.array([0, 1]))
    assert not found[0].any()
    assert found[1].any()


def test_a_reader_alone_gets_what_the_same_reader_gets_among_others():
    prior = TopicPrior(MEAN, 5.0, 0.3)
    counts = np.array([[3.0, 2, 1], [60, -50, 20]])
    together = interest(prior, counts, 6, releases=2)
    assert interest(prior, counts[:1], 6, releases=2)[0] == pytest.approx(together[0], abs=1e-7)


def simulated(rng, readers, concentration, epsilon, releases=1):
    """Noised counts of readers whose shares differ by a Dirichlet law."""
    lengths = rng.integers(5, 60, readers)
    shares = rng.dirichlet(concentration * MEAN, readers)
    plan = {}
    for reader in range(readers):
        clicks = rng.choice(3, lengths[reader], p=shares[reader])
        plan[reader] = [part for part in np.array_split(clicks, releases) if len(part)]
    return collect_sketches(plan, readers, 3, topic_counts(np.arange(3), 3, epsilon), 7)


@pytest.mark.parametrize("concentration", [2.0, 12.0])
@pytest.mark.parametrize(("epsilon", "releases"), [(math.inf, 1), (1.0, 1), (1.0, 3)])
def test_mean_and_concentration_are_learnt_from_noised_counts(concentration, epsilon, releases):
    sketches = simulated(np.random.default_rng(5), 3000, concentration, epsilon, releases)
    prior = TopicPrior.learn(sketches.values, sketches.clicks, sketches.releases, epsilon)
    assert prior.mean == pytest.approx(MEAN, abs=0.02)
    assert prior.concentration == pytest.approx(concentration, rel=0.35)


def test_the_posterior_is_nearer_to_the_truth_than_the_raw_counts():
    rng = np.random.default_rng(9)
    sketches = simulated(rng, 1500, 5.0, 0.5)
    exact = simulated(np.random.default_rng(9), 1500, 5.0, math.inf)
    prior = TopicPrior.learn(sketches.values, sketches.clicks, sketches.releases, 0.5)
    truth = exact.values / exact.clicks[:, None] - prior.mean
    believed = prior.interest(sketches.values, sketches.clicks, sketches.releases)
    raw = sketches.values / sketches.clicks[:, None] - prior.mean
    assert ((believed - truth) ** 2).mean() < 0.5 * ((raw - truth) ** 2).mean()
    assert ((believed - truth) ** 2).mean() < (truth**2).mean()


def test_nobody_reported_yet():
    nobody = np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0, np.int64)
    prior = TopicPrior.learn(*nobody, 1.0)
    assert prior.mean == pytest.approx(np.full(4, 0.25))
    assert prior.interest(*nobody).shape == (0, 4)


@given(st.floats(0.05, 10.0))
def test_the_noise_variance_is_that_of_the_distribution(epsilon):
    line = np.arange(-3000, 3001)
    chance = np.exp(-epsilon / 2 * np.abs(line))
    assert noise_variance(epsilon) == pytest.approx(chance @ line**2 / chance.sum(), rel=1e-6)


def test_codes_shares_are_learnt_and_the_reported_ones_believed():
    from discreet.privacy.mechanisms.subset_selection import SubsetSelection
    from discreet.privacy.noise import SimulatedNoise

    shares, epsilon, readers = np.array([0.4, 0.3, 0.15, 0.1, 0.05, 0.0]), 2.0, 4000
    mechanism, noise = SubsetSelection(epsilon=epsilon, choices=6), SimulatedNoise(3)
    codes = np.random.default_rng(3).choice(6, readers, p=shares)
    told = np.zeros((readers, 6))
    for reader, code in enumerate(codes.tolist()):
        told[reader, mechanism.release(code, noise).values.astype(int)] = 1
    prior = CodePrior.learn(told, epsilon)
    assert prior.mean == pytest.approx(shares, abs=0.04)
    found = prior.interest(told, np.ones(readers), np.ones(readers))
    assert found.sum(axis=1) == pytest.approx(np.zeros(readers), abs=1e-6)
    assert found[np.arange(readers), codes].mean() > 0.2


def test_the_mean_reader_takes_the_mean_release_away():
    values, releases = np.array([[2.0, 4.0], [1.0, 0.0]]), np.array([2, 1])
    reader = MeanReader.learn(values, releases)
    assert reader.mean.tolist() == [1.0, pytest.approx(4 / 3)]
    assert reader.interest(values, releases, releases)[1] == pytest.approx([0, -4 / 3])
