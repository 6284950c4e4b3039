"""`front_page` from the command line: train, evaluate, compare with all metrics."""

import json

import pytest

from discreet.cli import run


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("front") / "world"
    assert run(["data", "synth", str(folder), "--readers", "120", "--seed", "9", "--json"]) == 0
    return str(folder)


def told(capsys, *arguments):
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_train_and_evaluate(world, tmp_path, capsys):
    out = str(tmp_path / "run")
    assert run(["train", world, "--method", "front_page", "--epsilon", "1", "--text", "hashed", "--out", out]) == 0
    (method,) = told(capsys, "evaluate", out, world)["methods"]
    assert method["guarantee"]["scope"] == "one day"
    assert method["guarantee"]["adversary"] == "publisher and one aggregator"


def test_all_metrics_are_told_and_found_again(world, tmp_path, capsys):
    out = str(tmp_path / "report")
    arguments = ("compare", world, "--methods", "content,front_page", "--text", "hashed", "--out", out)
    plain = told(capsys, *arguments)["methods"][1]
    assert "lift@5" not in plain
    for reused in (0, 1):
        method = told(capsys, *arguments, "--metrics", "all")["methods"][1]
        assert method["reused"] == reused
        assert method["auc"] == plain["auc"]
        assert 0 < method["coverage@5"]["mean"] <= 1
        assert "mean" in method["diversity@5"]
        assert "lift@5" in method["difference"]
    assert "Popularity lift@5" in (tmp_path / "report" / "comparison.md").read_text()


def test_unknown_metrics_are_refused(world, tmp_path, capsys):
    assert run(["compare", world, "--metrics", "some", "--out", str(tmp_path / "report")]) == 2
    assert "--metrics is accuracy or all, not 'some'" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "report").exists()
