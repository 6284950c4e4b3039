"""Vendors with files of their own: rehearsed, shared with a process each, read into a model file, and shared again."""

import json

import polars as pl
import pytest
from sharing_consortium import catalogue_options, write_csv

import discreet as d
from discreet.cli import run
from discreet.data.synthetic.rating_world import ratings_world
from discreet.vendors.partition import partition

QUICK = ["--rank", "2", "--iterations", "8"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    dealt = partition(ratings_world(90, 40, 1800, seed=4), 3)
    return [write_csv(part, folder / f"vendor-{number}.csv") for number, part in enumerate(dealt)]


def given(files):
    listed = catalogue_options(files[0].with_name("items.txt"), ratings_world(90, 40, 1800, seed=4).items.ids)
    return [*listed, *(word for file in files for word in ("--vendor", str(file)))]


@pytest.mark.long
def test_from_files_to_predictions_and_to_the_end_of_the_budget(files, tmp_path, capsys):
    places = ["--nodes-folder", str(tmp_path / "nodes"), "--max-epsilon", "8"]
    first = ["vendors", "share", *given(files), "--epsilon", "5", "--out", str(tmp_path / "first"), *places]
    assert run([*first, "--engine", "processes"]) == 0
    said = capsys.readouterr()
    assert "protects nobody" not in said.out, "the noise is secure"
    node = tmp_path / "nodes" / "node-2"
    arguments = ["vendors", "read", str(tmp_path / "first"), str(node), "--out", str(tmp_path / "model"), *QUICK]
    assert run([*arguments, "--top", "4"]) == 0
    assert "5 spent of 8; 3 left" in capsys.readouterr().out
    predictions = pl.read_csv(tmp_path / "model" / "predictions.csv")
    fitted = d.Recommender.load(tmp_path / "model" / "model.safetensors")
    assert len(predictions) == 4 * len(fitted.users)
    assert fitted.recommend(fitted.users[0], 1)[0].item == str(predictions["item"][0])

    month = ["vendors", "share", *given(files), "--name", "next month", *places]
    assert run([*month, "--epsilon", "5", "--out", str(tmp_path / "refused")]) == 2
    assert "more than the ε = 8" in capsys.readouterr().err
    assert run([*month, "--epsilon", "3", "--out", str(tmp_path / "second")]) == 0
    capsys.readouterr()
    assert run(["vendors", "read", str(tmp_path / "second"), str(node), *QUICK, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tested"] > 0


def test_own_files_are_compared(files, tmp_path, capsys):
    arguments = ["vendors", "compare", *given(files), "--methods", "local,full,sharing", "--epsilon", "5", *QUICK]
    assert run([*arguments, "--out", str(tmp_path / "report"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["vendors"] == 3
    assert [each["vendor"] for each in told["methods"][0]["by_vendor"]] == ["vendor-0", "vendor-1", "vendor-2"]
    assert told["settings"]["dealing"] == "own files"


def test_a_rehearsal_needs_no_data_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["vendors", "share", "--dry-run", "--vendors", "3", "--epsilon", "5"]) == 0
    assert "It works here." in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [[], ["RATINGS", "--vendor", "a.csv"]])
def test_ratings_or_files_are_given_not_both(arguments, files, capsys):
    known = {"RATINGS": str(files[0]), "a.csv": str(files[1])}
    words = [known.get(word, word) for word in arguments]
    for command in ("compare", "share"):
        assert run(["vendors", command, *words, "--epsilon", "5"]) == 2
        assert "not both" in capsys.readouterr().err


def test_partitions_by_the_command_line(files, tmp_path, capsys):
    arguments = ["vendors", "compare", str(files[0]), "--vendors", "2", "--methods", "local", *QUICK, "--json"]
    assert run([*arguments, "--partition", "overlap=0.5", "--out", str(tmp_path / "a")]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["dealing"] == "overlap=0.5"
    assert run([*arguments, "--partition", "colour", "--out", str(tmp_path / "b")]) == 2
    assert "a partition is random" in capsys.readouterr().err


def test_a_file_that_is_given_twice_is_no_second_vendor(files, tmp_path, capsys):
    folder = tmp_path / "nodes"
    for command in (["compare"], ["share", "--nodes-folder", str(folder)]):
        twice = ["vendors", *command, *given([files[0], files[1], files[0]]), "--epsilon", "5"]
        assert run([*twice, "--out", str(tmp_path / "out")]) == 2
        assert "vendors 1 and 3 (vendor-0, vendor-0) have the very same data" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
