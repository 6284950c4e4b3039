"""`discreet serve RUN --helper embedded`: both aggregators in one process, which everybody is told."""

import json

import httpx
import pytest
from feed_server import discreet_serve
from served_world import small_world

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.client import Client
from discreet.aggregation.task import Task
from discreet.cli import run
from discreet.edge.reader.sums import Floors
from discreet.methods.front_page.front_page import FrontPage
from discreet.protocol.quality_cells import quality_cells
from discreet.serving.learning.public_terms import PublicTerms, public_terms

EXPERIMENT = """
[experiment]
name = "less popularity"
arms = [{name = "now"}, {name = "half", popularity = 0.5}]
"""
TOKEN = "a-token-of-an-administrator"
LOUD = "ONE PARTY RUNS BOTH AGGREGATORS AND SEES EVERYTHING. NO PROTECTION AGAINST THE PUBLISHER"


@pytest.fixture(scope="module")
def front_page_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "front"
    method = FrontPage(epsilon=0.5, window_minutes=30, popularity_weight=0.7, max_clicks=2)
    method.fit(small_world(), text="hashed").save(folder)
    return folder


def test_a_run_of_front_page_says_how_it_is_served(front_page_run):
    assert public_terms(front_page_run) == PublicTerms("hashed", 0.7, 0.5, 2, 1800)


@pytest.mark.long
def test_a_trial_with_both_aggregators_inside(front_page_run, tmp_path):
    (tmp_path / "feed.csv").write_text("id,title\n1,Harbour opens a new pier\n2,Choir sings in the square\n")
    flags = ["--feed", str(tmp_path / "feed.csv"), "--helper", "embedded", "--config", str(tmp_path / "arms.toml")]
    flags += ["--weights-share", "0.2"]
    (tmp_path / "arms.toml").write_text(EXPERIMENT)
    (tmp_path / "token").write_text(TOKEN)
    flags += ["--exposure", "logged", "--admin-token-file", str(tmp_path / "token")]
    ids = []
    for _ in range(2):  # a second start has the same task, unless its address is another
        with discreet_serve(tmp_path, str(front_page_run), *flags) as base:
            model = httpx.get(f"{base}/v1/model").json()
            assert (model["kind"], model["ranking"]) == ("public", "local")
            assert sum(LOUD in line for line in model["words"]) == 1
            task, quality, weights = map(Task.from_json, httpx.get(f"{base}/v1/tasks").json()["tasks"])
            assert (weights.epsilon, weights.measure) == (0.1, "weights of features")
            ids.append((task.leader, task.helper, task.id))
            assert (task.epsilon, task.window_seconds, task.leader) == (0.35, 1800, f"{base}/dap")
            assert (quality.epsilon, quality.window_seconds, quality.measure) == (0.05, 86_400, "ranking quality")
            cells = httpx.get(f"{base}/v1/cells/{quality.cells}").json()["cells"]
            assert cells == quality_cells([f"{model['experiment']['id']}/{arm}" for arm in ("now", "half")])
            assert LOUD in task.purpose
            shown = httpx.post(
                f"{base}/v1/admin/slates",
                json=[{"articles": ["1", "2"], "shown": 7}],
                headers={"Authorization": f"Bearer {TOKEN}"},
            )
            assert (shown.status_code, shown.json()) == (200, {"slates": 1})
            assert Floors(helpers=frozenset({task.helper})).refusal(task) is None
            Client(task).upload(0, Contribution.of(task, task.nothing()))  # the leader is there, and the helper's key
        log = (tmp_path / "log").read_text()
        assert LOUD in log
        assert "Traceback" not in log
    first, second = ids
    assert (first[0] == second[0]) == (first[2] == second[2])
    assert first[1] == second[1]


def test_what_cannot_be_tried_is_refused(front_page_run, tmp_path, capsys):
    (tmp_path / "feed.csv").write_text("id,title\n1,Harbour opens a new pier\n")
    FrontPage(epsilon=float("inf")).fit(small_world(), text="hashed").save(tmp_path / "exact")
    feed = ["--feed", str(tmp_path / "feed.csv"), "--port", "0"]
    for wrong, why in (
        ([str(tmp_path / "exact"), "--helper", "embedded"], "no noise"),
        ([str(front_page_run), "--ranking", "server"], "rank by themselves"),
        ([str(front_page_run), "--exposure", "logged"], "needs sums"),
        ([str(front_page_run), "--helper", "embedded", "--aggregate", "x.toml"], "leave --aggregate out"),
        ([str(front_page_run), "--helper", "embedded", "--host", "0.0.0.0"], "on one machine"),
    ):
        assert run(["serve", *wrong, *feed]) == 2
        error = capsys.readouterr().err
        assert why in error
        assert error.count("\n") == 1


def test_settings_are_checked_for_a_run_of_front_page(front_page_run, capsys):
    assert run(["serve", str(front_page_run), "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] is None
