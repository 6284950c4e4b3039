"""The head: what a reader contributes is bounded, noise is shrunk away, and what was learnt ranks better."""

import math
from dataclasses import replace

import numpy as np
import pytest

import discreet as d
from discreet.audits.front_page import audited_log
from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.clipping import FIXED, Clipping
from discreet.methods.front_page.head import (
    LENGTH,
    HeadArticles,
    head_contributions,
    head_scores,
    learn_head,
    sensitivity,
    shrunk,
)
from discreet.methods.front_page.subcategories import Subcategories
from discreet.methods.method import TrainingTask
from discreet.privacy.accounting.zcdp import gaussian_rho, zcdp_epsilon
from discreet.privacy.guarantee import Scope
from discreet.privacy.noise import SimulatedNoise


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(400, seed=3), "hashed")


def rows_of(clicks, clipping=FIXED):
    data = audited_log(clicks)
    task, split = TrainingTask(data, "hashed"), data.splits["train"]
    first = split.select(split.time < 86400)
    scores = np.zeros(len(first.shown))
    rows = np.concatenate(list(head_contributions(first, HeadArticles.of(task), scores, np.ones(LENGTH), clipping)))
    readers = np.unique(np.repeat(first.reader, first.slate_sizes)[first.clicked])
    return dict(zip(readers.tolist(), rows, strict=True))


@pytest.mark.parametrize(
    ("clicks", "clipping"), [(0, FIXED), (1, Clipping(0.5, 1e-3)), (2, Clipping(0.5, 0.3)), (2, Clipping(0.5, 1e3))]
)
def test_a_contribution_is_at_most_as_long_as_the_noise_is_made_for(clicks, clipping):
    lengths = [np.linalg.norm(row.astype(float)) for row in rows_of(clicks, clipping).values()]
    assert 0 < max(lengths) <= sensitivity(clipping)


def test_the_clipping_norm_finds_its_quantile():
    lengths, clipping = np.random.default_rng(0).lognormal(1.0, 0.5, 4000), Clipping.at(0.5)
    for _ in range(30):
        clipping = clipping.after(float((lengths <= clipping.norm).mean()))
    assert clipping.norm == pytest.approx(np.median(lengths), rel=0.02)
    assert Clipping.at(0.0).norm == 1
    assert Clipping(0.5, 1.0).after(-5.0).norm <= math.e


def test_what_others_contribute_does_not_depend_on_a_reader():
    one, other = rows_of(None), rows_of(1)
    assert 0 not in one
    assert all(np.array_equal(one[reader], other[reader]) for reader in one)


def test_a_head_learns_what_goes_together_and_one_of_noise_alone_does_not_rank(task):
    """Everybody clicks the article whose first direction is least like her own."""
    train, vectors = task.data.splits["train"], HeadArticles.of(task).vectors
    reader = mean_of_history(vectors, train)[train.impression_of_shown, 0]
    liked = -reader * vectors[train.shown, 0]
    clicked = liked == np.maximum.reduceat(liked, train.slate[:-1])[train.impression_of_shown]
    data = replace(task.data, splits={"train": replace(train, clicked=clicked)})
    other = TrainingTask(data, "hashed")
    scores = np.zeros(len(train.shown))
    exact = learn_head(other, scores, 0.0, 1, SimulatedNoise(0))
    assert exact["head"][0] < 0
    added = head_scores(other, exact, train)
    assert added[clicked].mean() > added[~clicked].mean()
    noise = learn_head(other, scores, 1000.0, 1, SimulatedNoise(0))
    assert np.linalg.norm(noise["head"]) < 0.2 * np.linalg.norm(exact["head"])


def test_shrinkage_keeps_what_stands_out():
    assert np.array_equal(shrunk(np.array([3.0, 4.0]), 0.0), [3, 4])
    assert shrunk(np.array([3.0, 4.0]), 12.5) == pytest.approx([1.5, 2.0])
    assert not shrunk(np.array([3.0, 4.0]), 26.0).any()
    assert not shrunk(np.zeros(2), 1.0).any()


def test_the_head_shares_the_budget(task):
    alone, both = d.FrontPage(epsilon=1), d.FrontPage(epsilon=1, head_share=0.25)
    assert alone._epsilon(task) == 1
    assert both._epsilon(task) == 0.75
    state = both.train(task, 0)
    assert np.isfinite(both.score(task, state, task.data.splits["dev"], 0)).all()
    promise = both.guarantee(state)
    assert (promise.epsilon, promise.delta, promise.scope) == (1, 1e-6, Scope.DAY)
    assert "head" in promise.mechanism
    assert zcdp_epsilon(gaussian_rho(both._head_multiplier(0.25)), 1e-6) <= 0.25


def test_both_parts_of_a_life_cost_no_more_than_the_budget():
    method = d.FrontPage(epsilon=1, max_days=6, head_share=1 / 3)
    promise = method.guarantee({"head": np.zeros(1)})
    assert 0.95 < promise.epsilon <= 1
    assert promise.scope is Scope.LIFETIME
    assert method.lifetime(6, 1 / 3) == promise.epsilon
    assert math.isfinite(method._head_multiplier(1 / 3))


def test_articles_without_text_have_no_head(task):
    bare = audited_log(1)
    empty = [""] * len(bare.articles)
    data = replace(bare, articles=replace(bare.articles, titles=empty, categories=empty))
    assert d.FrontPage(head_share=0.5)._head_share(TrainingTask(data, "hashed")) == 0


def test_a_head_is_learnt_with_a_quantile_too():
    few = TrainingTask(audited_log(1), "hashed")
    scores = np.zeros(len(few.data.splits["train"].shown))
    assert learn_head(few, scores, 1.0, 1, SimulatedNoise(0), quantile=0.5)["head"].shape == (LENGTH,)
    with pytest.raises(DiscreetError, match="head_quantile"):
        d.FrontPage(head_quantile=1.0)


def test_refuses_a_share_of_everything():
    with pytest.raises(DiscreetError, match="head_share"):
        d.FrontPage(head_share=1.0)


def test_affinity_to_a_subcategory_is_within_its_category():
    table = Subcategories(np.array([0, 0, 1, 2, -1]), np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0]))
    everything = np.arange(5, dtype=np.int32)
    assert not table.affinity(np.zeros(0, np.int32), everything).any()
    assert not table.affinity(np.array([4], np.int32), everything).any()
    found = table.affinity(np.array([0, 1, 1], np.int32), everything)
    assert found[0] == found[1] == pytest.approx(math.log(3.5 / 4 / 0.5))
    assert found[2] == pytest.approx(math.log(0.5 / 4 / 0.5))
    assert found[3] == found[4] == 0


def test_subcategories_count_only_where_most_articles_have_one():
    bare = audited_log(1)
    names = [f"sub {i % 4}" for i in range(len(bare.articles))]
    for named, count in ((12, True), (3, False)):
        some = [name if i < named else "" for i, name in enumerate(names)]
        data = replace(bare, articles=replace(bare.articles, subcategories=some))
        assert (Subcategories.of(TrainingTask(data, "hashed")).number >= 0).any() == count
