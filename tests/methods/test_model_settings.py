"""Settings of models: by name and as an object, kept in a run and used again; models of one's own."""

import dataclasses
import json
import sys
from typing import ClassVar

import numpy as np
import pytest
import torch

from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.experiments.ranking_comparison import variants
from discreet.methods.learnt import parameter_count
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import make_method, method_from_plain, plain_settings
from discreet.methods.published.fednewsrec import FedNewsRec
from discreet.methods.published.fedrec import FedRec
from discreet.methods.published.privaterec import PrivateRec
from discreet.methods.run import Run
from discreet.methods.training_job import Description
from discreet.models.fednewsrec import FedNewsRecSettings
from discreet.models.model_registry import MODELS, model_settings
from discreet.models.news_model import ModelSettings, Needs, NewsModel, Titles
from discreet.models.nrms import NRMSSettings
from discreet.plugins import register


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(60, seed=9), "hashed")


SMALL = {"rounds": 1, "fraction": 0.1}


def test_an_ablation_is_trained_kept_and_scored_again(task, tmp_path):
    settings = {"model": "fednewsrec", "model.short_term": "false", **SMALL}
    method = make_method("fednewsrec", settings)
    assert method == FedNewsRec(
        model="fednewsrec", model_settings=model_settings("fednewsrec", "small", short_term=False), **SMALL
    )
    state = method.train(task, 1)
    assert not any(name.startswith("recent_clicks") for name in state)
    Run(method, state, "made", 1, "hashed").save(tmp_path / "run")
    told = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    assert told["model.short_term"] is False
    assert {name for name in told if name.startswith("model.")} == {"model.short_term"}
    loaded = Run.load(tmp_path / "run")
    assert loaded.method == method
    dev = task.data.splits["dev"]
    assert np.array_equal(loaded.score(dev, task.data), method.score(task, state, dev, 1))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_setting_of_a_model_is_a_setting_of_the_method(name):
    for key, value in dataclasses.asdict(model_settings(name, "small")).items():
        if isinstance(value, bool) or value is None:
            other = not value
        elif isinstance(value, float):
            other = 0.25
        elif (name, key) == ("fm", "size"):
            other = 51  # two vectors and a number
        else:
            other = 2 if key == "heads" else "folder" if isinstance(value, str) else 2 * value or 1
        method = make_method("fedrec", {"model": name, f"model.{key}": other})
        assert getattr(method.chosen_model, key) == other
        assert plain_settings(method)[f"model.{key}"] == other
        assert method_from_plain("fedrec", json.loads(json.dumps(plain_settings(method)))) == method


