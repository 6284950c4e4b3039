"""A run of PrivateRec behind the server: what it ranks, what it takes, and what it honestly promises."""

import base64
import dataclasses
import math
import uuid

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from served_world import serving, small_service, small_world

from discreet.edge.reader.reports import sketch_mechanism
from discreet.errors import DiscreetError
from discreet.methods.learnt import trained_parameters
from discreet.methods.method import TrainingTask
from discreet.methods.published.fedrec import FedRec
from discreet.methods.published.privaterec import PrivateRec
from discreet.methods.run import Run
from discreet.methods.setup import article_table
from discreet.models.features import encode_all
from discreet.privacy.mechanisms.attention import ClippedAttention, positive_weights, private_attention
from discreet.privacy.noise import SecureNoise
from discreet.serving.basis import BasisModel
from discreet.serving.model import load_served

METHOD = PrivateRec(rounds=3, fraction=0.2, basis=5, epsilon=10.0, epsilon_serving=2.0)


def trained(method, seed=4):
    task = TrainingTask(small_world(), "hashed")
    return Run(method, method.train(task, seed), "small world", seed, "hashed")


@pytest.fixture(scope="module")
def run():
    return trained(METHOD)


@pytest.fixture(scope="module")
def model(run):
    return BasisModel.from_run(run)


@pytest.fixture(scope="module")
def service(model, tmp_path_factory):
    return small_service(tmp_path_factory.mktemp("served"), model=model, ranking="server")


@pytest.fixture(scope="module")
def client(service):
    with serving(service) as base, httpx.Client(base_url=base) as client:
        yield client


@pytest.fixture(scope="module")
def about(client):
    return client.get("/v1/model").json()


def text(release):
    return base64.b64encode(release.to_bytes()).decode()


def noised(attention, epsilon=2.0, theta=1.0, **settings):
    mechanism = ClippedAttention(epsilon=epsilon, theta=theta, dimension=len(attention), **settings)
    return mechanism.release(np.array(attention), SecureNoise())


def ask(client, about, *releases, **fields):
    sketches = [{"epoch": epoch, "release": text(release)} for epoch, release in enumerate(releases)]
    return client.post("/v1/recommend", json={"space": about["space"], "sketches": sketches, **fields})


def refused(answer, words):
    assert answer.status_code == 422, answer.text
    assert words in answer.json()["error"]


def test_articles_are_what_the_trained_encoder_makes_of_their_titles(run, model):
    task = TrainingTask(small_world(), "hashed")
    occurring = np.flatnonzero(task.text_vectors.matrix.any(axis=1))
    table = article_table(task, METHOD.needs)
    exact = encode_all(model.network, table, occurring).numpy()
    served = model.title_vectors([task.data.articles.titles[row] for row in occurring])
    np.testing.assert_allclose(served, exact, atol=1e-5)
    np.testing.assert_allclose(model.article_scores(served, []), exact @ run.state["basis"].T, atol=1e-4)


def test_an_article_without_a_title_is_the_anonymous_one(run, model):
    parameters = trained_parameters(run.state)
    anonymous = parameters["projection.weight"] @ parameters["padding"]
    np.testing.assert_allclose(model.title_vectors([""])[0], anonymous.numpy(), atol=1e-6)
    assert model.title_vectors([]).shape == (0, METHOD.chosen_model.size)


@given(st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=5), min_size=1, max_size=12))
def test_base_and_interest_are_together_the_product_with_the_reconstructed_reader(model, payloads):
    vectors = np.random.default_rng(len(payloads)).normal(size=(7, METHOD.chosen_model.size)).astype(np.float32)
    fixed = model.fixed_scores(vectors, [""] * 7)
    none = np.zeros(7, np.int64)
    base = model.base_scores(fixed, none, none, none, np.zeros(7), 0)
    interest = model.interest(np.sum(payloads, axis=0), None, len(payloads))
    weights = positive_weights(np.mean(payloads, axis=0) * model.attention.step)
    reader = weights @ model.space.vectors
    np.testing.assert_allclose(base + model.article_scores(vectors, []) @ interest, vectors @ reader, atol=1e-3)


def test_open_clicks_alone_are_shares_and_no_clicks_are_the_mean_reader(model):
    np.testing.assert_allclose(model.interest(np.array([0, 3, 0, 1, 0]), None, 0), [-0.2, 0.55, -0.2, 0.05, -0.2])
    np.testing.assert_allclose(model.interest(np.zeros(5, np.int64), None, 0), 0, atol=1e-15)


def test_the_best_articles_for_what_was_released_come_in_order(client, about, service, model):
    releases = [noised([0.9, 0.1, 0, 0, 0]), noised([0.6, 0.2, 0.2, 0, 0])]
    answer = ask(client, about, *releases, limit=10).json()
    assert answer["personal"] is True
    weights = positive_weights(np.mean([release.values for release in releases], axis=0))
    snapshot = service.updater.snapshot
    scores = snapshot.scores.exact @ weights
    best = np.sort(scores)[::-1][:10]
    place = {article: row for row, article in enumerate(snapshot.ids)}
    np.testing.assert_allclose([scores[place[a["id"]]] for a in answer["articles"]], best, atol=1e-4)


def test_who_sends_nothing_is_ranked_for_with_the_mean_basis_vector(client, about, service):
    answer = ask(client, about, limit=5).json()
    assert answer["personal"] is False
    best = np.sort(service.updater.snapshot.scores.exact.mean(axis=1))[::-1][:5]
    np.testing.assert_allclose([article["base"] for article in answer["articles"]], best, atol=1e-4)


