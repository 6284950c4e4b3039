"""The news papers' tables and figures: every plan at both scales, and one statement of each, trained for one round."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from discreet import progress
from discreet.cli import run
from discreet.data.synthetic import news_world, write_mind
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import METRICS
from discreet.experiments import ranking_comparison
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.papers import cells
from discreet.experiments.papers.cells import PaperCell, PaperStatement, Plan, measure_plan
from discreet.experiments.papers.fednewsrec_paper import figure_6
from discreet.experiments.papers.news_experiments import NEWS_EXPERIMENTS, work_of
from discreet.experiments.papers.scale import SCALES, Scale, scale_of
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import make_method
from discreet.methods.published.paper_presets import PAPER_PRESETS
from discreet.training.rounds import RoundResult, Server
from discreet.training.torch_device import chosen_device, use_device
from discreet.version import __version__

PLANS = {name: experiment for name, experiment in NEWS_EXPERIMENTS.items() if experiment.plan is not None}
ONE_ROUND = Scale({"preset": "small", "rounds": 1, "fraction": 0.05, "rate": 0.01}, fractions=(0.05,))


@pytest.fixture(scope="module")
def task() -> TrainingTask:
    return TrainingTask(news_world(120, seed=3), "hashed")


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", list(PLANS))
def test_statements_speak_of_cells_that_differ(name: str, scale: str) -> None:
    experiment = PLANS[name]
    assert experiment.plan is not None
    plan = experiment.plan(scale_of(experiment.paper, scale))
    places = [(cell.line, cell.x) for cell in plan.cells]
    assert len(set(places)) == len(places)
    assert plan.statements
    for statement in plan.statements:
        assert statement.above in places
        assert statement.below in places
        assert statement.above != statement.below
    assert all(set(cell.printed) in (set(), set(METRICS)) for cell in plan.cells)


SYSTEMS = {
    "FCF": "fcf",
    "FedNewsRec": "fednewsrec",
    "FedRec": "fedrec",
    "PrivateRec": "privaterec",
    "centralized": "centralized",
}
"""Which method runs under a paper's name of a system."""


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", list(PLANS))
def test_a_line_runs_the_system_that_it_names(name: str, scale: str) -> None:
    experiment = PLANS[name]
    assert experiment.plan is not None
    for cell in experiment.plan(scale_of(experiment.paper, scale)).cells:
        words = set(re.findall(r"[\w-]+", cell.line))
        if systems := words & set(SYSTEMS):
            assert [cell.method.name] == [SYSTEMS[system] for system in systems], cell.line
        if "without noise" in cell.line:
            assert cell.method.epsilon == math.inf
        elif "FedNewsRec" in words:
            assert cell.method.epsilon is not None
            assert cell.method.epsilon < math.inf


def test_without_noise_is_the_same_algorithm_with_the_same_settings() -> None:
    for scale in SCALES:
        methods = {
            cell.line: cell.method
            for cell in PLANS["fednewsrec-table-2"].plan(scale_of("fednewsrec", scale)).cells  # type: ignore[misc]
        }
        noised, exact = methods["FedNewsRec"], methods["FedNewsRec without noise"]
        assert replace(noised, epsilon=math.inf) == exact  # type: ignore[type-var]


@pytest.mark.long
@pytest.mark.parametrize("name", list(PLANS))
def test_one_statement_is_measured_and_written(name: str, task: TrainingTask, tmp_path: Path) -> None:
    experiment = PLANS[name]
    assert experiment.plan is not None
    whole = experiment.plan(ONE_ROUND)
    first = whole.statements[0]
    cells = [cell for cell in whole.cells if (cell.line, cell.x) in (first.above, first.below)]
    plan = replace(whole, cells=cells, statements=[first])
    found = measure_plan(name, task, plan, [0], MeasurementCache())
    found.save(tmp_path)
    told = json.loads((tmp_path / f"{name}.json").read_text())
    assert len(told["rows"]) == 2
    assert told["verdicts"][0].startswith(first.words)
    assert (tmp_path / f"{name}.svg").read_text().startswith("<?xml")
    assert cells[0].line in (tmp_path / f"{name}.md").read_text()