def test_a_settings_object_stands_for_all_of_them(task):
    settings = NRMSSettings(title_words=5, history_length=7, size=12, heads=3, query_size=4, word_size=6)
    method = FedRec(model="nrms", model_settings=settings, **SMALL)
    assert method.train(task, 1)["click_attention.weight"].shape == (12, 3, 12)
    assert method_from_plain("fedrec", plain_settings(method)) == method


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "nrms", "model.depth": 3}, "model nrms has no setting 'depth'; it has dropout, heads"),
        ({"model": "nrms", "model.heads": 5}, "model nrms: 5 heads cannot share a size of 48 evenly"),
        ({"model": "nrms", "model.size": 0}, "model nrms: size cannot be 0"),
        ({"model": "nrms", "model.heads": "many"}, "model nrms: heads is a whole number, not 'many'"),
        ({"model": "nrms", "model.train_words": "perhaps"}, "train_words is true or false, not 'perhaps'"),
        (
            {"model": "fednewsrec", "model.long_term": False, "model.short_term": False},
            "model fednewsrec: a reader needs long-term or short-term interest",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_line(settings, said):
    with pytest.raises(DiscreetError, match=said) as found:
        make_method("fedrec", settings)
    assert "\n" not in str(found.value)


def test_settings_of_another_model_are_refused():
    with pytest.raises(DiscreetError, match="model nrms takes NRMSSettings, not FedNewsRecSettings"):
        FedRec(model="nrms", model_settings=FedNewsRecSettings())
    with pytest.raises(DiscreetError, match=r"content has no setting 'model\.heads'"):
        make_method("content", {"model.heads": 4})


def test_comparisons_sweep_over_settings_of_the_model():
    methods = list(variants(["fedrec", "content"], {"model": "nrms", "model.heads": (2, 4)}, []))
    assert [method.chosen_model.heads for method in methods[:2]] == [2, 4]
    assert len(methods) == 3
    alone = list(variants(["fedrec", "privaterec"], {"model": "nrms", "fedrec.model.heads": 2}, []))
    assert [method.chosen_model.heads for method in alone] == [2, 4]


def test_words_that_are_not_learnt_are_the_same_whatever_seed_scores(task):
    method = make_method("fedrec", {"model": "nrms", "model.train_words": False, **SMALL})
    state = method.train(task, 1)
    assert "words.vectors" not in state
    dev = task.data.splits["dev"]
    assert np.array_equal(method.score(task, state, dev, 1), method.score(task, state, dev, 2))


@dataclasses.dataclass(frozen=True)
class MeanSettings(ModelSettings):
    """One number."""

    stretch: float = 2.0


class Mean(NewsModel):
    """Title vectors in a few public directions; a reader is the mean of her clicks."""

    name: ClassVar[str] = "mean"
    PRESETS: ClassVar = {"published": MeanSettings(size=16), "small": MeanSettings(size=8)}

    def __init__(self, settings, sizes):
        super().__init__(settings, sizes)
        self.register_buffer("directions", torch.zeros(sizes.vector, self.size))
        self.weight = torch.nn.Parameter(torch.ones(self.size) * settings.stretch)

    @classmethod
    def needs(cls, settings):
        return Needs(vectors=Titles.CATALOGUE)

    @torch.no_grad()
    def start_from(self, table):
        generator = torch.Generator().manual_seed(len(table))
        self.directions.copy_(torch.randn(self.directions.shape, generator=generator))

    def encode_articles(self, batch):
        return batch.vectors @ self.directions

    def encode_readers(self, clicks, copies):
        total = (copies.to(clicks.dtype).unsqueeze(-2) @ clicks).squeeze(-2)
        return total / copies.sum(-1, keepdim=True) * self.weight


@pytest.fixture
def mean():
    yield register(Mean)
    MODELS.forget("mean")


def test_a_model_of_ones_own_is_trained_and_kept(mean, task, tmp_path):
    method = make_method("privaterec", {"model": "mean", "model.stretch": 3, "epsilon_serving": 1.0, **SMALL})
    state = method.train(task, 1)
    Run(method, state, "made", 1, "hashed").save(tmp_path / "run")
    loaded = Run.load(tmp_path / "run")
    assert loaded.method.chosen_model == MeanSettings(size=8, stretch=3.0)
    dev = task.data.splits["dev"]
    assert np.array_equal(loaded.score(dev, task.data), method.score(task, state, dev, 1))
    assert parameter_count(state) == 8 + 3 * 8  # what is fixed is not counted


def test_a_model_of_ones_own_is_resumed(mean, task, tmp_path):
    method = make_method("fedrec", {"model": "mean", "rounds": 2, "fraction": 0.1})
    whole = method.train(task, 1)
    dataclasses.replace(method, rounds=1).train(task, 1, tmp_path / "checkpoint")
    resumed = method.train(task, 1, tmp_path / "checkpoint")
    assert all(np.array_equal(whole[name], resumed[name]) for name in whole.keys() - {"watched"})
    other = make_method("fedrec", {"model": "mean", "rounds": 2, "fraction": 0.1, "model.stretch": 3})
    with pytest.raises(DiscreetError, match=r"another training \(model\.stretch differ"):
        other.train(task, 1, tmp_path / "checkpoint")


def test_a_model_in_a_plugin_is_found_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "my_models.py").write_text(
        "from test_model_settings import Mean\nfrom discreet.plugins import register\n"
        "class Other(Mean):\n    name = 'other_mean'\nregister(Other)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("discreet.plugins._named", ["my_models"])
    try:
        assert FedRec(model="other_mean").chosen_model.size == 8
    finally:
        MODELS.forget("other_mean")
        sys.modules.pop("my_models", None)


def test_models_that_cannot_be_registered_say_why():
    class Nameless(Mean):
        name: ClassVar[str] = ""

    class WithoutSizes(Mean):
        name: ClassVar[str] = "without_sizes"
        PRESETS: ClassVar = {}

    class Taken(Mean):
        name: ClassVar[str] = "nrms"

    for wrong, said in (
        (Nameless, "needs a name"),
        (WithoutSizes, "PRESETS needs"),
        (Taken, "another model is called"),
    ):
        with pytest.raises(DiscreetError, match=said):
            register(wrong)


def test_what_a_model_cannot_have_is_refused_in_one_line(task):
    silent = dataclasses.replace(task.data, articles=dataclasses.replace(task.data.articles, entities=None))
    with pytest.raises(DiscreetError, match="reads the entities of titles, and the data set names none"):
        FedRec(model="dkn", **SMALL).train(TrainingTask(silent, "hashed"), 1)
    with pytest.raises(DiscreetError, match="model dkn has none to noise"):
        PrivateRec(model="dkn")
    with pytest.raises(DiscreetError, match="no server can rank with model npa"):
        FedRec(model="npa", epsilon_serving=1.0)
    method = FedRec(model="npa", **SMALL)
    with pytest.raises(DiscreetError, match="nodes do not share those"):
        Description.of(method, task, method.setup(task, 1))


def test_readers_and_entities_are_known_again_by_their_names(task, tmp_path):
    """A run scores other data as it scored its own: numbers of readers and entities are those that it learnt."""
    few = task.data.splits["dev"].select(np.arange(5))
    for model in ("npa", "dkn"):
        method = FedRec(model=model, **SMALL)
        state = method.train(task, 1)
        Run(method, state, "made", 1, "hashed").save(tmp_path / model)
        expected = method.score(task, state, few, 1)
        order = np.argsort(task.data.readers)
        place = np.argsort(order)
        renamed = dataclasses.replace(
            task.data,
            readers=[task.data.readers[number] for number in order],
            splits={"dev": dataclasses.replace(few, reader=place[few.reader].astype(np.int32))},
        )
        again = Run.load(tmp_path / model).score(renamed.splits["dev"], renamed)
        np.testing.assert_allclose(again, expected, rtol=1e-6)
