"""Privacy by category in PrivateRec: what is told, what is kept, and what it is worth."""

import dataclasses
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.audits.paths import exact_distribution
from discreet.data.news import Impressions
from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.method import TrainingTask
from discreet.methods.published.open_categories import named_categories, only_clicks, open_articles, open_share
from discreet.methods.published.privaterec import PrivateRec
from discreet.privacy.guarantee import Unit
from discreet.privacy.mechanisms import RandomizedResponse, RandomPadding
from discreet.privacy.mechanisms.choice import ONE, exp_weight

ANONYMOUS = 3
OPEN = open_articles(["sports", "health", "health", ""], {"sports"})


def history_of(*clicks):
    """One impression with this history."""
    return Impressions(
        reader=np.zeros(1, np.int32),
        time=np.zeros(1, np.int64),
        slate=np.array([0, 1]),
        shown=np.zeros(1, np.int32),
        clicked=np.ones(1, np.bool_),
        timeline=np.array(clicks, np.int32),
        history_start=np.zeros(1, np.int64),
        history_stop=np.array([len(clicks)]),
    )


def sent(clicks, mechanism, summary):
    """The law of all that a device sends: the open clicks, and a release of the history, padded."""
    told = tuple(only_clicks(history_of(*clicks), OPEN).timeline.tolist())
    value = mechanism.checked(lambda mask: summary(np.where(mask, ANONYMOUS, clicks)))
    law = exact_distribution(lambda noise: tuple(mechanism.sample(value, noise).integers.tolist()))
    return {(told, output): chance for output, chance in law.items()}


def worst_ratio(a, b):
    return max(p / b[z] if b.get(z) else math.inf for z, p in a.items())


@pytest.mark.parametrize("summary", [lambda seen: int(seen.sum()) % 3, lambda seen: int(seen[0]) % 3])
def test_by_enumeration_a_secret_click_costs_epsilon_and_an_open_one_everything(summary):
    """Every history of two clicks, every neighbour, every output: exact probabilities of the shipped code."""
    inner = RandomizedResponse(epsilon=1.0, choices=3)
    mechanism = RandomPadding(inner=inner, padding=0.5, history_length=2)
    one = (1 + Fraction(exp_weight(1.0), ONE)) / 2  # p + (1 − p)·e^ε₀
    every = Fraction(exp_weight(1.0), ONE)
    laws = {clicks: sent(clicks, mechanism, summary) for clicks in product(range(4), repeat=2)}
    assert math.log(one) == pytest.approx(mechanism.guarantee().epsilon)
    for first, second in product(laws, repeat=2):
        ratio = worst_ratio(laws[first], laws[second])
        (told, _), (also_told, _) = next(iter(laws[first])), next(iter(laws[second]))
        if told != also_told:
            assert ratio == math.inf
        else:  # as many open clicks, the same ones: what differs is secret
            assert ratio <= (one if sum(a != b for a, b in zip(first, second, strict=True)) == 1 else every)


def test_what_is_open_is_a_function_of_open_clicks_alone():
    assert named_categories("sports + movies") == {"sports", "movies"}
    assert named_categories("") == frozenset()
    told = only_clicks(history_of(2, 0, 3, 0), OPEN)
    assert told.timeline.tolist() == [0, 0]
    assert told.history_sizes.tolist() == [2]
    assert only_clicks(history_of(1, 0, 2, 0, 1), OPEN).timeline.tolist() == [0, 0]


def test_open_clicks_count_by_how_much_noise_there_is():
    share = open_share(np.array([0, 1, 10]), 0.5)
    assert share[0] == 0
    assert 0 < share[1] < share[2] < 1
    assert open_share(np.array([10]), 0.0)[0] == 0


def test_the_guarantee_says_which_clicks_it_is_about_and_what_a_user_has():
    method = PrivateRec(epsilon_serving=1.0, open_categories="sports", calibration="exact")
    click, clicks, user = method.serving(96, 0).guarantees()
    assert click.unit is Unit.SECRET_CLICK
    assert click.epsilon == pytest.approx(1.0)
    assert "clicks on sports are sent as they are" in str(click)
    assert clicks.unit is Unit.SECRET_CLICKS
    assert clicks.epsilon == pytest.approx(math.log((math.e - 0.2) / 0.8))
    assert user.unit is Unit.USER
    assert user.epsilon == math.inf
    plain = dataclasses.replace(method, open_categories="").serving(96, 0).guarantees()
    assert [each.unit for each in plain] == [Unit.CLICK, Unit.CLICKS, Unit.USER]
    assert plain[2].epsilon == pytest.approx(clicks.epsilon)
    trained = method.guarantee({})
    assert (trained.unit, trained.epsilon, trained.claimed_epsilon) == (Unit.SECRET_CLICK, math.inf, 10.0)


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(120, seed=9), "hashed")


def test_in_training_open_clicks_are_neither_masked_nor_permuted(task):
    names = sorted(set(task.data.articles.categories))
    method = PrivateRec(rounds=1, fraction=1.0, epsilon=0.1, padding=0.9, open_categories="+".join(names[:5]))
    setup = method.setup(task, 0)
    samples = setup.clients.draw(setup.clients.choose(1.0, 0, 0, 0), 0, 0, 4)
    drawn = method.with_client_noise(samples, setup.open_articles)
    known = setup.open_articles[samples.history]
    assert known.any()
    assert (drawn.history[known] == samples.history[known]).all()
    assert (drawn.history[~known] == -1).mean() > 0.8
    labels = setup.open_articles[samples.candidates[:, 0]]
    assert labels.any()
    assert (drawn.target[labels] == 0).all()
    assert (drawn.target[~labels] != 0).any()


def test_with_all_categories_open_serving_ranks_as_the_device_does_however_much_noise(task):
    every = "+".join(sorted(set(task.data.articles.categories)))
    method = PrivateRec(rounds=20, fraction=0.3, rate=0.01, epsilon=math.inf)
    state, dev = method.train(task, 4), task.data.splits["dev"]
    exact = ranking_metrics(method.score(task, state, dev, 0), dev)["auc"].mean()
    served = dataclasses.replace(method, epsilon_serving=1e-3)
    told = dataclasses.replace(served, open_categories=every)
    aucs = [ranking_metrics(each.score(task, state, dev, 0), dev)["auc"].mean() for each in (served, told)]
    assert abs(aucs[1] - exact) < 0.01
    assert abs(aucs[1] - exact) < abs(aucs[0] - exact)
    without = dataclasses.replace(told, epsilon_serving=math.inf, padding=0.0)
    np.testing.assert_allclose(without.score(task, state, dev, 0), method.score(task, state, dev, 0))


def test_an_open_category_that_no_article_has_is_refused(task):
    with pytest.raises(DiscreetError, match="no article is of category 'sprots'; there are autos"):
        PrivateRec(rounds=1, open_categories="sprots").train(task, 0)
