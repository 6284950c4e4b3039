"""`discreet vendors compare` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.cli import run
from discreet.data.synthetic.rating_world import ratings_world

FAST = ["--rank", "1", "--iterations", "5"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vendors") / "world.csv"
    made = ratings_world(90, 40, 1500, seed=8)
    lines = [
        f"{made.users[user]},{made.items.ids[item]},{value:g}"
        for user, item, value in zip(made.user, made.item, made.value, strict=True)
    ]
    path.write_text("\n".join(["user,item,rating", *lines]))
    return path


def test_json_is_the_contract(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = ["vendors", "compare", str(world), "--vendors", "3", "--epsilon", "1,inf", "--out", str(out), *FAST]
    assert run([*arguments, "--methods", "local,full,dpals,sharing", "--json"]) == 0
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert set(told) == {"ratings", "vendors", "settings", "tested", "versions", "methods"}
    assert told["settings"]["seed"] == 0
    assert (told["ratings"], told["vendors"]) == ("world", 3)
    named = [(method["method"], method["epsilon"]) for method in told["methods"]]
    assert named == [("local", None), ("full", None), ("dpals", 1.0), ("dpals", "inf"), ("sharing", 1.0)]
    fields = {"method", "settings", "epsilon", "reused", "rmse", "gain", "gap_closed", "vendors_gaining", "guarantee"}
    for method in told["methods"]:
        assert set(method) == fields
        assert set(method["rmse"]) == set(method["gain"]) == {"mean", "se"}
    assert told["methods"][0]["guarantee"] is None
    assert told["methods"][4]["guarantee"]["unit"] == "user"
    assert "refused: sharing, ε inf" in printed.err
    assert json.loads((out / "comparison.json").read_text()) == told
    assert {"report.html", "comparison.md", "rmse.svg", "tail.svg", "gains.svg"} <= {p.name for p in out.iterdir()}


def test_same_seed_same_result_and_another_differs(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(seed: str, folder: str) -> str:
        arguments = ["vendors", "compare", str(world), "--vendors", "2", "--methods", "sharing", "--epsilon", "5"]
        assert run([*arguments, "--seed", seed, "--out", str(tmp_path / folder), "--json", *FAST]) == 0
        return capsys.readouterr().out

    assert told("1", "a") == told("1", "b") != told("2", "c")


def test_table_and_verdict_for_people(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "vendors",
        "compare",
        str(world),
        "--vendors",
        "2",
        "--methods",
        "full,global_mean",
        "--sizes",
        "unequal",
    ]
    assert run([*arguments, "--out", str(tmp_path / "out"), *FAST]) == 0
    out = capsys.readouterr().out
    assert "global_mean" in out
    assert "No private method was measured" in out
    assert "report.html" in out


def _csv(*rows: str) -> str:
    return "\n".join(["user,item,rating", *rows])


MANY = [f"u{user},i{item},{1 + (user + item) % 5}" for user in range(8) for item in range(6)]


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        (_csv(*MANY, "u1,new,9"), ["--scale", "1,5"], "rates item new with 9, outside of the scale 1 to 5"),
        (_csv(*MANY, "u1,i1,3"), [], "u1 rates item i1 a second time"),
        (_csv(*MANY, "u1,new,good"), [], "the rating 'good' is not a number"),
        (_csv(*MANY, "u1,new,nan"), [], "the rating 'nan' is not a number"),
        (_csv(*(f"only,i{item},{1 + item % 5}" for item in range(9))), [], "1 user cannot be split"),
        (_csv(*MANY), ["--vendors", "1"], "give at least 2 vendors"),
        (_csv(*MANY), ["--vendors", "0"], "give at least 2 vendors"),
        (_csv(*MANY), ["--vendors", "9"], "8 users cannot be dealt out to 9 vendors"),
        (_csv("a,i,1", "b,i,5"), ["--vendors", "2"], "1 rating cannot be cut into 2 parts"),
        (_csv("a,i,3", "b,i,3", "c,j,3"), [], "all ratings are 3"),
        (_csv(), [], "holds no ratings"),
        ("", [], "holds no ratings"),
        (_csv(*MANY), ["--scale", "5,1"], "--scale takes"),
        (_csv(*MANY), ["--epsilon", "-1"], "--epsilon takes positive numbers"),
        (_csv(*MANY), ["--epsilon", ","], "--epsilon takes positive numbers"),
        (_csv(*MANY), ["--methods", "magic"], "no vendors' method is called 'magic'"),
        (_csv(*MANY), ["--reported", "20", "--vendors", "4"], "1 to 4 can be reported"),
        (_csv(*MANY), ["--folds", "40", "--vendors", "4"], "cannot be cut into 40 parts"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    text: str, options: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    given = [] if "--vendors" in options else ["--vendors", "2"]
    arguments = ["vendors", "compare", str(path), "--out", str(tmp_path / "out"), *given, *FAST, *options]
    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    assert problem in err
    assert not (tmp_path / "out").exists()


def test_a_movielens_rating_outside_of_its_stars_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ratings.dat").write_text(
        "\n".join(f"{u}::{i}::{11 if u == i == 1 else 3}::0" for u in (1, 2) for i in (1, 2))
    )
    (tmp_path / "movies.dat").write_text("1::One (1999)::Drama\n2::Two (2000)::Comedy\n")
    assert run(["vendors", "compare", str(tmp_path), "--vendors", "2", "--out", str(tmp_path / "out")]) == 2
    assert "user 1 rates item 1 with 11, outside of the scale 0.5 to 5" in capsys.readouterr().err


def test_huge_ids_are_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(
        _csv(*(f"{10**30 + user},{10**25 + item},{1 + (user * item) % 5}" for user in range(8) for item in range(6)))
    )
    arguments = ["vendors", "compare", str(path), "--vendors", "2", "--methods", "global_mean", "--json"]
    assert run([*arguments, "--out", str(tmp_path / "out"), *FAST]) == 0
    assert json.loads(capsys.readouterr().out)["methods"][1]["method"] == "global_mean"


def test_list_names_vendors_methods_and_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.experiments.reproduce import EXPERIMENTS
    from discreet.vendors.vendor_registry import METHODS

    assert run(["list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["method"] for each in told["vendor_methods"]] == list(METHODS)
    assert set(EXPERIMENTS) <= {each["experiment"] for each in told["experiments"]}
    assert run(["list"]) == 0
    assert "sharing" in capsys.readouterr().out
