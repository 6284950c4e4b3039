"""Training on noised labels: the likelihood, its gradient, and what is learnt from what."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from tests_support import make_impressions

from discreet.edge.reader.reports import label_mechanism
from discreet.methods.click_reports.collect import collect_labels
from discreet.methods.click_reports.fit import Reported, Weights, train_on_reports
from discreet.methods.click_reports.likelihood import keep_of, report_likelihoods
from discreet.privacy.mechanisms.subset_selection import SubsetSelection

epsilons = st.one_of(st.floats(0.05, 6.0), st.just(math.inf))


def random_case(seed, epsilon):
    """Some slates with reported sets, and scores of the form base + ⟨article, reader⟩."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 7, 5)
    slate = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    shown = rng.integers(0, 8, slate[-1]).astype(np.int32)
    inside = np.zeros(slate[-1], bool)
    for start, size in zip(slate, sizes, strict=False):
        told = 1 if math.isinf(epsilon) else SubsetSelection(epsilon=epsilon, choices=int(size)).subset_size
        inside[start + rng.choice(size, told, replace=False)] = True
    use = np.array([True, True, False, True, True])
    return slate, shown, inside, use, rng.normal(size=slate[-1]), rng.normal(size=(8, 3)), rng.normal(size=(5, 3))


def evaluate(slate, shown, inside, use, base, article, reader, epsilon):
    by_impression, by_row, by_article = np.zeros(len(use)), np.zeros(len(shown)), np.zeros_like(article)
    keep = keep_of(epsilon)
    report_likelihoods(slate, shown, inside, use, keep, base, article, reader, by_impression, by_row, by_article)
    return by_impression, by_row, by_article


@given(st.integers(0, 10**6), epsilons)
@settings(max_examples=40, deadline=None)
def test_the_gradient_is_that_of_the_likelihood(seed, epsilon):
    slate, shown, inside, use, base, article, reader = random_case(seed, epsilon)
    _, by_row, by_article = evaluate(slate, shown, inside, use, base, article, reader, epsilon)
    rng, step = np.random.default_rng(seed), 1e-5
    along_base, along_article = rng.normal(size=base.shape), rng.normal(size=article.shape)
    higher, lower = (
        evaluate(slate, shown, inside, use, base + way * along_base, article + way * along_article, reader, epsilon)[
            0
        ].sum()
        for way in (step, -step)
    )
    wanted = by_row @ along_base + (by_article * along_article).sum()
    assert (higher - lower) / (2 * step) == pytest.approx(wanted, rel=1e-4, abs=1e-6)


@given(st.integers(0, 10**6), st.floats(0.05, 6.0))
@settings(max_examples=40, deadline=None)
def test_the_likelihood_is_the_mechanisms_own_up_to_a_constant(seed, epsilon):
    """Here P + e^{−ε}(1 − P); there 1 + (e^ε − 1)P: a factor e^ε apart, whatever the model says."""
    slate, shown, inside, use, base, article, reader = random_case(seed, epsilon)
    found = evaluate(slate, shown, inside, use, base, article, reader, epsilon)[0]
    for i in np.flatnonzero(use):
        rows = slice(slate[i], slate[i + 1])
        chance = softmax(base[rows] + article[shown[rows]] @ reader[i])[inside[rows]].sum()
        mechanism = SubsetSelection(epsilon=epsilon, choices=int(slate[i + 1] - slate[i]))
        assert found[i] == pytest.approx(float(mechanism.log_likelihood(chance)) - epsilon, abs=1e-9)
    assert found[~use].tolist() == [0]


def test_without_noise_it_is_the_likelihood_of_the_click():
    slate, shown, inside, use, base, article, reader = random_case(3, math.inf)
    found = evaluate(slate, shown, inside, use, base, article, reader, math.inf)[0]
    rows = slice(slate[0], slate[1])
    chance = softmax(base[rows] + article[shown[rows]] @ reader[0])[inside[rows]].sum()
    assert found[0] == pytest.approx(math.log(chance))


TOPICS, COORDINATES, ARTICLES, SLATE = 4, 5, 80, 8


def reported_world(
    *,
    seed=0,
    impressions=1600,
    epsilon=math.inf,
    content=0.0,
    popular=0.0,
    towers=0.0,
    interest_scale=0.3,
    flip=0.0,
    turn=0.5,
):
    """Readers who choose by content, by a public term, or by towers; late ones like content less by `flip`."""
    rng = np.random.default_rng(seed)
    similarity = rng.normal(0, 0.25, (ARTICLES, TOPICS))
    coordinates = rng.normal(size=(ARTICLES, COORDINATES))
    term = rng.normal(size=ARTICLES)
    interest = rng.normal(0, interest_scale, (impressions, TOPICS))
    shown = np.array([rng.choice(ARTICLES, SLATE, replace=False) for _ in range(impressions)])
    meet = np.einsum("nck,nk->nc", similarity[shown], interest)
    late = np.arange(impressions)[:, None] >= turn * impressions
    utility = np.where(late, content - flip, content) * meet + popular * term[shown]
    utility = utility + towers * coordinates[shown][:, :, 0] * interest[:, :1] / interest_scale
    utility = utility + rng.gumbel(size=utility.shape)
    slates = make_impressions(shown, utility == utility.max(axis=1, keepdims=True))
    labels = collect_labels(slates, epsilon, lambda size: label_mechanism(size, epsilon), seed)
    terms = np.stack((term[slates.shown], np.zeros(len(slates.shown))), axis=1)
    return Reported(slates, labels.inside, labels.reported, terms, similarity, coordinates, interest, epsilon)


