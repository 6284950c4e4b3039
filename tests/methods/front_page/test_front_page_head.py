"""The head: what a reader contributes is bounded, noise is taken out, and its judges decide whether it ranks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests_support import make_impressions

import discreet as d
from discreet.audits.front_page import audited_log
from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.daily_budget import DailyBudget
from discreet.methods.front_page.denoised_matrix import denoised, symmetric_deviation
from discreet.methods.front_page.head import (
    head_lattice,
    head_scores,
    is_worth_its_noise,
    learn_head,
    matched,
)
from discreet.methods.front_page.head_articles import SIZE, HeadArticles, topic_rows
from discreet.methods.front_page.head_contribution import LENGTH, head_contributions, read_together
from discreet.methods.front_page.head_judges import SENSITIVITY, UNIT, judge_contributions, judged, judges
from discreet.methods.front_page.subcategories import Subcategories
from discreet.methods.front_page.symmetric import symmetric_matrix
from discreet.methods.method import TrainingTask
from discreet.privacy.guarantee import Scope
from discreet.privacy.mechanisms.gaussian import gaussian_delta
from discreet.privacy.noise import SimulatedNoise


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(400, seed=3), "hashed")


@pytest.fixture(scope="module")
def opposed(task):
    """Everybody clicks the article whose first direction is least like her own; slates, vectors and who clicked."""
    train, articles = task.data.splits["train"], HeadArticles.of(task)
    reader = mean_of_history(articles.vectors, train)[train.impression_of_shown, 0]
    liked = -reader * articles.vectors[train.shown, 0]
    clicked = liked == np.maximum.reduceat(liked, train.slate[:-1])[train.impression_of_shown]
    return replace(train, clicked=clicked), articles


def rows_of(clicks):
    data = audited_log(clicks)
    task, split = TrainingTask(data, "hashed"), data.splits["train"]
    rows = np.concatenate(list(head_contributions(split, HeadArticles.of(task), np.zeros(len(split.shown)))))
    return dict(zip(np.unique(split.reader).tolist(), rows, strict=True))


@pytest.mark.parametrize("clicks", [0, 1, 3])
def test_a_contribution_has_length_1_and_no_more_on_the_lattice(clicks):
    rows, lattice = np.stack(list(rows_of(clicks).values())), head_lattice(1.0)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0)
    squares = [sum(int(entry) ** 2 for entry in row) for row in lattice.integers(rows)]
    assert max(squares) <= lattice.unit**2


def test_what_others_contribute_does_not_depend_on_a_reader():
    one, other = rows_of(None), rows_of(1)
    assert not one[0].any(), "she read one article, and clicked on none"
    assert len(one) == len(other) > 1
    assert all(np.array_equal(one[reader], other[reader]) for reader in one if reader)


@pytest.mark.parametrize("size", [1e-45, 1e-20, 1.0, 1e20])
def test_no_reader_is_longer_than_1_whatever_the_vectors_the_history_and_the_slates(size):
    """Nor does what she contributes depend on others."""
    random, lattice = np.random.default_rng(0), head_lattice(1.0)
    vectors = (size * random.normal(size=(40, SIZE))).astype(np.float32)
    vectors[:5], vectors[5:10], vectors[10:15] = 0.0, vectors[5], -vectors[15:20]
    articles = HeadArticles(np.zeros((1, SIZE), np.float32), np.zeros(SIZE, np.float32), (), vectors)
    slates = [[7], [3], [1, 2, 30], [20, 21], [22, 23, 24], [5, 6, 7], [10, 15], [30, 31, 32]]
    clicked = [[1], [1], [0, 0, 0], [1, 1], [0, 1, 0], [1, 0, 0], [1, 0], [0, 0, 1]]
    histories = [
        [],
        [9],
        [9] * 50,
        [0, 1, 2],
        [10, 15],
        [5, 6, 7, 8],
        [*range(15)],
        random.integers(0, 40, 5000).tolist(),
    ]
    played = make_impressions(slates * 8, clicked * 8, histories=[history for history in histories for _ in range(8)])
    played = replace(played, reader=random.integers(0, 30, len(played)).astype(np.int32))
    scores = 300 * random.normal(size=len(played.shown))
    rows = np.concatenate(list(head_contributions(played, articles, scores)))
    for reader, row in zip(np.unique(played.reader), rows, strict=True):
        assert sum(number**2 for number in lattice.integers(row).tolist()) <= lattice.unit**2
        assert not row.any() or np.linalg.norm(row) == pytest.approx(1)
        mine = played.reader == reader
        (alone,) = head_contributions(played.select(mine), articles, scores[np.repeat(mine, played.slate_sizes)])
        assert np.array_equal(alone[0], row)


def test_what_is_read_together_is_the_sum_over_pairs_of_articles():
    read = np.random.default_rng(0).normal(size=(5, 4))
    pairs = sum(np.outer(read[i], read[j]) for i in range(5) for j in range(5) if i != j)
    assert read_together(read) == pytest.approx(pairs)
    assert not read_together(read[:1]).any()


def test_histories_alone_teach_a_head(task):
    """Nobody clicks on anything: what is read together still tells which articles to rank higher."""
    train, dev, articles = task.data.splits["train"], task.data.splits["dev"], HeadArticles.of(task)
    silent = replace(train, clicked=np.zeros_like(train.clicked))
    head = learn_head(silent, articles, np.zeros(len(train.shown)), 0.0, 1, SimulatedNoise(0))
    gain = ranking_metrics(matched(articles, head, dev), dev)["auc"] - 0.5
    assert gain.mean() > 5 * gain.std() / len(gain) ** 0.5


def test_a_head_learns_what_goes_together_and_one_of_noise_alone_does_not_rank(opposed):
    slates, articles = opposed
    scores = np.zeros(len(slates.shown))
    exact = learn_head(slates, articles, scores, 0.0, 1, SimulatedNoise(0))
    assert symmetric_matrix(exact)[0, 0] < 0
    added = matched(articles, exact, slates)
    assert added[slates.clicked].mean() > added[~slates.clicked].mean()
    lost = learn_head(slates, articles, scores, 1000.0, 1, SimulatedNoise(0))
    many = learn_head(slates, articles, scores, 1000.0, 10**5, SimulatedNoise(0))
    assert np.linalg.norm(many - exact) < 0.1 * np.linalg.norm(exact)
    assert np.linalg.norm(lost - exact) > 0.9 * np.linalg.norm(exact)


def test_a_spectrum_of_noise_alone_is_nothing_and_what_stands_out_is_kept():
    drawn, size, s = np.random.default_rng(0), 96, 0.1
    noise = drawn.normal(0, s, (size, size))
    noise = np.triu(noise, 1) + np.triu(noise, 1).T + math.sqrt(2) * np.diag(np.diag(noise))
    direction = np.ones(size) / math.sqrt(size)
    signal = 5 * np.outer(direction, direction)
    assert symmetric_deviation(np.linalg.norm(noise), size) == pytest.approx(s, rel=0.02)
    assert np.linalg.norm(denoised(noise, s)) < 0.25 * np.linalg.norm(noise)
    assert np.linalg.norm(denoised(signal + noise, s) - signal) < 0.5 * np.linalg.norm(noise)
    assert denoised(signal, 0.0) == pytest.approx(signal)


def test_head_and_sums_of_a_day_cost_no_more_than_the_budget():
    """By the exact δ of the Gaussian at ε₃; the sums are pure."""
    budget = DailyBudget(1.0, 1e-6, 0, head=0.8, weights=0.05)
    assert budget.popularity_price(1, teaches=True).epsilon == pytest.approx(0.15)
    assert budget.weights_epsilon(teaches=True) == pytest.approx(0.05)
    assert budget.popularity_price(1).epsilon + budget.weights_epsilon() == pytest.approx(1.0)
    assert gaussian_delta(1.0 - budget.sums_epsilon(teaches=True), budget.head_multiplier) <= 1e-6
    assert 0.999 < budget.lifetime(1, 1) <= 1 + 1e-9
    assert budget.lifetime(3, 1) <= 3 + 1e-9, "the head is paid once"
    lattice = head_lattice(budget.head_multiplier)
    assert float(lattice.party_deviation) >= budget.head_multiplier * lattice.unit


def test_both_parts_of_a_life_cost_no_more_than_the_budget():
    method = d.FrontPage(epsilon=1, max_days=6, head_share=1 / 3)
    promise = method.guarantee({"head": np.zeros(1)})
    assert 0.95 < promise.epsilon <= 1
    assert promise.scope is Scope.LIFETIME
    assert method.lifetime(6, 1 / 3) == promise.epsilon
    budget = DailyBudget(1.0, 1e-6, 6, head=1 / 3, weights=0.0)
    assert gaussian_delta(1 / 3, budget.head_multiplier) <= 0.5e-6
    assert budget.sums_epsilon() == budget.sums_epsilon(teaches=True) >= (2 / 3) / 6


def test_a_head_is_part_of_the_guarantee_whether_it_ranks_or_not(task):
    both = d.FrontPage(epsilon=1, head_share=0.25)
    assert both.budget(task).popularity_price(1, teaches=True).epsilon == 0.75
    state = both.train(task, 0)
    assert "head" not in state, "forty judges cannot tell"
    assert np.isfinite(both.score(task, state, task.data.splits["dev"], 0)).all()
    promise = both.guarantee(state)
    assert (promise.epsilon, promise.delta, promise.scope) == (1, 1e-6, Scope.DAY)
    assert "head" in promise.mechanism
    never = {"until": np.array([2**60])}
    dev = task.data.splits["dev"]
    assert np.allclose(both.log_rates(task, state, dev, 0), both.log_rates(task, never, dev, 0), atol=1e-9)


def test_days_after_the_training_have_all_of_epsilon(task):
    method = d.FrontPage(epsilon=1, head_share=0.75)
    last = int(task.data.splits["train"].time.max()) // 86400
    scales = {(w.end - 1) // 86400 > last: w.likelihood.scale for w in method.windows(task, 0)}
    assert scales[False] == pytest.approx(4 * scales[True])
    alone = d.FrontPage(epsilon=1, head_share=0)
    assert {w.likelihood.scale for w in alone.windows(task, 0)} == {scales[True]}


def test_a_share_is_spent_only_where_many_readers_outweigh_the_noise(task):
    z = DailyBudget(1.0, 1e-6, 0, head=0.8, weights=0.0).head_multiplier
    assert [is_worth_its_noise(readers, z) for readers in (1000, 3999, 4500, 10**6)] == [False, False, True, True]
    assert is_worth_its_noise(20_000, 10 * z)
    assert not is_worth_its_noise(10_000, 10 * z)
    assert is_worth_its_noise(4000, 0.0)
    assert d.FrontPage().budget(task).head == 0
    assert d.FrontPage().guarantee(d.FrontPage().train(task, 0)).delta == 0
    assert d.FrontPage(population=50_000).budget(task).head == 0.8
    assert d.FrontPage(population=50_000, max_days=6).budget(task).head == 1 / 3
    assert d.FrontPage(population=50_000, weights_share=0.5).budget(task).head == 0.4


def test_judges_find_a_good_head_and_no_bad_one(opposed):
    slates, articles = opposed
    without = np.zeros(len(slates.shown))
    good = matched(articles, learn_head(slates, articles, without, 0.0, 1, SimulatedNoise(0)), slates)
    for epsilon in (1.0, math.inf):
        gain, deviation = judged(slates, without, good, epsilon, 1, SimulatedNoise(0))
        assert gain > 2 * deviation
        gain, deviation = judged(slates, without, -good, epsilon, 1, SimulatedNoise(0))
        assert gain < -2 * deviation
    none = slates.select(np.zeros(len(slates), np.bool_))
    gain, deviation = judged(none, np.zeros(0), np.zeros(0), 1.0, 1, SimulatedNoise(0))
    assert gain < 2 * deviation


@pytest.mark.parametrize("clicks", [0, 1, 2])
def test_a_judge_gives_two_numbers_of_bounded_size(clicks):
    split = audited_log(clicks).splits["train"]
    added = np.random.default_rng(clicks).normal(size=len(split.shown))
    given = judge_contributions(split, np.zeros(len(split.shown)), added)
    assert 0 < np.abs(given).sum(axis=1).max() <= SENSITIVITY == 2 * UNIT
    assert given[:, 1] == pytest.approx(given[:, 0] ** 2 / UNIT, abs=2)


def test_a_tenth_judges_and_nobody_does_both(task):
    drawn = judges(10_000, np.random.default_rng(0))
    assert 900 < drawn.sum() < 1100
    train = task.data.splits["train"]
    judge = judges(len(task.data.readers), np.random.default_rng(0))[train.reader]
    assert not set(train.select(judge).reader.tolist()) & set(train.select(~judge).reader.tolist())


def test_topics_are_found_by_name_in_another_catalogue():
    data = audited_log(1)
    task = TrainingTask(data, "hashed")
    state = {"head": np.linspace(-1, 1, LENGTH), **HeadArticles.of(task).state(task)}
    split = data.splits["train"]
    renamed = {"0": "later", "1": "1", "2": "2"}
    other = replace(data.articles, categories=[renamed[name] for name in data.articles.categories])
    found = head_scores(TrainingTask(replace(data, articles=other), "hashed"), state, split)
    assert np.isfinite(found).all()
    mine, theirs = (
        HeadArticles.of(TrainingTask(replace(data, articles=articles), "hashed"), state)
        for articles in (data.articles, other)
    )
    same = np.array([name != "0" for name in data.articles.categories])
    assert np.array_equal(mine.vectors[same], theirs.vectors[same])
    assert not np.array_equal(mine.vectors[~same], theirs.vectors[~same])
    topics = [("a", "x"), ("a", ""), ("b", "")]
    assert topic_rows(topics, [("a", "x"), ("a", "new"), ("b", ""), ("c", "x")]).tolist() == [0, 1, 2, -1]


def test_articles_without_text_have_no_head(task):
    bare = audited_log(1)
    empty = [""] * len(bare.articles)
    data = replace(bare, articles=replace(bare.articles, titles=empty, categories=empty))
    assert d.FrontPage(head_share=0.5).budget(TrainingTask(data, "hashed")).head == 0


@pytest.mark.parametrize("share", [1.0, -0.1, "much"])
def test_refuses_a_share_that_means_nothing(share):
    with pytest.raises(DiscreetError, match="head_share"):
        d.FrontPage(head_share=share)


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
