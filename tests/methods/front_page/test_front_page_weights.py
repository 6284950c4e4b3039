"""Learnt weights: what a reader contributes is bounded, public weights stay unless sums speak against them."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet as d
from discreet.audits.front_page import WeightsCost, audited_log
from discreet.data.synthetic import news_world
from discreet.edge.reader.sums.weight_pull import reader_pulls
from discreet.errors import DiscreetError
from discreet.methods.front_page.history_features import device_features
from discreet.methods.front_page.learnt_weights import learn_weights, weight_contributions, weights_task
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.weight_posterior import (
    MAX_CHI_SQUARED,
    WITH_POPULARITY,
    WeightPosterior,
    WeightPrior,
)
from discreet.methods.front_page.weights import FISHER
from discreet.methods.method import TrainingTask
from discreet.privacy.guarantee import Scope
from discreet.privacy.noise import SimulatedNoise, rounded_up
from discreet.protocol.weight_cells import FEATURES, LATTICE, UNITS, max_total, read_weights, weight_cells

SENSITIVITY = weights_task(1.0).total


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(400, seed=3), "hashed")


@pytest.fixture(scope="module")
def features(task):
    train = task.data.splits["train"]
    rates = np.random.default_rng(0).normal(0, 0.4, len(train.shown))
    return np.column_stack((device_features(task, PublicArticles.of(task), train), rates))


def each_clicks(_day):
    """A slate gives a click."""
    return 1.0


def chosen_by(weights, train, features, seed=0):
    """The same slates, each with one click, drawn by these weights."""
    scores = features @ weights + np.random.default_rng(seed).gumbel(size=len(features))
    best = np.maximum.reduceat(scores, train.slate[:-1])[train.impression_of_shown]
    return replace(train, clicked=scores == best)


def rows_of(clicks):
    data = audited_log(clicks)
    task, split = TrainingTask(data, "hashed"), data.splits["train"]
    first = split.select(split.time < 86400)
    known = np.column_stack((device_features(task, PublicArticles.of(task), first), np.zeros(len(first.shown))))
    told = WeightPrior().told(-WITH_POPULARITY)
    return dict(zip(np.unique(first.reader).tolist(), weight_contributions(first, known, told), strict=True))


@pytest.mark.parametrize("clicks", [0, 1, 2])
def test_a_contribution_is_at_most_as_long_as_the_noise_is_made_for(clicks):
    assert max(np.abs(row).sum() for row in rows_of(clicks).values()) <= SENSITIVITY == weights_task(1.0).total


def test_whatever_weights_a_list_names_the_bound_holds():
    def named(weight):
        return read_weights([*(f"{name} {weight} -{weight}" for name in FEATURES), "gain"])

    assert named("9999999e999") is None
    told = named("9999999e99")
    shown, clicked = np.random.default_rng(0).normal(size=(5, len(FEATURES))), np.arange(5) == 1
    found = reader_pulls(shown, clicked, np.array([0, 5]), np.array([0]), told, LATTICE)
    assert 0 < np.abs(found).sum() <= max_total(0) * LATTICE


def test_a_reader_without_clicks_contributes_zeros_and_moves_nobody_else():
    one, other = rows_of(None), rows_of(1)
    assert not one[0].any()
    assert other[0].any()
    assert all(np.array_equal(one[reader], other[reader]) for reader in one if reader)


def test_the_noise_of_one_share_is_as_private_as_is_said():
    """By the exact probabilities of discrete Laplace noise: of all outcomes, for the longest move of one entry."""
    scale = rounded_up(Fraction(SENSITIVITY) / Fraction(0.5))
    likelier = stats.dlaplace(1 / float(scale))
    outcomes = np.arange(-3 * SENSITIVITY, 3 * SENSITIVITY, SENSITIVITY // 64)
    ratio = likelier.logpmf(outcomes) - likelier.logpmf(outcomes - SENSITIVITY)
    assert 0.4999 < np.abs(ratio).max() <= 0.5 + 1e-9


def test_the_audit_finds_the_bound_and_nothing_above_it():
    assert 0.9 < WeightsCost(1.0, logs=5).lower_bound(1e-3, 0) <= 1


def test_other_weights_are_learnt(task, features):
    train = task.data.splits["train"]
    wanted = WITH_POPULARITY * [1.0, 1.0, 3.0, -2.0, 1.0, 1.0]
    found = learn_weights(
        chosen_by(wanted, train, features), features, math.inf, each_clicks, 1, SimulatedNoise(0)
    ).weights
    before, after = (np.abs(weights - wanted)[[2, 3]] for weights in (WITH_POPULARITY, found))
    assert (after < 0.7 * before).all()


def test_public_weights_that_are_right_stay(task, features):
    train = task.data.splits["train"]
    for seed in range(3):
        clicked = chosen_by(WITH_POPULARITY, train, features, seed)
        found = learn_weights(clicked, features, math.inf, each_clicks, 1, SimulatedNoise(seed)).weights
        assert np.array_equal(found, WITH_POPULARITY)


def test_under_too_much_noise_public_weights_stay(task, features):
    train = task.data.splits["train"]
    wanted = chosen_by(np.zeros(6), train, features)
    for seed in range(3):
        found = learn_weights(wanted, features, 0.005, each_clicks, 1, SimulatedNoise(seed)).weights
        assert np.array_equal(found, WITH_POPULARITY)


def test_noise_alone_speaks_against_the_public_weights_one_time_in_a_hundred():
    rng, found = np.random.default_rng(5), 0
    for _ in range(1000):
        known = WeightPosterior()
        for _day in range(3):
            pull = rng.multivariate_normal(np.zeros(6), 50 * FISHER) / UNITS + rng.normal(0, 9, 6)
            known.update(np.append(pull, 0.0), 81.0, WITH_POPULARITY, 50)
        found += known.chi_squared > MAX_CHI_SQUARED
    assert found <= 10 + 4 * math.sqrt(10)


def test_a_candidate_that_does_not_rank_better_does_not_rank():
    known = WeightPosterior()
    away = WITH_POPULARITY * 1.5
    far = 1000 * FISHER @ (away - WITH_POPULARITY) / UNITS
    known.update(np.append(far, 0.0), 0.0, WITH_POPULARITY, 1000)
    assert not np.array_equal(known.candidate, WITH_POPULARITY)
    assert np.array_equal(known.weights, WITH_POPULARITY)
    for gain, ranks in ((-100.0, False), (110.0, False), (100.0, True)):
        known.update(np.append(np.zeros(6), gain), 0.0, known.candidate, 1000)
        assert np.array_equal(known.weights, known.candidate) == ranks


def test_a_posterior_goes_on_from_its_state():
    known = WeightPosterior()
    known.update(np.arange(7.0), 2.0, WITH_POPULARITY, 50)
    again = WeightPosterior.of(known.state(), WeightPrior())
    for one in (known, again):
        one.update(np.arange(7.0), 2.0, WITH_POPULARITY * 1.1, 50)
    assert again.chi_squared == known.chi_squared
    assert np.array_equal(again.candidate, known.candidate)
    assert (again.gain, again.least_gain) == (known.gain, known.least_gain)
    assert np.array_equal(WeightPosterior.of({}, WeightPrior(2 * WITH_POPULARITY)).weights, 2 * WITH_POPULARITY)


def test_the_weights_share_the_budget(task):
    method = d.FrontPage(epsilon=1, weights_share=0.1, head_share=0.25)
    assert method.budget(task).popularity_price(1, teaches=True).epsilon == pytest.approx(0.65)
    assert method.budget(task).weights_epsilon(teaches=True) == pytest.approx(0.1)
    promise = d.FrontPage(epsilon=1, weights_share=0.1)
    state = promise.train(task, 0)
    assert np.isfinite(promise.score(task, state, task.data.splits["dev"], 0)).all()
    said = promise.guarantee(state)
    assert (said.epsilon, said.delta, said.scope) == (1, 0, Scope.DAY)
    assert "weights" in said.mechanism
    life = d.FrontPage(epsilon=1, max_days=6, weights_share=0.1)
    divided = life.budget(task)
    assert divided.popularity_price(1).epsilon + divided.weights_epsilon() == pytest.approx(life.daily_epsilon)


def test_without_a_share_nothing_is_learnt(task):
    assert "weights" not in d.FrontPage(epsilon=1).train(task, 0)


def test_refuses_shares_of_more_than_everything():
    with pytest.raises(DiscreetError, match="weights_share"):
        d.FrontPage(head_share=0.5, weights_share=0.5)


def with_directions(count, units=1.0, head=0.0):
    return WeightPrior.with_head(WITH_POPULARITY, np.full(count, head), np.full(count, units))


def test_with_a_head_the_bound_holds_whatever_a_list_names():
    rng = np.random.default_rng(0)
    for count in (1, 48):
        for weight, unit in (("9999999e99", "0.0000001e-99"), ("0.5", "3.0"), ("-1e9", "9999999e99")):
            head = [f"head{number} {weight} 0 {unit}" for number in range(count)]
            told = read_weights([*(f"{name} {weight} 1" for name in FEATURES), *head, "gain"])
            shown, clicked = rng.normal(size=(5, len(FEATURES) + count)), np.arange(5) == 1
            found = reader_pulls(shown, clicked, np.array([0, 5]), np.array([0]), told, LATTICE)
            assert 0 < np.abs(found).sum() <= max_total(count) * LATTICE == weights_task(1.0, directions=count).total


def test_a_list_of_a_head_says_what_it_is_made_of():
    prior = with_directions(3, units=0.25, head=0.5)
    told = prior.told(prior.first + 0.125)
    assert read_weights(weight_cells(told)) == told
    cells = weight_cells(told)
    for place, lie in ((6, "head0 1 1"), (6, "head0 1 1 0"), (7, "head2 1 1 1"), (8, "head2 1 1 -1"), (6, "mean 1 1")):
        assert read_weights([*cells[:place], lie, *cells[place + 1 :]]) is None
    assert read_weights([*cells[:-1], *(f"head{number} 1 1 1" for number in range(3, 49)), "gain"]) is None


def test_a_head_that_is_right_moves_one_time_in_a_hundred():
    rng, found, prior = np.random.default_rng(6), 0, with_directions(48, units=0.02)
    drawn, scale = np.linalg.cholesky(50 * prior.fisher), prior.units * prior.unclipped
    for _ in range(300):
        known = WeightPosterior(prior)
        for _day in range(2):
            pull = drawn @ rng.normal(size=54) / scale + rng.normal(0, 3, 54)
            known.update(np.append(pull, 0.0), 9.0, prior.first, 50)
        found += known.head_chi_squared > known.max_head_chi_squared
    assert found <= 3 + 4 * math.sqrt(3)


def test_a_head_is_learnt_where_clicks_support_it_and_ranks_where_it_gains():
    prior = with_directions(8, units=0.02, head=-1.0)
    best = prior.first.copy()
    best[6:9] += 0.3 / prior.units[6:9]
    known, scale = WeightPosterior(prior), prior.units * prior.unclipped
    for gain in (0.0, 200.0, 200.0):
        at = known.candidate
        pull = 2000 * prior.fisher @ (best - at) / scale
        known.update(np.append(pull, gain), 1.0, at, 2000)
    assert np.array_equal(known.weights, known.candidate)
    assert ((known.weights - prior.first)[6:9] > 0.5 * (best - prior.first)[6:9]).all()
    again = WeightPosterior.of(known.state(), prior)
    assert np.array_equal(again.candidate, known.candidate)
    known.update(np.append(np.ones(6), 0.0), 1.0, prior.first[:6], 10)
    assert not np.array_equal(again.evidence[:6], known.evidence[:6])
    assert np.array_equal(again.evidence[6:], known.evidence[6:]), "a sum of features alone tells nothing of a head"


def test_only_weights_of_features_change_where_nobody_supports_a_head():
    prior = with_directions(8)
    known = WeightPosterior(prior)
    pull = 1000 * prior.fisher[:, 2] * 0.3 / (prior.units * prior.unclipped)
    known.update(np.append(pull, 0.0), 1.0, prior.first, 1000)
    assert known.candidate[2] > 1.5 * WITH_POPULARITY[2]
    assert np.array_equal(known.candidate[6:], prior.first[6:])


def test_the_audit_of_a_head_finds_the_bound_and_nothing_above_it():
    assert 0.9 < WeightsCost(1.0, logs=5, directions=8).lower_bound(1e-3, 0) <= 1
