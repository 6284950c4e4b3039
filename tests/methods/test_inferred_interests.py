"""Inferred interests: levels, what is learnt from bits, and the ε of a lifetime."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.data.synthetic import news_world
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import make_method
from discreet.methods.published.inferred_interests import InferredInterests


@pytest.fixture(scope="module")
def task() -> TrainingTask:
    return TrainingTask(news_world(400, seed=5), "hashed")


def test_levels_are_counts_over_the_largest_cut_evenly() -> None:
    method = InferredInterests(topics=5, levels=4)
    counts = [0, 1, 3, 6, 9]
    topic = np.repeat(np.arange(5), counts)
    assert method._levels(topic).tolist() == [0, 1, 1, 2, 3]
    assert method._levels(topic[:0]).tolist() == [0] * 5


def test_the_shares_of_levels_are_found_again_in_noised_bits() -> None:
    method = InferredInterests(epsilon=2.0, topics=2, levels=3)
    rng = np.random.default_rng(0)
    true = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    levels = np.stack([rng.choice(3, 20_000, p=row) for row in true], axis=1)
    flip = 1 / (1 + math.exp(method.epsilon / 2))
    bits = (levels[:, :, None] == np.arange(3)) ^ (rng.random((20_000, 2, 3)) < flip)
    assert np.abs(method._shares(bits) - true).max() < 0.03


def test_it_ranks_by_interests_and_noise_takes_that_away(task: TrainingTask) -> None:
    dev = task.data.splits["dev"]

    def auc(epsilon: float) -> float:
        method = InferredInterests(epsilon=epsilon)
        scores = method.score(task, method.train(task, 0), dev, 0)
        return float(ranking_metrics(scores, dev)["auc"].mean())

    without, noised = auc(math.inf), auc(0.05)
    assert without > 0.53
    assert noised < without - 0.02


def test_what_others_click_moves_nothing_but_the_shares(task: TrainingTask) -> None:
    method = InferredInterests(epsilon=1.0)
    state = method.train(task, 0)
    dev = task.data.splits["dev"]
    some = dev.select(np.arange(len(dev)) < 5)
    assert method.score(task, state, some, 0).tolist() == method.score(task, state, some, 0).tolist()
    assert method.score(task, state, some, 0).tolist() != method.score(task, state, some, 1).tolist()


def test_the_lifetime_counts_every_feature_of_every_sending() -> None:
    once = InferredInterests(epsilon=0.5, topics=2, sendings=1, days=1).guarantee({})
    assert once.epsilon == pytest.approx(1.0, abs=1e-4)
    month = InferredInterests(epsilon=1.0).guarantee({})
    assert 300 < month.epsilon < 8 * 6 * 28
    assert (str(month.unit), str(month.scope)) == ("click", "lifetime")
    assert math.isinf(make_method("inferred_interests", {"epsilon": math.inf}).guarantee({}).epsilon)
