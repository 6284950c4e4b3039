"""The exact top-k, against sorting everything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.serving.ranker import diverse_order
from discreet.serving.topk import BLOCK, ScoreTable, best


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 63, 64, 65, BLOCK - 1, BLOCK, BLOCK + 1, 3000]),
    st.integers(1, 37),
    st.integers(1, 80),
    st.sampled_from([1e-6, 1.0, 1e4]),
    st.booleans(),
)
def test_the_best_are_those_that_sorting_finds(seed, articles, dimensions, count, size, some):
    rng = np.random.default_rng(seed)
    scores = (size * rng.standard_normal((articles, dimensions))).astype(np.float32)
    scores[:, :: int(rng.integers(1, 4))] *= 1e-3
    base = rng.standard_normal(articles).astype(np.float32) * rng.choice([0, 1, 100])
    weights = rng.standard_normal(dimensions).astype(np.float32)
    allowed = rng.random(articles) < 0.5 if some else None
    rows, values = best(ScoreTable.of(scores), base, weights, count, allowed)
    exact = base.astype(np.float64) + scores.astype(np.float64) @ weights.astype(np.float64)
    exact = exact if allowed is None else np.where(allowed, exact, -np.inf)
    wanted = np.sort(exact[np.isfinite(exact)])[::-1][:count]
    slack = 1e-5 * (np.abs(base).max() + (np.abs(scores) @ np.abs(weights)).max())
    assert len(rows) == len(wanted) == len(set(rows.tolist()))
    assert np.allclose(exact[rows], wanted, rtol=0, atol=slack)
    assert np.allclose(values, exact[rows], rtol=0, atol=slack)
    assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("weight", [1.0, 0.0])
@pytest.mark.parametrize("count", [7, 300])
def test_equal_scores_go_to_the_earlier_article(weight, count):
    table = ScoreTable.of(np.ones((5 * BLOCK, 3), np.float32))
    rows, _ = best(table, np.zeros(5 * BLOCK, np.float32), np.full(3, weight), count)
    assert rows.tolist() == list(range(count))


def test_an_empty_catalogue_and_one_where_nothing_is_allowed_have_no_best():
    table = ScoreTable.of(np.zeros((0, 4), np.float32))
    assert len(best(table, np.zeros(0, np.float32), np.ones(4), 10)[0]) == 0
    table = ScoreTable.of(np.ones((10, 4), np.float32))
    assert len(best(table, np.zeros(10, np.float32), np.ones(4), 10, np.zeros(10, bool))[0]) == 0


@pytest.mark.parametrize("diversity", [0.3, 0.9])
def test_a_diverse_answer_has_more_topics_and_begins_with_the_best(diversity):
    scores = np.linspace(1, 0, 100).astype(np.float32)
    topics = np.repeat(np.arange(5), 20)
    order = diverse_order(scores, topics, 10, diversity)
    assert order[0] == 0
    assert len(set(order.tolist())) == 10
    assert len(set(topics[order])) > len(set(topics[:10]))
    assert len(set(topics[diverse_order(scores, topics, 10, 1.0)])) == 5


def test_without_diversity_the_order_is_that_of_the_scores():
    scores = np.random.default_rng(0).random(50).astype(np.float32)
    order = diverse_order(scores, np.arange(50) % 3, 50, 0.0)
    assert (np.diff(scores[order]) <= 0).all()