def moved(fitted):
    """How far the weights are from content alone."""
    untrained = Weights.untrained(2, COORDINATES, TOPICS)
    return np.abs(fitted.weights.flat() - untrained.flat())


def test_labels_that_say_nothing_change_next_to_nothing():
    fitted = train_on_reports(reported_world(epsilon=1e-3, content=8.0, popular=1.0))
    assert moved(fitted).max() < 0.02
    assert fitted.uses_sketches


@pytest.mark.parametrize("epsilon", [math.inf, 2.0])
def test_informative_labels_are_learnt(epsilon):
    fitted = train_on_reports(reported_world(epsilon=epsilon, content=8.0, popular=0.7, impressions=2400))
    assert fitted.weights.terms[0] == pytest.approx(0.7, abs=0.25)
    assert abs(fitted.weights.terms[1]) < 0.05, "a term that is always zero"
    assert fitted.uses_sketches
    assert fitted.gained["everything"] > fitted.gained["content"] > 0


def test_towers_are_learnt_where_content_is_no_help():
    fitted = train_on_reports(reported_world(content=0.0, towers=1.0, impressions=2400))
    assert fitted.weights.towers[0, 0] > 0.5
    assert np.abs(fitted.weights.towers[1:]).max() < 0.5 * fitted.weights.towers[0, 0]


def test_more_noise_moves_the_weights_less():
    distances = [
        moved(train_on_reports(reported_world(epsilon=epsilon, content=8.0, popular=0.7)))[1]
        for epsilon in (math.inf, 1.0, 0.1)
    ]
    assert distances == sorted(distances, reverse=True)


def test_sketches_that_say_nothing_lose_their_weight():
    reported = reported_world(content=0.0, popular=0.7, interest_scale=1.0)
    fitted = train_on_reports(reported)
    assert not fitted.uses_sketches or abs(fitted.weights.content) < 1
    assert fitted.gained["content"] < 0 < fitted.gained["no readers"]


def test_sketches_that_clearly_mislead_are_not_heeded():
    """Taste turned around in the middle: what was learnt from the earlier reports is wrong for the later ones."""
    fitted = train_on_reports(reported_world(content=8.0, flip=16.0, interest_scale=1.0))
    assert not fitted.uses_sketches
    assert fitted.gained["no readers"] > fitted.gained["everything"]
    steady = train_on_reports(reported_world(content=8.0, flip=0.0, interest_scale=1.0))
    assert steady.uses_sketches


def test_where_sketches_are_not_heeded_what_all_like_still_ranks():
    """What is learnt of readers misleads even more than content does; what is popular stays popular."""
    fitted = train_on_reports(reported_world(content=16.0, flip=20.0, turn=0.75, popular=0.7, interest_scale=1.0))
    assert not fitted.uses_sketches
    assert fitted.gained["everything"] < fitted.gained["content"] < fitted.gained["no readers"]
    assert fitted.weights.without_readers().terms[0] > 0.1


def test_too_few_reports_teach_nothing():
    reported = reported_world(impressions=150, content=8.0, popular=2.0)
    fitted = train_on_reports(reported)
    assert moved(fitted).max() == 0
    assert fitted.gained == {}
    silent = replace(reported, reported=np.zeros(150, bool))
    assert moved(train_on_reports(silent)).max() == 0


def test_unreported_impressions_do_not_matter():
    reported = reported_world(content=8.0, popular=0.7)
    some = np.arange(len(reported.reported)) % 2 == 0
    rows = np.repeat(some, SLATE)
    part = replace(reported, reported=some, inside=reported.inside & rows)
    alone = Reported(
        reported.impressions.select(some),
        reported.inside[rows],
        np.ones(int(some.sum()), bool),
        reported.terms[rows],
        reported.content,
        reported.coordinates,
        reported.interest[some],
        reported.epsilon,
    )
    assert train_on_reports(part).weights.flat() == pytest.approx(train_on_reports(alone).weights.flat(), abs=1e-6)


def test_weights_flat_and_back():
    rng = np.random.default_rng(1)
    shape = Weights.untrained(4, 6, 3)
    numbers = rng.normal(size=len(shape.flat()))
    filled = shape.filled(numbers)
    assert filled.flat().tolist() == numbers.tolist()
    assert filled.towers.shape == (6, 3)
    common = filled.without_readers()
    assert common.content == 0
    assert not common.towers.any()
    assert common.terms.tolist() == filled.terms.tolist()
    similarity, coordinates, interest = rng.normal(size=(5, 3)), rng.normal(size=(5, 6)), rng.normal(size=3)
    scores = filled.article_scores(similarity, coordinates) @ interest
    assert scores == pytest.approx(filled.content * similarity @ interest + coordinates @ filled.towers @ interest)