def test_only_the_release_that_was_asked_for_is_taken(client, about):
    even = [0.2] * 5
    assert ask(client, about, noised(even)).status_code == 200
    refused(ask(client, about, noised(even, epsilon=1.0)), "epsilon 1; /v1/model asks for 2")
    refused(ask(client, about, noised(even, calibration="paper")), "guarantee")
    refused(ask(client, about, noised(even, delta=1e-6)), "delta")
    refused(ask(client, about, noised(even, theta=0.01)), "step")
    refused(ask(client, about, noised([1 / 6] * 6)), "6 integers; this space has 5")
    refused(ask(client, about, sketch_mechanism(5, 2.0).release(np.array([1]), SecureNoise())), "mechanism topic")
    padded = private_attention(epsilon=2.0, dimension=5, padding=0.2, history_length=25)
    refused(ask(client, about, padded.release(lambda mask: np.array(even), SecureNoise())), "padding")
    told = {"epoch": 1, "clicks": 3, "release": text(noised(even))}
    refused(client.post("/v1/recommend", json={"space": about["space"], "sketches": [told]}), "send null")


def test_a_budget_written_without_a_decimal_point_is_the_same_budget(run):
    whole, broken = (BasisModel.from_run(changed(run, epsilon_serving=value)) for value in (2, 2.0))
    release = broken.attention.release([0.2] * 5, SecureNoise())
    np.testing.assert_array_equal(whole.sketch_terms.total([text(release)]), release.payload.integers)
    assert repr(whole.epsilon_sketch) == "2.0"


def test_integers_that_noise_cannot_have_made_are_refused(client, about, model, monkeypatch):
    mechanism = dataclasses.replace(model.attention)
    far = math.ceil(65 * float(mechanism.scale)) + math.ceil(1 / mechanism.step)

    monkeypatch.setattr(SecureNoise, "discrete_laplace", lambda self, scale, count: np.full(count, far, np.int64))
    refused(ask(client, about, mechanism.release([0.2] * 5, SecureNoise())), "cannot have made")


def test_the_model_says_that_serving_is_proved_and_training_is_not(about):
    assert (about["kind"], about["topics"]) == ("basis", 5)
    assert about["epsilon"] == {"sketch": 2.0, "label": 0.0, "lifetime": "inf"}
    assert [ranking["epsilon"] for ranking in about["rankings"]] == [0, 2.0, 2.0]
    training, release = about["guarantee"], about["attention"]["guarantee"]
    assert (training["epsilon"], training["status"], training["claimed_epsilon"]) == ("inf", "claimed", 10.0)
    assert (training["scope"], release["scope"]) == ("lifetime", "one release")
    assert (release["epsilon"], release["status"], release["unit"]) == (2.0, "proved", "click")
    mechanism = ClippedAttention(epsilon=2.0, theta=about["attention"]["theta"], dimension=5)
    assert mechanism.step == about["attention"]["step"]
    words = " ".join(about["words"])
    assert "noised there first: ε = 2 per click" in words
    assert "Training this model was not protected: claimed ε = 10, true ε = ∞" in words
    assert "counted once in a noised sketch" not in words


def test_no_reports_are_asked_for_and_none_are_taken(client, about):
    answer = ask(client, about, limit=3).json()
    slate = {"id": answer["slate"], "articles": [a["id"] for a in answer["articles"]], "signature": answer["signature"]}
    report = {"id": uuid.uuid4().hex, "kind": "label", "model": about["model"], "slate": slate, "release": ""}
    refusal = client.post("/v1/reports", json=report)
    assert (refusal.status_code, refusal.json()["error"]) == (403, "this server takes no reports")
    assert about["reports"] is False


def test_a_saved_run_is_served_under_the_same_names_and_another_under_others(run, model, tmp_path):
    run.save(tmp_path / "run")
    loaded = load_served(tmp_path / "run")
    assert isinstance(loaded, BasisModel)
    assert (loaded.version, loaded.space.version) == (model.version, model.space.version)
    titles = list(small_world().articles.titles)[:20]
    np.testing.assert_array_equal(loaded.title_vectors(titles), model.title_vectors(titles))
    other = BasisModel.from_run(trained(METHOD, seed=5))
    assert other.version != model.version
    assert other.space.version != model.space.version


def changed(run, **settings):
    return dataclasses.replace(run, method=dataclasses.replace(run.method, **settings))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda run: changed(run, epsilon_serving=None), "no budget for serving"),
        (lambda run: changed(run, epsilon_serving=math.inf), "no budget for serving"),
        (lambda run: changed(run, model="nrms"), "model nrms cannot be served"),
        (lambda run: dataclasses.replace(run, method=FedRec()), "a run of fedrec has no basis"),
        (
            lambda run: dataclasses.replace(run, state={k: v for k, v in run.state.items() if k != "text_centre"}),
            "train it again",
        ),
    ],
)
def test_runs_that_cannot_be_served_are_refused_in_one_line(run, broken, words):
    with pytest.raises(DiscreetError, match=words) as caught:
        BasisModel.from_run(broken(run))
    assert "\n" not in str(caught.value)


def test_other_title_vectors_than_those_of_training_are_refused(model):
    other = dataclasses.replace(model, text_centre=np.zeros(7, np.float32))
    with pytest.raises(DiscreetError, match="512 dimensions here and had 7 in training"):
        other.title_vectors(["A title"])
