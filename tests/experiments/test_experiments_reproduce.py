"""The thesis' tables and figures, on generated ratings, and Table 1's averages on the real ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.cli import run
from discreet.data.open import open_ratings
from discreet.data.ratings import Ratings
from discreet.data.synthetic.rating_world import ratings_world
from discreet.errors import DiscreetError
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.reproduce import (
    EXPERIMENTS,
    ReproductionSettings,
    _global_average,
    _item_averages,
    _rmse,
    reproduce,
)
from discreet.vendors.partition import folds


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return ratings_world(160, 60, 3000, seed=2)


@pytest.mark.long
@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_experiment_runs_and_is_written(name: str, ratings: Ratings, tmp_path: Path) -> None:
    found = reproduce(
        name, ratings, ReproductionSettings(iterations=4, cache=MeasurementCache(tmp_path / "measurements"))
    )
    found.save(tmp_path)
    assert all(0.3 < row.ours.mean < 3 for row in found.rows)
    assert "come" in found.remarks[0].split(": ")[1]  # a verdict on what the thesis says
    told = json.loads((tmp_path / f"{name}.json").read_text())
    assert [row["rmse"]["mean"] for row in told["rows"]] == [row.ours.mean for row in found.rows]
    assert (tmp_path / f"{name}.svg").read_text().startswith("<?xml")
    assert found.rows[0].line in (tmp_path / f"{name}.md").read_text()


@pytest.mark.parametrize("name", ["table-1", "figure-1b"])
def test_at_the_thesis_settings_a_fifth_is_tested_and_all_ratings_stand_beside(name: str, ratings: Ratings) -> None:
    found = reproduce(name, ratings, ReproductionSettings(iterations=4, thorough=True))
    lines = {row.line for row in found.rows}
    assert {"biased MF, no privacy"} <= lines or {"all ratings, mean of all vendors"} <= lines
    assert all(0.3 < row.ours.mean < 3 for row in found.rows)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("figure-2", marks=pytest.mark.long),
        pytest.param("figure-3", marks=pytest.mark.long),
        pytest.param("figure-4", marks=pytest.mark.slow),
    ],
)
def test_every_figure_runs_at_the_thesis_settings(name: str) -> None:
    small = ratings_world(120, 90, 2400, seed=2)
    found = reproduce(name, small, ReproductionSettings(iterations=4, thorough=True))
    lines = {row.line for row in found.rows}
    expected = {
        "figure-2": {f"FMF, {count} vendors" for count in (2, 5, 10, 18)},
        "figure-3": {"local, 40 vendors", "FMF, user, 10 vendors"},
        "figure-4": {"each vendor alone", "each vendor alone, plain prior", "DPALS, ε = 20, all ratings"},
    }
    assert expected[name] <= lines
    if name == "figure-2":
        assert any(line.startswith("FMF, ") and line.endswith(" vendors by genre") for line in lines)
    if name == "figure-3":
        of_users = {row.x for row in found.rows if row.line == "FMF, user, 40 vendors"}
        assert of_users == {0.5, 1, 2, 3, 4, 5}
        of_ratings = {row.x for row in found.rows if row.line == "FMF, rating existence, 10 vendors"}
        assert of_ratings == {0.037, 0.055, 0.086, 0.174, 0.355, 0.944}
    if name == "figure-4":
        assert {row.x for row in found.rows if row.line == "each vendor alone, plain prior"} == {*range(1, 11)}


def test_table_1_has_what_is_reported_beside_ours(
    ratings: Ratings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "world.csv"
    rows = zip(ratings.user, ratings.item, ratings.value, strict=True)
    path.write_text("\n".join(["user,item,rating", *(f"{user},{item},{value:g}" for user, item, value in rows)]))
    arguments = ["reproduce", "table-1", str(path), "--seeds", "2", "--out", str(tmp_path / "out")]
    assert run([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {row["what"]: row["reported"] for row in told["rows"]}["DP movie averages"] == 0.98
    assert all(row["rmse"]["se"] > 0 for row in told["rows"])
    assert run(arguments) == 0
    assert "Reported" in capsys.readouterr().out


def test_an_unknown_name_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "table-9", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "no experiment 'table-9'; known are" in capsys.readouterr().err
    with pytest.raises(DiscreetError, match="known are"):
        reproduce("table-9", ratings_world(20, 20, 100), ReproductionSettings())


@pytest.mark.realdata
def test_table_1_averages_on_movielens_1m(shared_data: Path) -> None:
    fold = folds(open_ratings(shared_data / "movielens" / "ml-1m.zip"))[0]
    assert _rmse(_global_average(fold.train, 0.1, 0), fold) == pytest.approx(1.12, abs=0.01)
    assert _rmse(_item_averages(fold.train, 0.1, 0), fold) == pytest.approx(1.03, abs=0.02)
