"""Click rates from noised labels: unbiased, and of the past only."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests_support import make_impressions

from discreet.edge.reader.reports import label_mechanism
from discreet.methods.click_reports.click_evidence import Evidence, inclusion
from discreet.methods.click_reports.collect import Labels, collect_labels
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.mechanisms.subset_selection import SubsetSelection


def subset_of(epsilon):
    return lambda size: label_mechanism(size, epsilon)


def response_of(epsilon):
    return lambda size: RandomizedResponse(epsilon=epsilon, choices=size)


def summed(evidence):
    """The sum of all single estimates, with each one's weight divided out again."""
    weight, value = np.diff(evidence.weight), np.diff(evidence.value)
    return value / weight


@given(st.integers(2, 40), st.floats(0.05, 5.0))
@settings(max_examples=60, deadline=None)
def test_how_likely_each_article_is_in_the_report(size, epsilon):
    for kind in (SubsetSelection, RandomizedResponse):
        mechanism = kind(epsilon=epsilon, choices=size)
        hit, stray = inclusion(mechanism)
        told = 1 if kind is RandomizedResponse else mechanism.subset_size
        assert 0 < stray < hit < 1
        assert hit + (size - 1) * stray == pytest.approx(told)


@pytest.mark.parametrize("mechanism_of", [subset_of, response_of])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_estimates_of_single_shows_are_unbiased(mechanism_of, epsilon):
    """Mean over many draws of the noise: 1 for the clicked article, 0 for the others; half each for two clicks."""
    draws, truth = 4000, np.array([0, 0.5, 0, 0, 0.5, 0])
    impressions = make_impressions(
        [[0, 1, 2, 3, 4, 5]] * draws, [[0, 1, 0, 0, 1, 0]] * draws, time=np.zeros(draws, np.int64)
    )
    labels = collect_labels(impressions, epsilon, mechanism_of(epsilon), 2)
    evidence = Evidence.of([(impressions, labels)], epsilon, mechanism_of(epsilon))
    estimates = summed(evidence).reshape(6, draws)
    error = estimates.std(axis=1) / math.sqrt(draws)
    assert (np.abs(estimates.mean(axis=1) - truth) < 4.5 * error).all()
    assert evidence.rate == pytest.approx(1 / 6, abs=0.02)


def test_without_noise_the_estimate_is_the_click():
    impressions = make_impressions([[0, 1], [1, 2]], [[1, 0], [0, 1]])
    labels = collect_labels(impressions, math.inf, subset_of(math.inf), 0)
    assert summed(Evidence.of([(impressions, labels)], math.inf, subset_of(math.inf))).tolist() == [1, 0, 0, 1]


def reports(clicked_first, times, epsilon=math.inf):
    """Slates of articles 0 and 1 (and 2, 3 beside them, so that rates differ)."""
    slates = [[0, 1, 2, 3] for _ in clicked_first]
    clicks = [[first, not first, 0, 0] for first in clicked_first]
    impressions = make_impressions(slates, clicks, time=times)
    labels = collect_labels(impressions, epsilon, subset_of(epsilon), 0)
    return Evidence.of([(impressions, labels)], epsilon, subset_of(epsilon))


def test_only_strictly_earlier_reports_count():
    evidence = reports([True] * 60 + [False] * 5, list(range(60)) + [1000] * 5)
    articles = np.array([0, 0, 0, 1, 1, 1], np.int32)
    moments = np.array([0, 30, 1000, 0, 1000, 1001], np.int64)
    start, half, before, rival_start, rival_before, rival_after = evidence.before(articles, moments)
    assert start == rival_start == 0
    assert 0 < half < before
    assert rival_before < 0 < before
    assert rival_after > rival_before, "a report counts from the next second on"
    long_ago, far_ahead = evidence.before(np.array([0, 0], np.int32), np.array([-(10**6), 10**6]))
    assert long_ago == 0
    assert 0 < far_ahead < before, "the clicks that went to its rival count against it"


def test_what_happens_later_changes_no_order_of_the_past():
    times = list(range(80))
    one, other = (reports([True] * 40 + [late] * 40, times) for late in (True, False))
    articles, moments = np.array([0, 1, 2], np.int32), np.full(3, 40, np.int64)
    assert np.argsort(one.before(articles, moments)).tolist() == np.argsort(other.before(articles, moments)).tolist()


def liked_slates(rng, liked, slates=3000):
    """Slates of 5 of 20 articles, of which the first four are clicked more often if `liked` is above 0."""
    shown = np.array([rng.choice(20, 5, replace=False) for _ in range(slates)])
    utility = liked * (shown < 4) + rng.gumbel(size=shown.shape)
    impressions = make_impressions(shown, utility == utility.max(axis=1, keepdims=True))
    labels = collect_labels(impressions, 1.0, subset_of(1.0), int(rng.integers(1000)))
    return Evidence.of([(impressions, labels)], 1.0, subset_of(1.0))


def test_the_variance_that_estimates_are_weighed_by_is_their_own():
    evidence = liked_slates(np.random.default_rng(4), 0.0)
    assert (1 / np.diff(evidence.weight)).mean() == pytest.approx(summed(evidence).var(), rel=0.02)


def test_noise_is_shrunk_away_and_differences_are_not():
    everything, late = np.arange(20, dtype=np.int32), np.full(20, 3000, np.int64)
    rng = np.random.default_rng(4)
    believed, raw = [], []
    for _ in range(6):
        evidence = liked_slates(rng, 0.0)
        believed.append((evidence.before(everything, late) ** 2).mean())
        article = evidence.key // evidence.span
        means = np.bincount(article, summed(evidence)) / np.bincount(article)
        raw.append(((means / evidence.rate - 1) ** 2).mean())
    assert np.mean(believed) < 0.3 * np.mean(raw), "all articles are liked alike: what differs is noise"
    found = liked_slates(rng, 2.0).before(everything, late)
    assert found[:4].min() > found[4:].max()
    assert found[:4].mean() > 0.5
    assert found[4:].mean() < 0


def test_no_reports_no_opinion():
    impressions = make_impressions([[0, 1]], [[1, 0]])
    silent = Labels(np.zeros(2, bool), np.zeros(1, bool))
    evidence = Evidence.of([(impressions, silent)], 0.0, lambda size: pytest.fail("asked for a mechanism"))
    assert evidence.before(np.array([0, 1], np.int32), np.array([5, 5])).tolist() == [0, 0]