def test_a_curve_is_drawn_once_and_kept(task: TrainingTask, tmp_path: Path) -> None:
    cache = MeasurementCache(tmp_path / "measurements")
    found = figure_6("fednewsrec-figure-6", task, ONE_ROUND, 0, cache)
    assert found.save(tmp_path) == [tmp_path / "fednewsrec-figure-6-convergence.svg"]
    assert (tmp_path / "fednewsrec-figure-6-convergence.svg").exists()
    assert [verdict.split(":")[0] for verdict in found.verdicts()] == ["The training converges (r = 0.05)"]
    kept = sorted((tmp_path / "measurements").iterdir())
    again = figure_6("fednewsrec-figure-6", task, ONE_ROUND, 0, cache)
    assert again.to_json() == found.to_json()
    assert sorted((tmp_path / "measurements").iterdir()) == kept


def test_a_verdict_follows_the_paired_difference(task: TrainingTask) -> None:
    content, random = PaperCell("content", make_method("content", {})), PaperCell("random", make_method("random", {}))
    good, bad = ("content", 0.0), ("random", 0.0)
    statements = [
        PaperStatement("right", good, bad),
        PaperStatement("wrong", bad, good),
        PaperStatement("same", good, good, alike=True),
        PaperStatement("unlike", good, bad, alike=True),
        PaperStatement("open", good, good),
    ]
    verdicts = measure_plan("words", task, Plan([content, random], statements), [0], MeasurementCache()).verdicts()
    outcomes = ["comes out", "the opposite comes out", "comes out", "does not come out", "is not decided"]
    assert [verdict.split(" (")[0].split(": ")[1] for verdict in verdicts] == outcomes


def test_serving_budgets_share_one_training(task: TrainingTask, monkeypatch: pytest.MonkeyPatch) -> None:
    method = ONE_ROUND.method("privaterec", "nrms")
    trained = []
    train = type(method).train
    monkeypatch.setattr(
        type(method), "train", lambda self, *rest, **more: trained.append(self) or train(self, *rest, **more)
    )
    cells = [PaperCell("a", ONE_ROUND.method("privaterec", "nrms", epsilon_serving=x), x=x) for x in (1.0, 10.0)]
    cells.append(PaperCell("a", method, x=100.0))
    measure_plan("serving", task, Plan(cells, [], "ε"), [0], MeasurementCache())
    assert len(trained) == 1


