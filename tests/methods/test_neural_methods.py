"""The methods that train a model: what they learn, cost and rank with, on a small generated world."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.methods.learnt import parameter_count
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import make_method
from discreet.methods.published.centralized import Centralized
from discreet.methods.published.dp_fedrec import DPFedRec
from discreet.methods.published.fednewsrec import FedNewsRec
from discreet.methods.published.fedrec import FedRec
from discreet.methods.published.noised_gradients import add_gaussian
from discreet.methods.published.privaterec import PrivateRec
from discreet.methods.published.serving import attention_noise_scale
from discreet.methods.settings import settings_of
from discreet.privacy.guarantee import Scope, Status, Unit
from discreet.privacy.mechanisms.gaussian import gaussian_delta
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.training.rounds import Server

METHODS = {method.name: method for method in (Centralized, FedRec, FedNewsRec, DPFedRec, PrivateRec, DPFedAvg)}


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(120, seed=9), "hashed")


@pytest.fixture(scope="module")
def tiny():
    """Few readers and articles: enough where nothing need be learnt."""
    return TrainingTask(news_world(60, train_days=2, history_days=4, articles_per_day=20, seed=9), "hashed")


TABLE_2 = ("fm", "dfm", "ebnr", "dkn", "dan", "npa")
TRAINS = [(name, model) for name in METHODS for model in ("plm_nr", "nrms", "naml", "fednewsrec", "bilinear")]
TRAINS += [(name, model) for name in ("centralized", "fedrec", "dp_fedrec") for model in TABLE_2]
TRAINS += [("privaterec", "npa"), ("dp_fedavg", "npa"), ("dp_fedavg", "dkn")]


@pytest.mark.parametrize(("name", "model"), TRAINS)
def test_every_method_trains_every_model_and_ranks_with_it(tiny, name, model):
    method = METHODS[name](model=model, rounds=2, fraction=0.2)
    state = method.train(tiny, 1)
    scores = method.score(tiny, state, tiny.data.splits["dev"], 1)
    assert scores.shape == tiny.data.splits["dev"].shown.shape
    assert np.isfinite(scores).all()
    assert len(state["losses"]) >= 2


@pytest.mark.parametrize("name", METHODS)
def test_same_seed_same_weights_other_seed_other_weights(tiny, name):
    method = METHODS[name](rounds=3, fraction=0.2)
    one, again, other = (method.train(tiny, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one[key], again[key], equal_nan=True) for key in one)
    assert any(not np.array_equal(one[key], other[key], equal_nan=True) for key in one)


def test_the_latest_impressions_choose_the_pass_and_then_train_too(task, monkeypatch):
    method = Centralized(rounds=30, fraction=0.1, batch=20, validation=0.25)
    measured = []

    def auc(scores, impressions):
        measured.append(impressions)
        return {"auc": np.array([0.6 if len(measured) == 2 else 0.5])}

    monkeypatch.setattr("discreet.methods.published.centralized.ranking_metrics", auc)
    state = method.train(task, 1)
    steps = len(state["losses"])  # of two passes, while as many as 30 were measured
    assert steps == 2 * (30 // len(measured))
    train = task.data.splits["train"]
    assert all(0.2 * len(train) < len(later) < 0.35 * len(train) for later in measured)
    assert min(later.time.min() for later in measured) >= np.quantile(train.time, 0.7)
    two = dataclasses.replace(method, rounds=steps, validation=0.0).train(task, 1)
    for key in two.keys() - {"watched"}:
        assert np.array_equal(state[key], two[key], equal_nan=True), key
    with pytest.raises(DiscreetError, match="validation at least 0 and below 1"):
        Centralized(validation=1.0)


@pytest.mark.parametrize("name", METHODS)
def test_a_resumed_training_ends_as_one_that_was_never_interrupted(tiny, name, tmp_path, monkeypatch):
    method = METHODS[name](rounds=6, fraction=0.2)
    whole = method.train(tiny, 1)
    checkpoint = tmp_path / "training.checkpoint"
    step = Server.step

    def until_three(self, result):
        if self.state.round == 3:
            raise KeyboardInterrupt
        step(self, result)

    monkeypatch.setattr(Server, "step", until_three)
    with pytest.raises(KeyboardInterrupt):
        method.train(tiny, 1, checkpoint)
    monkeypatch.undo()
    resumed = method.train(tiny, 1, checkpoint)
    for key in whole.keys() - {"watched"}:
        assert np.array_equal(whole[key], resumed[key], equal_nan=True), key
    with pytest.raises(DiscreetError, match="another training"):
        method.train(tiny, 2, checkpoint)


def test_training_without_noise_learns(task):
    untrained = FedRec(rounds=1, fraction=0.02, rate=1e-9)
    trained = FedRec(rounds=60, fraction=0.3, rate=2e-3)
    losses = trained.train(task, 3)["losses"]
    assert losses[-10:].mean() < losses[:10].mean() - 0.02
    assert untrained.train(task, 3)["losses"][0] > losses[-10:].mean()


def test_guarantees_state_what_is_claimed_and_what_holds(task):
    fednewsrec = FedNewsRec(rounds=5, fraction=0.1)
    state = fednewsrec.train(task, 1)
    told = fednewsrec.guarantee(state)
    assert told.status is Status.CLAIMED
    assert told.claimed_epsilon == pytest.approx(2 * 0.005 / 0.015)
    assert told.epsilon == pytest.approx(told.claimed_epsilon * parameter_count(state) * 5)

    dp_fedrec = DPFedRec(rounds=5, fraction=0.1, epsilon=10.0)
    told = dp_fedrec.guarantee(state)
    assert told.epsilon == pytest.approx(10 * math.sqrt(parameter_count(state)) * 5)
    assert told.unit is Unit.USER
    exact = dataclasses.replace(dp_fedrec, calibration=Calibration.EXACT).guarantee(state)
    assert exact.status is Status.PROVED
    assert exact.epsilon == 50

    private = PrivateRec(rounds=5, epsilon=1.0).guarantee({})
    assert private.claimed_epsilon == 1
    assert private.epsilon == math.inf
    assert private.scope is Scope.LIFETIME
    assert FedRec().guarantee({}).epsilon == math.inf
    assert Centralized().guarantee({}) is None


def test_exact_calibration_has_more_noise_than_the_paper():
    coordinates = 10_000
    for method in (FedNewsRec(epsilon=1.0), DPFedRec(epsilon=1.0)):
        exact = dataclasses.replace(method, calibration=Calibration.EXACT)
        assert exact.noise_scale(coordinates) > 50 * method.noise_scale(coordinates)
        assert dataclasses.replace(method, epsilon=math.inf).noise_scale(coordinates) == 0


def test_gaussian_noise_is_claimed_by_the_papers_formula_and_true_by_the_analytic_one():
    state = {"weight": np.zeros(9, np.float32)}
    paper = DPFedRec(rounds=4, epsilon=10.0, delta=1e-5)
    assert paper.noise_scale(9) == pytest.approx(2 * 0.005 / 10 * math.sqrt(2 * math.log(1.25e5)))
    told = paper.guarantee(state)
    assert (told.claimed_epsilon, told.delta, told.status) == (10.0, 1e-5, Status.CLAIMED)
    assert gaussian_delta(told.epsilon, paper.noise_scale(9) / (2 * 0.005 * 2)) == pytest.approx(1e-5, rel=1e-6)
    exact = dataclasses.replace(paper, calibration=Calibration.EXACT, rounds=1)
    assert exact.guarantee(state).epsilon == pytest.approx(10.0, rel=1e-6)
    assert exact.noise_scale(9) == exact.noise_scale(10**6)  # Gaussian noise does not grow with the dimension
    served = dataclasses.replace(paper, epsilon_serving=10.0)
    assert served.serving(400, 0).guarantee().epsilon > 10
    assert dataclasses.replace(served, calibration=Calibration.EXACT).serving(400, 0).guarantee().epsilon == 10
    attention = PrivateRec(epsilon_serving=10.0, delta=1e-5).serving(96, 0)
    assert (attention.guarantee().claimed_epsilon, attention.guarantee().delta) == (pytest.approx(10), 1e-5)
    with pytest.raises(DiscreetError, match="Gaussian"):
        PrivateRec(delta=0.5)


def test_summed_gaussian_noise_has_the_spread_of_the_clients_noise(task):
    setup = DPFedRec(rounds=1).setup(task, 1)
    gradient = {"a": torch.zeros(200, 200)}
    add_gaussian(gradient, 0.5, np.array([1.0, 2.0, 2.0]), setup, 1)
    assert gradient["a"].std().item() == pytest.approx(0.5 * 3, rel=0.02)


def test_a_noise_scale_in_place_of_epsilon_is_claimed_as_the_papers_do():
    method = FedNewsRec(laplace_scale=0.015)
    assert method.epsilon == pytest.approx(2 * 0.005 / 0.015)
    assert method.noise_scale(10**6) == pytest.approx(0.015)
    told = method.guarantee({"weight": np.zeros(9, np.float32)})
    assert told.epsilon == pytest.approx(9 * 300 * told.claimed_epsilon)
    assert DPFedRec(laplace_scale=0.001).epsilon == pytest.approx(10)
    private = PrivateRec(laplace_scale=0.3)
    assert private.epsilon == pytest.approx(math.log(0.2 + 0.8 * math.exp(1 / 0.3)))
    scale = attention_noise_scale(private.epsilon, 3, 1.0, 0.2, Calibration.PAPER)
    assert scale == pytest.approx(0.3, rel=1e-3)
    assert make_method("fednewsrec", settings_of(method)) == method
    for wrong in ({"laplace_scale": 0.0}, {"laplace_scale": 0.1, "calibration": "exact"}):
        for kind in (FedNewsRec, DPFedRec, PrivateRec):
            with pytest.raises(DiscreetError, match="laplace_scale"):
                kind(**wrong)


def test_privaterec_keeps_labels_as_algorithm_3_says():
    keep = PrivateRec(epsilon=1.0, negatives=4).keep_probability(np.array([37, 5, 2]))
    beta = max(0.0, math.log(4 / 36 * math.e))
    assert keep[0] == pytest.approx(math.exp(beta) / (4 + math.exp(beta)))
    assert keep[1] == pytest.approx(math.e / (4 + math.e))
    assert PrivateRec(epsilon=100.0).keep_probability(np.array([37]))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [FedNewsRec, DPFedRec])
@pytest.mark.parametrize("calibration", list(Calibration))
def test_negatives_from_other_readers_histories_leave_no_guarantee(kind, calibration):
    state = {"weight": np.zeros(9, np.float32)}
    method = kind(rounds=5, epsilon=1.0, calibration=calibration)
    assert math.isfinite(method.guarantee(state).epsilon)
    assert dataclasses.replace(method, history_clicks=1).guarantee(state).epsilon == math.inf


def test_serving_noise_hurts_and_its_guarantee_is_printed_beside_the_claim(task):
    method = PrivateRec(rounds=40, fraction=0.3, rate=2e-3, epsilon=math.inf)
    state = method.train(task, 4)
    exact = method.score(task, state, task.data.splits["dev"], 0)
    clean = dataclasses.replace(method, epsilon_serving=math.inf, padding=0.0)
    np.testing.assert_allclose(clean.score(task, state, task.data.splits["dev"], 0), exact)
    noisy = dataclasses.replace(method, epsilon_serving=1e-4)
    assert np.isfinite(noisy.score(task, state, task.data.splits["dev"], 0)).all()
    assert not np.allclose(noisy.score(task, state, task.data.splits["dev"], 0), exact)
    told = dataclasses.replace(method, epsilon_serving=10.0).serving(96, 0).guarantee()
    assert told.claimed_epsilon == pytest.approx(10)
    assert told.epsilon == pytest.approx(20.2, abs=0.05)
    vdp = dataclasses.replace(DPFedRec(), epsilon_serving=10.0).serving(400, 0).guarantee()
    assert vdp.epsilon == pytest.approx(200)


def test_a_noised_vector_at_a_small_budget_ranks_by_chance(task):
    method = DPFedRec(rounds=1, fraction=0.1, epsilon_serving=0.05)
    dev = task.data.splits["dev"]
    scores = method.score(task, method.train(task, 4), dev, 0)
    auc = ranking_metrics(scores, dev)["auc"]
    assert abs(auc.mean() - 0.5) < 4 * auc.std() / math.sqrt(len(auc))


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "nothing"},
        {"preset": "huge"},
        {"rounds": 0},
        {"fraction": 0.0},
        {"rate": -1.0},
        {"epsilon": 0.0},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon_serving": 0.0},
        {"calibration": "hopeful"},
    ],
)
def test_bad_settings_are_refused_before_any_training(settings):
    with pytest.raises(DiscreetError):
        PrivateRec(**settings)
