"""Which methods a comparison runs, with which settings."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from tests_support import make_articles, make_impressions, make_news

import discreet
from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.experiments import provenance
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.ranking_comparison import compare, variants, with_serving
from discreet.methods.baselines import Content
from discreet.methods.method import TrainingTask
from discreet.methods.published.dp_fedrec import DPFedRec
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.text.encode import WORD_VECTORS_VARIABLE


def test_a_setting_goes_to_those_that_have_it_and_a_named_one_to_one_method():
    fedrec, private, content = variants(
        ["fedrec", "privaterec", "content"], {"rounds": 7, "rate": 0.5, "privaterec.rate": 0.1, "basis": 5}, []
    )
    assert (fedrec.rounds, fedrec.rate) == (7, 0.5)
    assert (private.rounds, private.rate, private.basis) == (7, 0.1, 5)
    assert content.name == "content"


def test_a_method_with_a_budget_stands_once_for_each():
    made = list(variants(["content", "privaterec"], {}, [1.0, math.inf]))
    assert [(method.name, method.epsilon) for method in made] == [
        ("content", None),
        ("privaterec", 1.0),
        ("privaterec", math.inf),
    ]


def test_no_method_stands_twice():
    made = list(variants(["content", "privaterec", "content"], {}, [1.0, 3.0, 1.0]))
    assert [(method.name, method.epsilon) for method in made] == [
        ("content", None),
        ("privaterec", 1.0),
        ("privaterec", 3.0),
    ]


@pytest.mark.parametrize("setting", ["colour", "fedrec.colour", "content.rate"])
def test_a_setting_that_nobody_has_is_refused(setting):
    with pytest.raises(DiscreetError, match=setting):
        list(variants(["fedrec", "content"], {setting: 1}, []))


def test_a_sweep_is_one_method_for_each_value():
    made = list(variants(["popularity", "fedrec"], {"prior_shows": (1, 10), "rate": (0.1, 0.2), "negatives": 2}, []))
    assert [getattr(method, "prior_shows", None) or (method.rate, method.negatives) for method in made] == [
        1,
        10,
        (0.1, 2),
        (0.2, 2),
    ]


@pytest.fixture
def task():
    shown = make_impressions([[0, 1], [1, 2], [2, 0]], [[1, 0], [0, 1], [1, 0]], histories=[[2], [0], [1]])
    return TrainingTask(make_news(make_articles(["a b", "b c", "c d"]), train=shown, dev=shown), "auto")


@pytest.fixture
def no_model(monkeypatch):
    """Behind `auto` there is no language model and no word vectors."""
    monkeypatch.setattr("discreet.text.encode.installed_language_model", lambda: None)
    monkeypatch.delenv(WORD_VECTORS_VARIABLE, raising=False)


def _reused(task, cache):
    return compare(task, [Content()], "dev", [0], cache).results[0].reused


def test_a_measurement_is_used_again_only_while_its_code_is_the_same(task, no_model, tmp_path, monkeypatch):
    cache = MeasurementCache(tmp_path)
    assert [_reused(task, cache), _reused(task, cache)] == [0, 1]
    assert _reused(task, MeasurementCache(tmp_path, fresh=True)) == 0
    with monkeypatch.context() as changed:
        changed.setattr(provenance, "code_digest", lambda: "other code")
        assert [_reused(task, cache), _reused(task, cache)] == [0, 1]
    with monkeypatch.context() as changed:
        changed.setattr(provenance.metadata, "version", lambda name: "another")
        assert [_reused(task, cache), _reused(task, cache)] == [0, 1]
    assert _reused(task, cache) == 1


def test_a_measurement_is_used_again_only_with_the_same_text_source(task, no_model, tmp_path, monkeypatch):
    cache, words = MeasurementCache(tmp_path / "kept"), tmp_path / "words.txt"
    assert [_reused(task, cache), _reused(task, cache)] == [0, 1]
    words.write_text("a 1 0\nb 0 1\nc 1 1\nd 0 2\n")
    monkeypatch.setenv(WORD_VECTORS_VARIABLE, str(words))
    again = dataclasses.replace(task)
    assert [_reused(again, cache), _reused(again, cache)] == [0, 1]
    assert compare(again, [Content()], "dev", [0], cache).text.startswith("word vectors words.txt")
    words.write_text("a 1 0\nb 0 1\nc 1 1\nd 0 3\n")
    assert _reused(dataclasses.replace(task), cache) == 0


def test_the_code_is_known_by_all_that_computes_and_by_every_byte(tmp_path):
    root = Path(discreet.__file__).parent
    parts = {path.name for path in root.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert parts - set(provenance.COMPUTING) <= {"cli", "serving", "protocol", "database", "audits"}
    (tmp_path / "a.py").write_text("x = 1\n")
    one = provenance.digest_of(tmp_path, [tmp_path / "a.py"])
    (tmp_path / "a.py").write_text("x = 2\n")
    two = provenance.digest_of(tmp_path, [tmp_path / "a.py"])
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({one, two, provenance.digest_of(tmp_path, [tmp_path / "b.py"])}) == 3


@pytest.mark.parametrize("calibration", list(Calibration))
def test_a_lifetime_includes_what_serving_sends(calibration):
    on_device = DPFedRec(rounds=5, calibration=calibration)
    training = on_device.guarantee({"weight": np.zeros(9, np.float32)})
    assert with_serving(on_device, training) == training
    assert math.isfinite(training.epsilon)
    served = with_serving(dataclasses.replace(on_device, epsilon_serving=1.0), training)
    assert served.epsilon == math.inf
    assert served.claimed_epsilon == training.claimed_epsilon


@pytest.mark.long
def test_trainings_side_by_side_give_what_they_give_one_after_the_other(tmp_path):
    task = TrainingTask(news_world(30, seed=3), "hashed")
    methods = list(variants(["popularity", "fedrec", "fcf"], {"model": "nrms", "rounds": 2, "fraction": 0.2}, []))
    one, several = (
        compare(task, methods, "dev", [0, 1], MeasurementCache(tmp_path / str(jobs)), jobs=jobs) for jobs in (1, 2)
    )
    for alone, together in zip(one.results, several.results, strict=True):
        for first, second in zip(alone.runs, together.runs, strict=True):
            assert all(np.array_equal(first.values[metric], second.values[metric]) for metric in first.values)
