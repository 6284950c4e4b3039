"""The one-shot methods as a whole on a small generated world: by name, by command, and as a server has them."""

import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.cli import run
from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.baselines import Recency
from discreet.methods.baselines import event_counts as known
from discreet.methods.click_reports import oneshot
from discreet.methods.click_reports.click_evidence import Evidence
from discreet.methods.click_reports.collect import collect_labels, collect_sketches
from discreet.methods.click_reports.public import PublicSpace
from discreet.methods.click_reports.public_side import PublicSide
from discreet.methods.click_reports.served import ServedModel
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import make_method
from discreet.methods.run import Run
from discreet.privacy.guarantee import Adjacency, Adversary, Scope, Status, Unit
from discreet.privacy.noise import SimulatedNoise, rounded_up

ONE_SHOT = ("click_reports", "strict_privaterec", "user_codes")


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(300, articles_per_day=30, seed=2), "hashed")


@pytest.fixture(scope="module")
def dev(task):
    return task.data.splits["dev"]


@pytest.fixture(scope="module")
def trained(task):
    """Click reports at ε = 3, trained once."""
    method = make_method("click_reports", {"epsilon": 3.0, "topics": 12})
    return method, method.train(task, 1)


def auc(scores, impressions):
    return ranking_metrics(scores, impressions)["auc"].mean()


# --- the promise


@pytest.mark.parametrize("name", ONE_SHOT)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 10.0, math.inf])
def test_the_guarantee_says_what_is_true(name, epsilon):
    guarantee = make_method(name, {"epsilon": epsilon}).guarantee({})
    assert guarantee.epsilon == epsilon
    assert guarantee.delta == 0
    assert guarantee.unit is (Unit.USER if name == "user_codes" else Unit.CLICK)
    assert guarantee.adjacency is Adjacency.SUBSTITUTE
    assert guarantee.adversary is Adversary.SERVER
    assert guarantee.scope is Scope.LIFETIME
    assert guarantee.status is Status.PROVED
    assert guarantee.claimed_epsilon is None


@pytest.mark.parametrize("name", ["click_reports", "strict_privaterec"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.9])
def test_sketch_and_label_share_the_budget(name, share):
    method = make_method(name, {"epsilon": 1.7, "label_share": share})
    assert method.epsilon_label == pytest.approx(1.7 * share)
    assert math.fsum((method.epsilon_sketch, method.epsilon_label)) <= 1.7 * (1 + 1e-15)
    assert method.epsilon_sketch > 0


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.0, 1.7, 3.0, 3.28, 5.81, 10.0, 1 / 3])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_terms_are_decimals_and_what_is_drawn_costs_no_more_than_the_budget(epsilon, share):
    label, sketch = oneshot.split(epsilon, share)
    assert Decimal(repr(label)) + Decimal(repr(sketch)) == pytest.approx(Decimal(repr(epsilon)), rel=Decimal("1e-15"))
    assert len(Decimal(repr(label)).as_tuple().digits) <= 6
    assert label == pytest.approx(epsilon * share, rel=2e-3)
    assert math.fsum((label, sketch)) <= epsilon, "a ledger takes both"
    drawn = 2 / rounded_up(2 / Fraction(sketch)) + Fraction(label)
    assert drawn <= Fraction(Decimal(repr(epsilon)))
    assert oneshot.split(3.0, 0.3) == (0.9, 2.1)


def test_what_mechanisms_promise_adds_up_to_the_budget(task):
    """The noise that is really drawn has the ε of the guarantee: sketch and label together."""
    method = make_method("click_reports", {"epsilon": 2.0})
    from discreet.edge.reader.reports import label_mechanism, sketch_mechanism

    sketch = sketch_mechanism(method.topic_count, method.epsilon_sketch).guarantee()
    label = method.label_mechanism(20).guarantee()
    assert label == label_mechanism(20, method.epsilon_label).guarantee()
    assert sketch.epsilon + label.epsilon == pytest.approx(2.0)
    assert {sketch.unit, label.unit} == {Unit.CLICK}
    assert {sketch.adjacency, label.adjacency} == {Adjacency.SUBSTITUTE}


