"""From noised sums to how good the ranking is: means, errors that include the noise, and arms compared."""

import math

import numpy as np
import pytest

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.sums import PlainSums
from discreet.edge.reader.sums.measures import MEASURES, Observed
from discreet.edge.reader.views import View
from discreet.errors import DiscreetError
from discreet.privacy.noise import SimulatedNoise
from discreet.protocol.quality_cells import EVERYBODY, MEASURE, quality_cells
from discreet.serving.learning.experiment import Experiment, ExperimentArm, arm_names, read_experiment
from discreet.serving.learning.quality_estimates import (
    MeasuredWindow,
    Quality,
    differences,
    measures_quality,
    qualities,
    quality_task,
)

READERS = 400


def measured_day(arms, epsilon, seed, clicky=(0.4,)):
    """One day of readers who see ten articles, and click the earlier ones more; arm i is clicked in with clicky[i]."""
    rng = np.random.default_rng(seed)
    task = quality_task(arms, epsilon, start=0, windows=1)
    cells = quality_cells(arms)
    places = {cell: place for place, cell in enumerate(cells)}
    sums = PlainSums(SimulatedNoise(np.random.SeedSequence(seed)))
    truth = {arm: [] for arm in arms}
    for reader in range(READERS):
        arm = reader % len(arms)
        chance = clicky[arm] / (1 + np.arange(10))
        views = [View(arms[arm], tuple((rng.random(10) < chance).tolist())) for _ in range(2)]
        values = MEASURES[MEASURE](task, Observed((), views, places), task.total)
        sums.contribute(task, 0, Contribution.of(task, values))
        truth[arms[arm]].append(values[5 * arm : 5 * arm + 5] / task.max_value)
    found = sums.collect(task, 0)
    return MeasuredWindow(task, 0, tuple(cells), found.values, found.contributions), truth


def test_without_noise_to_speak_of_the_means_are_the_readers_means():
    window, truth = measured_day([EVERYBODY], 100.0, 1)
    assert measures_quality(window.task)
    quality = qualities([window])[EVERYBODY]
    good, bad, gained, clicked, missed = np.sum(truth[EVERYBODY], axis=0)
    assert quality.auc.mean == pytest.approx(good / (good + bad), abs=1e-3)
    assert quality.ndcg.mean == pytest.approx(gained / (good + bad), abs=1e-3)
    assert quality.clicks.mean == pytest.approx(clicked / (clicked + missed), abs=1e-3)
    assert quality.readers == pytest.approx(good + bad, abs=1)


def test_the_error_holds_the_noise_and_covers_the_truth():
    """Over 60 draws of noise and readers the estimates are within three errors, and the errors are not idle."""
    wrong, spread = [], []
    for seed in range(60):
        window, _ = measured_day([EVERYBODY], 1.0, seed)
        quality = qualities([window])[EVERYBODY]
        wrong.append(quality.clicks.mean)
        spread.append(quality.clicks.se)
    centre = qualities([measured_day([EVERYBODY], 100.0, 99)[0]])[EVERYBODY].clicks.mean
    z = (np.array(wrong) - centre) / np.array(spread)
    assert np.abs(z).max() < 4
    assert 0.4 < z.std() < 1.4


def test_too_few_readers_for_the_noise_give_no_estimate():
    quality = qualities([measured_day([EVERYBODY], 0.02, 3)[0]])[EVERYBODY]
    assert quality.clicks.mean is None
    assert str(quality.clicks) == "too little is known"


def test_windows_add_up_and_shrink_the_error():
    days = [measured_day([EVERYBODY], 1.0, seed)[0] for seed in range(4)]
    one, four = qualities(days[:1])[EVERYBODY], qualities(days)[EVERYBODY]
    assert four.clicks.se == pytest.approx(one.clicks.se / 2, rel=0.3)


@pytest.mark.parametrize(("clicky", "verdict"), [((0.3, 0.9), "better"), ((0.9, 0.3), "worse"), ((0.5, 0.5), None)])
def test_arms_differ_beyond_chance_only_if_they_do(clicky, verdict):
    arms = arm_names(Experiment("x", (ExperimentArm("a"), ExperimentArm("b", popularity=0.5))))
    window, _ = measured_day(arms, 2.0, 5, clicky)
    found = {one.metric: one for one in differences(qualities([window]), 1)}
    assert found["clicks"].verdict == (verdict or "not beyond chance")
    assert found["clicks"].low < found["clicks"].mean < found["clicks"].high
    wider = differences(qualities([window]), 100)[0]
    assert wider.high - wider.low > found["clicks"].high - found["clicks"].low


def test_no_arm_that_is_unknown_is_compared():
    assert differences({}, 1) == []
    known = qualities([measured_day([EVERYBODY], 100.0, 1)[0]])[EVERYBODY]
    unknown = Quality("b", 0.0, *(type(known.auc)(None, None),) * 3)
    assert differences({"a": known, "b": unknown}, 1) == []


def test_an_experiment_is_read_from_its_table_and_named_by_its_content(tmp_path):
    table = {"name": "less", "arms": [{"name": "now"}, {"name": "half", "popularity": 0.5}]}
    one, again = read_experiment(table, tmp_path), read_experiment(table, tmp_path)
    assert one == again
    assert one.id != read_experiment({**table, "name": "more"}, tmp_path).id
    assert one.to_json()["arms"][1] == {"name": "half", "popularity": 0.5, "content": 1.0}
    for wrong in (
        {"name": "x"},
        {"name": "x", "arms": [{"name": "only"}]},
        {"name": "x", "arms": [{"name": "a"}, {"name": "a"}]},
        {"name": "x", "arms": [{"name": "a"}, {"name": "b", "popularity": -1}]},
        {"name": "x", "arms": [{"name": "a"}, {"name": "b", "popularity": math.inf}]},
        {"name": "x", "arms": [{"name": "a"}, {"name": "b", "weight": 1}]},
        {"name": 3, "arms": [{"name": "a"}, {"name": "b"}]},
        {"name": "x", "arms": "both"},
    ):
        with pytest.raises(DiscreetError, match="experiment cannot be used"):
            read_experiment(wrong, tmp_path)
