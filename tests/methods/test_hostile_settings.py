"""Settings that others wrote, of whatever kind: each makes a method, or is refused in one line."""

import dataclasses
import json
import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import discreet as d
from discreet.audits.node_lies import VALUES
from discreet.data.synthetic import news_world
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import METHODS, make_method, method_from_plain, setting_names
from discreet.methods.run import Run
from discreet.methods.training_job import Description
from discreet.models.model_registry import MODELS, model_setting_schema, settings_with

PLAIN = st.recursive(
    st.sampled_from([*VALUES, math.nan, math.inf, -math.inf, 10**400, "published", "small", "hidden", "exact"])
    | st.integers()
    | st.floats()
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
OF_MODELS = sorted({name for model in MODELS for name in model_setting_schema(model)})
NAMES = sorted({name for method in METHODS for name in setting_names(method)} - {"model"})
NAMES += ["model", *(f"model.{name}" for name in (*OF_MODELS, "name", "preset", "changes", ""))]


def made_or_refused(make):
    try:
        return make()
    except d.DiscreetError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) == 1
    return None


@given(st.sampled_from(sorted(METHODS)), st.dictionaries(st.sampled_from(NAMES), PLAIN, max_size=3))
@example("dp_fedavg", {"preset": {}})
@example("dp_fedavg", {"preset": {}, "model.size": 8})
@example("fedrec", {"model": ["plm_nr"]})
@example("fedrec", {"model.name": "nrms"})
@example("dp_fedavg", {"participation": []})
@example("privaterec", {"epsilon": 10**400})
@example("front_page", {"max_days": True})
def test_settings_make_a_method_or_are_refused(method, settings):
    made_or_refused(lambda: method_from_plain(method, settings))


@given(st.sampled_from(sorted(MODELS)), PLAIN, st.dictionaries(st.sampled_from(OF_MODELS), PLAIN, max_size=2))
def test_settings_make_a_model_or_are_refused(model, preset, changes):
    made_or_refused(lambda: settings_with(model, preset, changes))


@given(PLAIN, PLAIN)
def test_a_method_has_a_name_and_its_settings_have_names(name, settings):
    made_or_refused(lambda: method_from_plain(name, settings))


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("value", [math.nan, True, 2**53 + 1, 10**400, [], {}, "é\n\x00"], ids=repr)
def test_no_number_is_one_of_another_kind(name, value):
    numbers = {key for key, kind in METHODS[name].__annotations__.items() if kind in ("int", "float")}
    for setting in numbers & set(setting_names(name)):
        with pytest.raises(d.DiscreetError, match=f"{name}: {setting} is "):
            make_method(name, {setting: value})


@pytest.fixture(scope="module")
def described():
    method, task = DPFedAvg(rounds=2), TrainingTask(news_world(20, seed=1, articles_per_day=10), "hashed")
    return json.loads(Description.of(method, task, method.setup(task, 7)).to_bytes())


@given(data=st.data())
def test_a_description_of_a_training_is_read_or_refused_before_any_data(described, data):
    fields = dict(described)
    changed = data.draw(st.dictionaries(st.sampled_from(sorted(fields)), PLAIN, max_size=2))
    settings = data.draw(st.dictionaries(st.sampled_from([*fields["settings"], "model.size"]), PLAIN, max_size=2))
    fields |= {"settings": fields["settings"] | settings} | changed
    line = json.dumps(fields, sort_keys=True).encode() + b"\n"
    read = made_or_refused(lambda: Description.from_bytes(line))
    assert read is None or read.method.needs


def test_a_centre_that_no_titles_have_is_refused(described):
    honest = Description.from_bytes(json.dumps(described, sort_keys=True).encode() + b"\n")
    for size in (2, 1e38):
        far = dataclasses.replace(honest, centre=np.eye(1, len(honest.centre), dtype=np.float32)[0] * np.float32(size))
        with pytest.raises(d.DiscreetError, match="centre"):
            Description.from_bytes(far.to_bytes())


@given(data=st.data())
def test_a_run_that_others_wrote_is_read_or_refused(run_folder, data):
    about = json.loads((run_folder / "kept.json").read_text())
    about |= data.draw(st.dictionaries(st.sampled_from(sorted(about)), PLAIN, max_size=2))
    (run_folder / "run" / "run.json").write_text(json.dumps(about))
    with patch("discreet.methods.run.verify_folder"):  # whoever writes the file can write its digest, too
        read = made_or_refused(lambda: Run.load(run_folder / "run"))
    assert read is None or (isinstance(read.seed, int) and isinstance(read.text, str) and isinstance(read.data, str))


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    d.Recency().fit(news_world(20, seed=1), text="hashed").save(folder / "run")
    (folder / "kept.json").write_bytes((folder / "run" / "run.json").read_bytes())
    return folder
