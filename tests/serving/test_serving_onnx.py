"""The reader encoder as an ONNX file: what PyTorch computes, a runtime without PyTorch computes."""

import dataclasses
import sys

import numpy as np
import pytest
import torch
from served_world import small_world

from discreet.errors import DiscreetError
from discreet.methods.method import TrainingTask
from discreet.methods.published.fedrec import FedRec
from discreet.methods.published.privaterec import PrivateRec
from discreet.methods.run import Run
from discreet.privacy.noise import SecureNoise
from discreet.serving.basis import BasisModel
from discreet.serving.onnx_export import export_reader, reader_attention

runtime = pytest.importorskip("onnxruntime")
METHOD = PrivateRec(rounds=4, fraction=0.3, rate=0.02, basis=4, theta=0.4, epsilon_serving=2.0)


@pytest.fixture(scope="module")
def task():
    return TrainingTask(small_world(), "hashed")


@pytest.fixture(scope="module")
def run(task):
    return Run(METHOD, METHOD.train(task, 4), "small world", 4, "hashed")


@pytest.fixture(scope="module")
def session(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "reader.onnx"
    export_reader(run, path)
    return runtime.InferenceSession(path, providers=["CPUExecutionProvider"])


def attention_of(session, clicks, mask):
    return session.run(["attention"], {"clicks": clicks, "mask": mask})[0]


@pytest.mark.parametrize("readers", [1, 2, 9])
def test_the_file_computes_what_pytorch_computes(run, session, readers):
    rng = np.random.default_rng(readers)
    length, size = reader_attention(run).network.history_length, METHOD.chosen_model.size
    clicks = (5 * rng.normal(size=(readers, length, size)) / np.sqrt(size)).astype(np.float32)
    mask = rng.random((readers, length)) < rng.random((readers, 1))
    with torch.no_grad():
        expected = reader_attention(run)(torch.from_numpy(clicks), torch.from_numpy(mask)).numpy()
    found = attention_of(session, clicks, mask)
    assert found.shape == (readers, 4)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_device_ranks_with_the_file_as_the_method_does_in_evaluation(task, run, session):
    """History to attention in ONNX, times served article scores: the scores of `PrivateRec.score`, without noise."""
    model = BasisModel.from_run(run)
    titles = task.data.articles.titles
    occurring = np.flatnonzero(task.text_vectors.matrix.any(axis=1))
    vectors = np.zeros((len(titles), METHOD.chosen_model.size), np.float32)
    vectors[occurring] = model.title_vectors([titles[row] for row in occurring])
    dev = task.data.splits["dev"]
    length = model.network.history_length
    clicks = np.zeros((len(dev.time), length, METHOD.chosen_model.size), np.float32)
    mask = np.zeros(clicks.shape[:2], np.bool_)
    for row, (start, stop) in enumerate(zip(dev.history_start, dev.history_stop, strict=True)):
        latest = dev.timeline[max(start, stop - length) : stop]
        if len(latest):
            clicks[row, -len(latest) :], mask[row, -len(latest) :] = vectors[latest], True
    assert mask.any()
    assert not mask.all()
    weights = attention_of(session, clicks, mask)
    weights *= np.minimum(1, METHOD.theta / np.linalg.norm(weights, axis=1, keepdims=True))
    scores = model.article_scores(vectors, [])[dev.shown]
    found = (scores * weights[dev.impression_of_shown]).sum(axis=1)
    expected = dataclasses.replace(METHOD, epsilon_serving=None).score(task, run.state, dev, 4)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_what_stands_behind_the_mask_does_not_matter_and_what_stands_before_it_does(session):
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 1, 25, METHOD.chosen_model.size)).astype(np.float32)
    mask = np.arange(25)[None] >= 20
    mixed = np.where(mask[..., None], one, other)
    np.testing.assert_array_equal(attention_of(session, one, mask), attention_of(session, mixed, mask))
    assert np.abs(attention_of(session, one, mask) - attention_of(session, other, mask)).max() > 1e-4


def test_the_attention_is_what_the_mechanism_takes(run, session):
    clicks = np.random.default_rng(1).normal(size=(6, 25, METHOD.chosen_model.size)).astype(np.float32)
    model = BasisModel.from_run(run)
    for weights in attention_of(session, clicks, np.ones((6, 25), np.bool_)):
        release = model.attention.release(weights, SecureNoise())
        assert len(release.values) == 4
        assert release.guarantee == model.sketch_terms.guarantee


def test_runs_without_a_basis_are_refused_and_nothing_is_written(run, tmp_path):
    with pytest.raises(DiscreetError, match="a run of fedrec has no basis"):
        export_reader(dataclasses.replace(run, method=FedRec()), tmp_path / "reader.onnx")
    assert list(tmp_path.iterdir()) == []


def test_without_onnx_one_line_says_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(DiscreetError, match=r"pip install 'discreet\[onnx\]'"):
        export_reader(run, tmp_path / "reader.onnx")
    assert list(tmp_path.iterdir()) == []
