"""FCF and Uni-FedRec: their gradients by hand, what they cost, and that they go on after an interruption."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from resumed_training import resumed

from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.methods.learnt import parameter_count
from discreet.methods.method import TrainingTask
from discreet.methods.published.fcf import FCF, ClickLists
from discreet.methods.published.fedrec import FedRec
from discreet.methods.published.uni_fedrec import UniFedRec
from discreet.privacy.guarantee import Status
from discreet.privacy.mechanisms.mechanism import Calibration

RESUMED = [
    FCF(rounds=4),
    UniFedRec(model="plm_nr", rounds=4, fraction=0.1),
    FedRec(model="dkn", rounds=4, fraction=0.1),
    FedRec(model="npa", rounds=4, fraction=0.1),
]


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(60, seed=9), "hashed")


def test_fcf_sends_the_papers_gradient():
    rng = np.random.default_rng(0)
    items = rng.normal(size=(7, 3))
    clicks = ClickLists.of(np.array([0, 0, 1, 1, 1]), np.array([2, 5, 0, 2, 6]), 2, 7)
    method = FCF(factors=3, alpha=2.0, regularisation=0.5)
    found = method.gradient(items, clicks, np.array([0, 1])).direction["items"].numpy()
    expected = 2 * 0.5 * items
    for clicked in ([2, 5], [0, 2, 6]):
        p = np.isin(np.arange(7), clicked).astype(float)
        c = 1 + 2.0 * p
        x = np.linalg.solve(items.T @ (c[:, None] * items) + 0.5 * np.eye(3), items.T @ (c * p))
        expected -= 2 * (c * (p - items @ x))[:, None] * x
    np.testing.assert_allclose(found, expected / 2, rtol=1e-10)


def test_fcf_learns_who_clicks_what(task):
    method = FCF(rounds=30, fraction=0.5)
    state = method.train(task, 1)
    train = task.data.splits["train"]
    scores = method.score(task, state, train, 1)
    assert scores[train.clicked].mean() > scores[~train.clicked].mean() + 0.02
    assert method.guarantee(state).epsilon == math.inf
    few = dataclasses.replace(task.data.articles, ids=[f"new {i}" for i in range(len(task.data.articles))])
    unknown = TrainingTask(dataclasses.replace(task.data, articles=few), "hashed")
    assert not method.score(unknown, state, train, 1).any()


@pytest.mark.parametrize("method", RESUMED)
def test_a_resumed_training_ends_as_one_that_was_never_interrupted(task, method, tmp_path):
    whole = method.train(task, 1)
    again = resumed(method, task, tmp_path / "checkpoint")
    assert all(np.array_equal(whole[key], again[key], equal_nan=True) for key in whole.keys() - {"watched"})
    with pytest.raises(DiscreetError, match="another training"):
        method.train(task, 2, tmp_path / "checkpoint")


def test_uni_fedrec_ranks_on_the_device_and_recalls_at_the_server(task):
    method = UniFedRec(model="plm_nr", rounds=2, fraction=0.1)
    state = method.train(task, 1)
    dev = task.data.splits["dev"].select(np.arange(20))
    own, recalled, noised = (
        dataclasses.replace(method, epsilon_serving=epsilon).score(task, state, dev, 1)
        for epsilon in (None, math.inf, 0.1)
    )
    assert np.isfinite(own).all()
    assert len({scores.tobytes() for scores in (own, recalled, noised)}) == 3
    share = method.recall_at(task, state, dev, 50)
    assert share.shape == (20,)
    assert np.nanmax(share) <= 1
    assert np.nanmin(method.recall_at(task, state, dev, 10**6)) == 1


def test_uni_fedrec_says_what_it_claims_and_what_holds():
    method = UniFedRec(rounds=5, epsilon=1.0, interests=4, epsilon_serving=2.0)
    state = {"weight": np.zeros(9, np.float32)}
    told = method.guarantee(state)
    assert (told.claimed_epsilon, told.epsilon, told.status) == (1.0, pytest.approx(9 * 5), Status.CLAIMED)
    served = method.serving(8, 0)
    assert (served.guarantee().claimed_epsilon, served.guarantee().epsilon) == (2.0, 8.0)
    exact = dataclasses.replace(method, calibration=Calibration.EXACT)
    assert exact.serving(8, 0).scale == 4 * served.scale
    assert exact.serving(8, 0).guarantee().status is Status.PROVED
    assert exact.noise_scale(parameter_count(state)) == 9 * method.noise_scale(parameter_count(state))


def test_two_histories_move_all_mixtures_by_2k_and_no_more():
    """What is noised, taken from the shipped path with hardly any noise: readers at opposite corners are 2K apart."""
    method = UniFedRec(interests=4, basis=5, epsilon_serving=1e12)
    basis = torch.eye(5)
    corners = torch.stack([1e3 * basis[0].repeat(4), 1e3 * basis[1].repeat(4)])
    sent = method.serving(20, 0)({"basis": basis}, corners)  # a mixture of the unit vectors is its weights
    assert (sent[0] - sent[1]).abs().sum().item() == pytest.approx(2 * 4, abs=1e-3)


def test_models_without_a_readers_vector_are_refused():
    with pytest.raises(DiscreetError, match="model dkn has none of their own"):
        UniFedRec(model="dkn")
