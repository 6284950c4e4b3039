"""Presets by paper: what train and compare make of them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from discreet.cli import run
from discreet.experiments.ranking_comparison import variants
from discreet.methods.method_registry import make_method
from discreet.methods.published.fednewsrec import FedNewsRec
from discreet.methods.published.paper_presets import PAPER_PRESETS
from discreet.methods.run import Run


@pytest.mark.parametrize("name", list(PAPER_PRESETS))
def test_every_setting_of_a_preset_fits_its_methods(name: str) -> None:
    preset = PAPER_PRESETS[name]
    used = set()
    for method in preset.methods:
        settings = preset.settings_for(method, {})
        assert make_method(method, settings).model == preset.model
        used |= {key for key in preset.settings if key.split(".")[-1] in settings}
    assert used == set(preset.settings)
    plain = {key.split(".")[-1] for key in preset.settings}
    assert all(key in preset.settings or key.startswith("model.") or key in plain for key in preset.not_stated)


def test_fednewsrec_is_as_its_section_4_1_says() -> None:
    method = make_method("fednewsrec", PAPER_PRESETS["fednewsrec-paper"].settings_for("fednewsrec", {}))
    assert isinstance(method, FedNewsRec)
    assert method.clip == 0.005
    assert method.noise_scale(1) == pytest.approx(0.015)
    assert (method.rate, method.fraction, method.negatives) == (0.5, 0.02, 4)
    assert (method.chosen_model.size, method.chosen_model.heads) == (400, 20)


def test_what_is_given_comes_before_the_paper() -> None:
    preset = PAPER_PRESETS["privaterec-paper"]
    settings = preset.settings_for("privaterec", {"rate": 0.5, "model": "naml", "dp_fedrec.rate": 0.7})
    assert (settings["rate"], settings["model"], settings["rounds"]) == (0.5, "naml", 1500)


def test_train_takes_the_method_from_the_preset(world: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    small = ["--rounds", "1", "--set", "preset=small", "--set", "fraction=0.1", "--text", "hashed"]
    assert run(["train", str(world), "--preset", "fednewsrec-paper", *small, "--out", str(out)]) == 0
    method = Run.load(out).method
    assert isinstance(method, FedNewsRec)
    assert (method.model, method.rate, method.rounds) == ("fednewsrec", 0.5, 1)


def test_compare_takes_methods_and_budgets_from_the_preset(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--set", "rounds=1", "--set", "preset=small", "--set", "fraction=0.05", "--text", "hashed"]
    out = ["--out", str(tmp_path / "report"), "--json"]
    assert run(["compare", str(world), "--preset", "fednewsrec-paper", *small, *out]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in told["methods"]] == ["fednewsrec", "centralized"]
    assert {row["settings"]["rate"] for row in told["methods"]} == {0.5, 1e-4}
    preset = PAPER_PRESETS["privaterec-paper"]
    given = {f"dp_fedrec.{key}": value for key, value in preset.settings_for("dp_fedrec", {}).items()}
    assert [method.epsilon for method in variants(["dp_fedrec"], given, preset.epsilons)] == [1, 5, 10, 20, math.inf]


def test_no_method_and_no_preset_is_one_line(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, line in (
        (["train", str(world), "--out", str(tmp_path / "run")], "say how to train"),
        (
            ["train", str(world), "--preset", "fednewsrec-papr", "--out", str(tmp_path / "run")],
            "--preset fednewsrec-papr is of no paper (fednewsrec-paper, privaterec-paper)",
        ),
        (
            ["train", str(world), "--method", "fedrec", "--preset", "privaterec-papr", "--out", str(tmp_path / "run")],
            "there is no preset 'privaterec-papr' of a paper; there are fednewsrec-paper, privaterec-paper",
        ),
        (
            ["train", str(world), "--method", "fedrec", "--preset", "smal", "--out", str(tmp_path / "run")],
            "unknown preset 'smal'; choose one of published, frozen, small",
        ),
        (["compare", str(world), "--preset", "other", "--out", str(tmp_path / "out")], "no preset 'other' of a paper"),
    ):
        assert run(arguments) == 2
        assert line in capsys.readouterr().err