def test_fewer_topics_where_there_is_more_noise():
    counts = [make_method("click_reports", {"epsilon": e}).topic_count for e in (0.1, 0.5, 1.0, 5.0, 50.0, math.inf)]
    assert counts == sorted(counts)
    assert counts[0] >= 2
    assert make_method("click_reports", {"epsilon": 0.1, "topics": 17}).topic_count == 17


def test_codes_are_one_release_for_life(task, dev):
    one, many = (make_method(name).release_plan(task, dev) for name in ("user_codes", "click_reports"))
    assert {len(parts) for parts in one.values()} == {1}
    assert max(len(parts) for parts in many.values()) == 2
    before = make_method("user_codes").release_plan(task, None)
    for reader, parts in before.items():
        assert one[reader][0].tolist() == parts[0].tolist(), "what was told in training is told again"


def test_a_reader_without_clicks_sends_a_code_like_anybody(task, dev):
    method = make_method("user_codes", {"codes": 8, "epsilon": 2.0})
    train = task.data.splits["train"]
    unread = replace(train, history_stop=train.history_start)
    emptied = TrainingTask(replace(task.data, splits={**task.data.splits, "train": unread}), "hashed")
    plans = [method.release_plan(each, dev) for each in (task, emptied)]
    assert plans[0].keys() == plans[1].keys()
    assert {len(parts) for plan in plans for parts in plan.values()} == {1}
    space = PublicSpace.of(task, 8)
    send = method.sender(PublicSide.of(task, space), space)
    told = [send(np.zeros(0, np.int32), SimulatedNoise(seed)) for seed in range(400)]
    assert {report.sum() for report in told} == {send(train.history(0), SimulatedNoise(0)).sum()}
    assert np.mean(told, axis=0) == pytest.approx(np.full(8, told[0].sum() / 8), abs=0.12)  # five standard errors