def test_two_tables_share_trainings_and_one_that_was_interrupted_goes_on(
    task: TrainingTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale = replace(ONE_ROUND, settings={**ONE_ROUND.settings, "rounds": 4})
    on_device = PaperCell("a", scale.method("fedrec", "nrms"))
    served = PaperCell("a", scale.method("fedrec", "nrms", epsilon_serving=1.0), x=1.0)
    cache = MeasurementCache(tmp_path / "measurements")
    rounds: list[int] = []
    step, stop = Server.step, [3]

    def counted(self: Server, result: RoundResult) -> None:
        if self.state.round + 1 in stop:
            raise KeyboardInterrupt
        step(self, result)
        rounds.append(self.state.round)

    monkeypatch.setattr(Server, "step", counted)
    with pytest.raises(KeyboardInterrupt):
        measure_plan("one", task, Plan([on_device], []), [0], cache)
    stop.clear()
    one = measure_plan("one", task, Plan([on_device], []), [0], cache)
    assert rounds == [1, 2, 3, 4]  # the first two before the interruption
    assert not list(cache.folder.glob("*.checkpoint"))  # type: ignore[union-attr]
    both = measure_plan("both", task, Plan([on_device, served], [], "ε"), [0], cache)
    assert rounds == [1, 2, 3, 4]
    anew = measure_plan("both", task, Plan([on_device, served], [], "ε"), [0], MeasurementCache())
    for place, result in both.results.items():
        assert result.estimate("auc") == anew.results[place].estimate("auc")
    assert one.results["a", 0.0].estimate("auc") == both.results["a", 0.0].estimate("auc")


def test_the_scale_of_a_paper_starts_stops_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With tiny sizes in place of the paper's, by the command line."""
    preset = PAPER_PRESETS["privaterec-paper"]
    tiny = replace(preset, settings={**preset.settings, "preset": "small", "rounds": 3, "fraction": 0.05})
    monkeypatch.setitem(PAPER_PRESETS, "privaterec-paper", tiny)
    one = Plan([PaperCell("a", scale_of("privaterec", "paper").method("fedrec", "plm_nr"))], [])
    short = replace(NEWS_EXPERIMENTS["privaterec-table-1"], plan=lambda _: one)
    monkeypatch.setitem(NEWS_EXPERIMENTS, "privaterec-table-1", short)
    write_mind(news_world(40, seed=3), tmp_path / "world")
    command = ["reproduce", "privaterec-table-1", str(tmp_path / "world"), "--scale", "paper", "--seeds", "1"]
    command += ["--text", "hashed", "--out", str(tmp_path / "out")]
    step = Server.step

    def interrupted(self: Server, result: RoundResult) -> None:
        if self.state.round == 2:
            raise KeyboardInterrupt
        step(self, result)

    monkeypatch.setattr(Server, "step", interrupted)
    assert run(command) != 0
    assert len(list((tmp_path / "out" / "measurements").glob("*.checkpoint"))) == 1
    monkeypatch.setattr(Server, "step", step)
    assert run(command) == 0
    assert "resuming after round 2" in capsys.readouterr().err
    assert len(json.loads((tmp_path / "out" / "privaterec-table-1.json").read_text())["rows"]) == 1


def test_the_first_rounds_of_the_first_training_tell_how_long_all_will_take(
    task: TrainingTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(progress, "LONG_SECONDS", -1.0)
    monkeypatch.setattr(progress, "notice", lines.append)
    scale = replace(ONE_ROUND, settings={**ONE_ROUND.settings, "rounds": 5})
    two = [PaperCell("a", scale.method("fedrec", "plm_nr", rate=rate), x=rate) for rate in (0.01, 0.02)]
    measure_plan("two", task, Plan(two, [], "rate"), [0], MeasurementCache())
    assert [line.split(" about")[0] for line in lines] == ["2 rounds left:"] * 2
    assert "with 1 more training like this one" in lines[0]
    assert "more" not in lines[1]


def test_what_is_left_is_said_in_trainings_and_time(task: TrainingTask, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(ranking_comparison, "LONG_SECONDS", -1.0)
    monkeypatch.setattr(ranking_comparison, "notice", lines.append)
    three = [PaperCell(name, make_method(name, {})) for name in ("random", "content", "recency")]
    measure_plan("three", task, Plan(three, []), [0], MeasurementCache())
    told = ["2 trainings are left:", "1 training is left:", "0 trainings are left:"]
    assert [line.split(" about")[0] for line in lines] == told


def test_what_experiments_share_is_one_training() -> None:
    both = work_of(["fednewsrec-figure-4", "fednewsrec-figure-5"], "small")
    assert both.trainings == {"fednewsrec-figure-4": 12, "fednewsrec-figure-5": 8}  # of 9: one is in Figure 4
    assert both.seconds == 20 * scale_of("fednewsrec", "small").seconds
    assert work_of(["privaterec-table-1", "privaterec-table-2"], "small").trainings["privaterec-table-2"] == 0
    assert work_of(["fednewsrec-figure-6"], "small", seeds=2).trainings == {"fednewsrec-figure-6": 3}
    assert work_of(["fednewsrec-figure-4"], "paper", seeds=2).trainings == {"fednewsrec-figure-4": 24}


@pytest.fixture
def short_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """PrivateRec's Table 1 with one row that needs no training, on a small generated world."""
    one = Plan([PaperCell("content", make_method("content", {}))], [])
    short = replace(NEWS_EXPERIMENTS["privaterec-table-1"], plan=lambda _: one)
    monkeypatch.setitem(NEWS_EXPERIMENTS, "privaterec-table-1", short)
    monkeypatch.setattr("discreet.experiments.papers.news_experiments.news_world", lambda _: news_world(40))


@pytest.mark.usefixtures("short_table")
def test_a_generated_world_has_the_title_vectors_asked_for_and_the_plot_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["reproduce", "privaterec-table-1", "--text", "hashed", "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert "language model" not in told.err
    assert f"Plot: {out / 'privaterec-table-1.svg'}" in told.out
    assert (out / "privaterec-table-1.svg").exists()


@pytest.mark.usefixtures("short_table")
@pytest.mark.parametrize("content", ['{"discreet": "0.0.1"}', '{"experiment": "of old"}', "[]", "no JSON"])
def test_results_of_another_version_are_replaced_only_if_asked(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["reproduce", "privaterec-table-1", "--text", "hashed", "--out", str(out)]
    assert run(command) == 0
    assert run(command) == 0
    table = out / "privaterec-table-1.json"
    assert json.loads(table.read_text())["discreet"] == __version__
    table.write_text(content)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    capsys.readouterr()
    for words in (command, ["reproduce", "--all", "--out", str(out)]):
        assert run(words) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"discreet: {table}: was made by")
        assert "--fresh" in line
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    assert run([*command, "--fresh"]) == 0
    assert json.loads(table.read_text())["discreet"] == __version__


def test_all_say_at_the_start_what_there_is_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise DiscreetError("that is all")

    monkeypatch.setattr("discreet.experiments.papers.news_experiments.reproduce_news", stop)
    assert run(["reproduce", "--all", "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("16 tables and figures: 74 trainings of the news papers (on the generated world about ")
    assert told[0].endswith(" of one processor), 5 experiments of the thesis")


def test_jobs_and_device_reach_the_trainings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU is needed to see where networks would be made."""
    seen: list[tuple[int, str]] = []

    def compare(task, methods, split, seeds, cache, *, jobs, keep_states):  # type: ignore[no-untyped-def]
        seen.append((jobs, chosen_device().type))
        raise DiscreetError("that is all")

    monkeypatch.setattr(cells, "compare", compare)
    monkeypatch.setattr("discreet.experiments.papers.news_experiments.news_world", lambda _: news_world(40))
    out = ["--out", str(tmp_path / "out")]
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    try:
        assert run(["reproduce", "privaterec-table-1", "--jobs", "2", "--device", "auto", *out]) == 2
    finally:
        use_device("cpu")
    assert seen == [(2, "cuda")]


def test_a_device_that_is_not_there_is_refused_before_any_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert run(["reproduce", "privaterec-table-1", "--device", "cuda", "--out", str(tmp_path / "out")]) == 2
    assert "torch finds no GPU here" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_reproduced_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "out")]
    ratings = tmp_path / "r.csv"
    ratings.write_text("user,item,rating\n1,1,3\n")
    for arguments, line in (
        (["reproduce"], "name a table or figure, or say --all"),
        (["reproduce", "privaterec-table-1", "--scale", "huge"], "--scale is small or paper"),
        (["reproduce", "privaterec-table-1", "--scale", "paper"], "needs the data set that the paper has"),
        (["reproduce", "privaterec-table-1", str(ratings)], "is no news data set"),
        (["reproduce", "privaterec-table-1", str(tmp_path / "nowhere")], "does not exist"),
    ):
        assert run([*arguments, *out]) == 2
        assert line in capsys.readouterr().err
