"""The commands as a user runs them, on a small generated world."""

import json
import subprocess
import sys

import pytest

from discreet.cli import run


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "world"
    assert run(["data", "synth", str(folder), "--readers", "200", "--seed", "5", "--json"]) == 0
    return folder


def test_compare_prints_the_contract_and_writes_the_report(world, tmp_path, capsys):
    out = tmp_path / "report"
    arguments = ["compare", str(world), "--methods", "random,popularity,content", "--text", "hashed", "--out", str(out)]
    assert run([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["split"] == "dev"
    assert [method["method"] for method in told["methods"]] == ["random", "popularity", "content"]
    for method in told["methods"]:
        measured = {"auc", "mrr", "ndcg@5", "ndcg@10", "difference"}
        assert measured | {"method", "model", "epsilon", "settings", "seeds", "reused", "guarantee"} <= set(method)
        assert 0 < method["auc"]["mean"] < 1
        assert method["auc"]["se"] > 0
    assert {"report.html", "comparison.json", "comparison.md", "auc.svg"} <= {path.name for path in out.iterdir()}
    assert json.loads((out / "comparison.json").read_text()) == told


def test_compare_goes_on_where_it_stopped(world, tmp_path, capsys, monkeypatch):
    from discreet.methods.baselines import Content

    out = tmp_path / "report"
    arguments = ["compare", str(world), "--methods", "random,content", "--text", "hashed", "--out", str(out), "--json"]
    interrupted = pytest.MonkeyPatch()
    interrupted.setattr(Content, "score", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run(arguments) == 130
    assert "Interrupted; nothing was left half-written. The same command goes on" in capsys.readouterr().err
    interrupted.undo()
    assert not (out / "report.html").exists()
    kept = list((out / "measurements").iterdir())
    assert [path.name.split("-")[0] for path in kept] == ["random"]
    capsys.readouterr()
    assert run(arguments) == 0
    first = json.loads(capsys.readouterr().out)
    assert [method["reused"] for method in first["methods"]] == [1, 0]
    monkeypatch.setattr(Content, "score", lambda *_: pytest.fail("measured again"))
    assert run(arguments) == 0
    again = json.loads(capsys.readouterr().out)
    assert [method["reused"] for method in again["methods"]] == [1, 1]
    assert [method["auc"] for method in again["methods"]] == [method["auc"] for method in first["methods"]]
    assert run(arguments[:-1]) == 0
    assert "Reused from an earlier comparison: random; content" in " ".join(capsys.readouterr().out.split())


def test_train_then_evaluate_gives_what_compare_gives(world, tmp_path, capsys):
    trained = tmp_path / "run"
    assert run(["train", str(world), "--method", "combined", "--text", "hashed", "--out", str(trained), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarantee"] is None
    assert run(["evaluate", str(trained), str(world), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["seeds"], "hashed words" in told["text"]) == ([0], True)
    evaluated = told["methods"][0]
    compare = [
        "compare",
        str(world),
        "--methods",
        "combined",
        "--text",
        "hashed",
        "--out",
        str(tmp_path / "r"),
        "--json",
    ]
    assert run(compare) == 0
    assert evaluated == json.loads(capsys.readouterr().out)["methods"][0]
    assert run(["train", str(world), "--method", "combined", "--text", "hashed", "--out", str(trained)]) == 2
    assert "--overwrite" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["missing", "not json", "newer", "no weights", "bad weights", "unknown method"])
def test_a_damaged_run_is_refused_in_one_line(world, tmp_path, capsys, damage):
    trained = tmp_path / "run"
    assert run(["train", str(world), "--method", "combined", "--text", "hashed", "--out", str(trained)]) == 0
    about = trained / "run.json"
    match damage:
        case "missing":
            about.unlink()
        case "not json":
            about.write_text("{")
        case "newer":
            about.write_text(about.read_text().replace('"format": 1', '"format": 99'))
        case "no weights":
            (trained / "state.safetensors").unlink()
        case "bad weights":
            (trained / "state.safetensors").write_bytes(b"\x00" * 5)
        case "unknown method":
            about.write_text(about.read_text().replace('"combined"', '"nothing"'))
    capsys.readouterr()
    assert run(["evaluate", str(trained), str(world)]) == 2
    assert_one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "nowhere"],
        ["compare", "{world}", "--methods", "nothing"],
        ["compare", "{world}", "--epsilon", "minus one"],
        ["compare", "{world}", "--epsilon", "-1"],
        ["compare", "{world}", "--methods", ""],
        ["compare", "{world}", "--methods", "fedrec", "--set", "rounds=many"],
        ["compare", "{world}", "--methods", "fedrec", "--set", "rounds=2.5"],
        ["compare", "{world}", "--methods", "privaterec", "--set", "theta=wide"],
        ["compare", "{world}", "--methods", "privaterec", "--set", "padding=2"],
        ["compare", "{world}", "--methods", "privaterec", "--set", "basis=0"],
        ["compare", "{world}/dev", "--methods", "combined", "--text", "hashed"],
        ["train", "{world}", "--method", "privaterec", "--epsilon", "1,2", "--out", "{tmp}/x"],
        ["data", "synth", "/dev/null/world", "--readers", "60"],
        ["compare", "{world}", "--split", "future", "--text", "hashed"],
        ["compare", "{world}", "--text", "no/such/model"],
        ["evaluate", "nowhere", "{world}"],
        ["train", "nowhere", "--method", "content", "--out", "{tmp}/x"],
        ["data", "check", "nowhere"],
        ["data", "check", "{tmp}"],
        ["nonsense"],
        ["compare"],
    ],
)
def test_bad_input_is_one_line_and_code_2_and_leaves_nothing(world, tmp_path, capsys, arguments):
    before = sorted(tmp_path.rglob("*"))
    filled = [word.format(world=world, tmp=tmp_path) for word in arguments]
    if arguments[0] == "compare":
        filled += ["--out", str(tmp_path / "report")]
    assert run(filled) == 2
    told = capsys.readouterr()
    assert_one_line(told.err)
    assert told.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_half_of_the_readers_train(world, tmp_path, capsys):
    arguments = ["compare", str(world), "--methods", "popularity", "--out", str(tmp_path / "r"), "--json"]
    assert run([*arguments, "--half"]) == 0
    half = json.loads(capsys.readouterr().out)["methods"][0]
    assert run(arguments) == 0
    whole = json.loads(capsys.readouterr().out)["methods"][0]
    assert half["auc"] != whole["auc"]


def test_so_many_readers_train(world, tmp_path, capsys):
    arguments = ["--methods", "popularity", "--out", str(tmp_path / "r"), "--json"]
    found = {}
    for readers in ("20", "200"):
        assert run(["compare", str(world), *arguments, "--readers", readers]) == 0
        found[readers] = json.loads(capsys.readouterr().out)["methods"][0]["auc"]
    assert run(["compare", str(world), *arguments]) == 0
    assert found["200"] == json.loads(capsys.readouterr().out)["methods"][0]["auc"] != found["20"]
    for wrong in (["--readers", "201"], ["--readers", "20", "--half"]):
        for command in (["compare", str(world), *arguments], ["train", str(world), "--method", "popularity"]):
            out = [] if command[0] == "compare" else ["--out", str(tmp_path / "run")]
            assert run([*command, *out, *wrong]) == 2
            assert_one_line(capsys.readouterr().err)
    assert not (tmp_path / "run").exists()


def test_check_counts_the_world(world, capsys):
    assert run(["data", "check", str(world), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["readers"] == 200
    assert run(["data", "check", str(world)]) == 0
    assert "200" in capsys.readouterr().out


def test_synth_refuses_to_overwrite(world, capsys):
    assert run(["data", "synth", str(world)]) == 2
    assert_one_line(capsys.readouterr().err)


def test_list_names_every_method(capsys):
    from discreet.methods.method_registry import METHODS

    assert run(["list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [method["method"] for method in told["methods"]] == list(METHODS)
    assert run(["list"]) == 0
    assert "popularity" in capsys.readouterr().out


def test_help_teaches_and_answers_at_once():
    command = [sys.executable, "-X", "importtime", "-m", "discreet", "compare", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert "official layout" in done.stdout, "arguments must have their help"
    assert "torch" not in done.stderr, "help must not wait for heavy libraries"
    assert "scipy" not in done.stderr


def assert_one_line(told):
    lines = [line for line in told.splitlines() if line.strip()]
    assert len(lines) == 1, told
    assert lines[0].startswith("discreet: ")


def test_an_interrupted_training_is_resumed(world, tmp_path, capsys, monkeypatch):
    from discreet.methods.published.privaterec import PrivateRec

    def arguments(name):
        settings = ["--rounds", "4", "--set", "fraction=0.05", "--text", "hashed", "--seed", "3"]
        return ["train", str(world), "--method", "privaterec", "--out", str(tmp_path / name), *settings]

    assert run(arguments("whole")) == 0
    contribution = PrivateRec.contribution

    def interrupted(self, setup, parameters, number, *others):
        if number == 3:
            raise KeyboardInterrupt
        return contribution(self, setup, parameters, number, *others)

    monkeypatch.setattr(PrivateRec, "contribution", interrupted)
    assert run(arguments("broken")) == 130
    assert "--resume" in capsys.readouterr().err
    monkeypatch.undo()
    assert not (tmp_path / "broken").exists()
    capsys.readouterr()
    assert run(arguments("broken")) == 2
    assert "--resume" in capsys.readouterr().err
    assert run([*arguments("broken"), "--resume"]) == 0
    assert not (tmp_path / "broken.checkpoint").exists()
    whole, resumed = ((tmp_path / name / "rounds.csv").read_text().splitlines()[:5] for name in ("whole", "broken"))
    assert whole == resumed, "the curve goes on where it stopped"
    assert {path.name for path in (tmp_path / "whole").iterdir()} == {
        "run.json",
        "state.safetensors",
        "rounds.csv",
        "curve.svg",
        "discreet.sha256",
    }


def test_private_serving_stands_beside_ranking_on_the_device(world, tmp_path, capsys):
    trained = tmp_path / "run"
    settings = ["--rounds", "3", "--epsilon", "inf", "--set", "fraction=0.05", "--text", "hashed"]
    assert run(["train", str(world), "--method", "privaterec", "--out", str(trained), *settings]) == 0
    capsys.readouterr()
    assert run(["evaluate", str(trained), str(world), "--epsilon-serving", "1,inf", "--json"]) == 0
    local, noised, clear = json.loads(capsys.readouterr().out)["methods"]
    assert local["method"] == "privaterec"
    assert local["epsilon"] == "inf"
    assert local["guarantee"]["epsilon"] == "inf"
    assert noised["guarantee"]["claimed_epsilon"] == pytest.approx(1)
    assert noised["guarantee"]["epsilon"] == pytest.approx(2.1, abs=0.01)
    assert clear["guarantee"]["epsilon"] == "inf"
    assert run(["evaluate", str(trained), str(world), "--epsilon-serving", "1"]) == 0
    assert "claimed ε = 1, true ε = 2.096 per click (substitute) against the server, one release [claimed;" in (
        capsys.readouterr().out
    )


def test_a_baseline_has_no_private_serving(world, tmp_path, capsys):
    trained = tmp_path / "run"
    assert run(["train", str(world), "--method", "random", "--out", str(trained)]) == 0
    capsys.readouterr()
    assert run(["evaluate", str(trained), str(world), "--epsilon-serving", "1"]) == 2
    assert_one_line(capsys.readouterr().err)