# --- settings


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("click_reports", {"epsilon": 0.0}, "epsilon must be above 0"),
        ("click_reports", {"epsilon": math.nan}, "epsilon is a number, not"),
        ("click_reports", {"label_share": 1.0}, "label_share must be at least 0 and below 1"),
        ("click_reports", {"label_share": -0.1}, "label_share must be at least 0 and below 1"),
        ("click_reports", {"epochs": 0}, "epochs must be at least 1"),
        ("click_reports", {"ranking": "server"}, "ranking is one of release, device, not 'server'"),
        ("click_reports", {"topics": 1}, "topics must be 0 or from 2 to 1024"),
        ("click_reports", {"topics": 2.5}, "topics is a whole number"),
        ("click_reports", {"basis": 3}, "click_reports has no setting 'basis'"),
        ("strict_privaterec", {"basis": 1}, "basis must be at least 2"),
        ("strict_privaterec", {"theta": 0.0}, "theta above 0"),
        ("user_codes", {"label_share": 0.3}, "one release for life"),
        ("user_codes", {"epochs": 2}, "one release for life"),
        ("user_codes", {"codes": 1}, "codes must be 0 or from 2 to 1024"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(name, settings, says):
    with pytest.raises(DiscreetError, match=says) as caught:
        make_method(name, settings)
    assert "\n" not in str(caught.value)


def test_more_topics_than_titles_is_one_clear_line():
    few = TrainingTask(news_world(10, articles_per_day=10, seed=1), "hashed")
    with pytest.raises(DiscreetError, match="1000 topics cannot be found in") as caught:
        make_method("click_reports", {"topics": 1000}).train(few, 0)
    assert "\n" not in str(caught.value)


# --- training and ranking


@pytest.mark.parametrize("name", ONE_SHOT)
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_each_trains_ranks_and_is_saved(task, dev, tmp_path, name, epsilon):
    sizes = {"click_reports": {"topics": 12}, "strict_privaterec": {"basis": 12}, "user_codes": {"codes": 12}}
    method = make_method(name, {"epsilon": epsilon, **sizes[name]})
    state = method.train(task, 3)
    scores = method.score(task, state, dev, 3)
    assert scores.shape == dev.shown.shape
    assert np.isfinite(scores).all()
    assert scores.tolist() == method.score(task, method.train(task, 3), dev, 3).tolist(), "same seed, same scores"
    Run(method, state, "made", 3, "hashed").save(tmp_path / "run")
    again = Run.load(tmp_path / "run")
    assert again.method == method
    assert again.method.score(task, again.state, dev, 3).tolist() == scores.tolist()


def test_without_noise_reports_rank_better_than_chance(task, dev):
    method = make_method("click_reports", {"epsilon": math.inf, "topics": 12})
    scores = method.score(task, method.train(task, 0), dev, 0)
    error = ranking_metrics(scores, dev)["auc"].std() / math.sqrt(len(dev))
    assert auc(scores, dev) > 0.5 + 2 * error


def test_an_empty_split_is_scored_with_nothing(trained, task, dev):
    method, state = trained
    assert method.score(task, state, dev.select(np.zeros(0, np.int64)), 1).shape == (0,)


def test_without_labels_none_is_ever_collected_and_content_ranks(task, dev, monkeypatch):
    method = make_method("click_reports", {"epsilon": 2.0, "label_share": 0.0, "topics": 12})
    assert method.epsilon_label == 0
    assert method.epsilon_sketch == 2.0
    collected = []
    monkeypatch.setattr(
        oneshot, "collect_labels", lambda *given: collected.append(collect_labels(*given)) or collected[-1]
    )
    monkeypatch.setattr(type(method), "label_mechanism", lambda *_: pytest.fail("made a label"))
    state = method.train(task, 0)
    method.score(task, state, dev, 0)
    assert collected
    assert not any(labels.reported.any() or labels.inside.any() for labels in collected)
    flat = state["weights"]
    assert flat[0] == 8
    assert not flat[1:].any()
    assert state["heeds_sketches"][0]
    assert "label" not in method.guarantee(state).mechanism


def test_ranking_on_the_device_sends_no_sketch_more(task, dev, monkeypatch):
    settings = {"epsilon": 3.0, "topics": 12}
    by_release = make_method("click_reports", settings)
    by_device = make_method("click_reports", {**settings, "ranking": "device"})
    state = by_release.train(task, 1)
    other = by_device.train(task, 1)
    assert all((state[name] == other[name]).all() for name in state), "who ranks changes nothing of what is learnt"
    assert by_device.guarantee(other) == by_release.guarantee(state)
    asked = []
    monkeypatch.setattr(oneshot, "collect_sketches", lambda *given: asked.append(given) or collect_sketches(*given))
    by_device.score(task, other, dev, 1)
    assert not asked
    by_release.score(task, state, dev, 1)
    assert len(asked) == 1


def test_only_labels_of_the_past_change_a_score(trained, task, dev):
    """What is clicked later cannot change how an earlier slate is ranked, but for rates that hold for all articles."""
    method, state = trained
    flat = dict(state)
    flat["weights"] = state["weights"].copy()
    flat["weights"][1:5] = [0, 0, 5, 0]
    flat["weights"][5:] = 0
    flat["heeds_sketches"] = np.array([False])
    first = dev.time == dev.time.min()
    before_dev = np.repeat(first, dev.slate_sizes)
    scores = method.score(task, flat, dev, 1)
    train = task.data.splits["train"]
    evidence = Evidence.of(
        [(part, collect_labels(part, method.epsilon_label, method.label_mechanism, 1)) for part in (train, dev)],
        method.epsilon_label,
        method.label_mechanism,
    )
    moment = np.repeat(dev.time, dev.slate_sizes)
    assert scores == pytest.approx(5 * evidence.before(dev.shown, moment))
    alone = Evidence.of(
        [(train, collect_labels(train, method.epsilon_label, method.label_mechanism, 1))],
        method.epsilon_label,
        method.label_mechanism,
    )
    known_then = alone.before(dev.shown[before_dev], moment[before_dev])
    assert (np.sign(scores[before_dev]) == np.sign(known_then)).all()


# --- as a server has it


def test_the_served_model_scores_as_the_method_does(trained, task, dev, tmp_path):
    method, state = trained
    folder = tmp_path / "run"
    Run(method, state, "made", 1, "hashed").save(folder)
    served = ServedModel.from_run(Run.load(folder))
    articles, train = task.data.articles, task.data.splits["train"]
    vectors = served.title_vectors(articles.titles)
    personal = served.article_scores(vectors, articles.categories)
    fixed = served.fixed_scores(vectors, articles.categories)
    shows = known.shows(task.data.splits.values())
    labels = [(part, collect_labels(part, method.epsilon_label, method.label_mechanism, 1)) for part in (train, dev)]
    evidence = Evidence.of(labels, method.epsilon_label, method.label_mechanism)
    public = PublicSide.of(task, served.public)
    plan = method.release_plan(task, dev)
    sender = method.sender(public, served.public)
    sketches = collect_sketches(plan, len(task.data.readers), method.topic_count, sender, 1)
    wanted = method.score(task, state, dev, 1)
    for i in range(0, len(dev), 5):
        rows = slice(dev.slate[i], dev.slate[i + 1])
        shown, now = dev.shown[rows], int(dev.time[i])
        moments = np.full(len(shown), now)
        seen = shows.before(shown, moments)
        first_shown = np.where(seen > 0, shows.first(shown, moments), -1)
        popularity = evidence.before(shown, moments)
        base = served.base_scores(fixed[shown], articles.published[shown], first_shown, seen, popularity, now)
        row = sketches.row[dev.reader[i]]
        interest = np.zeros(len(served.space))
        if row >= 0:
            counts = sketches.values[row].astype(np.int64)
            interest = served.interest(counts, int(sketches.clicks[row]), int(sketches.releases[row]))
        assert base + personal[shown] @ interest == pytest.approx(wanted[rows], abs=1e-4)
    assert served.guarantee() == method.guarantee(state)
    assert served.epsilon_sketch + served.epsilon_label == pytest.approx(3.0)


def test_a_run_of_another_method_is_not_served():
    with pytest.raises(DiscreetError, match="a run of recency cannot be served"):
        ServedModel.from_run(Run(Recency(), {}, "made", 0, "hashed"))


# --- the command line


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports") / "world"
    assert run(["data", "synth", str(folder), "--readers", "150", "--seed", "4", "--json"]) == 0
    return folder


@pytest.mark.long
def test_compare_by_the_command_line(world, tmp_path, capsys):
    capsys.readouterr()
    names = ",".join(("content", *ONE_SHOT))
    settings = ["--set", "click_reports.topics=8", "--set", "user_codes.codes=8", "--out", str(tmp_path / "report")]
    arguments = [
        "compare",
        str(world),
        "--methods",
        names,
        "--epsilon",
        "1,inf",
        "--text",
        "hashed",
        "--json",
        *settings,
    ]
    assert run(arguments) == 0
    told = json.loads(capsys.readouterr().out)["methods"]
    assert [(row["method"], row["epsilon"]) for row in told] == [
        ("content", None),
        *((name, epsilon) for name in ONE_SHOT for epsilon in (1.0, "inf")),
    ]
    for row in told[1:]:
        guarantee = row["guarantee"]
        assert guarantee["epsilon"] == row["epsilon"]
        assert guarantee["scope"] == "lifetime"
        assert guarantee["status"] == "proved"
        assert guarantee["unit"] == ("user" if row["method"] == "user_codes" else "click")
        assert 0 < row["auc"]["mean"] < 1


def test_a_wrong_setting_by_the_command_line_is_one_line(world, capsys):
    capsys.readouterr()
    arguments = ["compare", str(world), "--methods", "click_reports", "--set", "label_share=2", "--text", "hashed"]
    assert run(arguments) == 2
    said = capsys.readouterr().err.strip()
    assert "label_share must be at least 0 and below 1, not 2" in said
    assert len(said.splitlines()) == 1
