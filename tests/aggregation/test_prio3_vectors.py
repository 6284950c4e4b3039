"""Test vectors: the project's own, the draft's where they are, and ones that were tampered with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from prio3_vectors import all_vectors
from typer.testing import CliRunner

from discreet.aggregation.prio3.vectors import check_vector
from discreet.cli import main
from discreet.cli.app import app
from discreet.errors import DiscreetError

OWN = Path(__file__).parent / "vectors"


@pytest.mark.parametrize("path", sorted(OWN.glob("*.json")), ids=lambda path: path.stem)
def test_own_vectors_hold(path: Path) -> None:
    assert check_vector(path).operations == len(json.loads(path.read_text(encoding="utf-8"))["operations"])


def test_own_vectors_are_made_by_their_script() -> None:
    for name, vector in all_vectors().items():
        assert json.loads((OWN / f"{name}.json").read_text(encoding="utf-8")) == vector, name


@pytest.mark.specs
def test_the_drafts_vectors_hold(shared_specs: Path) -> None:
    folder = shared_specs / "vdaf" / "test_vec"
    paths = [*sorted((folder / "vdaf").glob("Prio3*.json")), folder / "XofTurboShake128.json"]
    assert len(paths) > 15
    for path in paths:
        check_vector(path)


def rewritten(tmp_path: Path, name: str, change: Any) -> Path:
    vector = json.loads((OWN / f"{name}.json").read_text(encoding="utf-8"))
    change(vector)
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(vector), encoding="utf-8")
    return path


def flipped(text: str) -> str:
    return text[:-1] + ("0" if text[-1] != "0" else "1")


@pytest.mark.parametrize(
    "place",
    [
        ("reports", 0, "public_share"),
        ("reports", 0, "input_shares", 0),
        ("reports", 0, "input_shares", 1),
        ("reports", 0, "verifier_shares", 0, 1),
        ("reports", 0, "verifier_messages", 0),
        ("reports", 0, "out_shares", 1),
        ("agg_shares", 0),
        ("verify_key",),
        ("ctx",),
        ("reports", 0, "nonce"),
        ("reports", 0, "rand"),
    ],
    ids=str,
)
def test_a_changed_value_is_found(tmp_path: Path, place: tuple[str | int, ...]) -> None:
    def change(vector: Any) -> None:
        for key in place[:-1]:
            vector = vector[key]
        vector[place[-1]] = flipped(vector[place[-1]])

    with pytest.raises(DiscreetError, match=r"Prio3Histogram_0.json: operation \d+"):
        check_vector(rewritten(tmp_path, "Prio3Histogram_0", change))


def test_success_must_be_as_said(tmp_path: Path) -> None:
    good = rewritten(tmp_path, "Prio3Count_0", lambda vector: vector["operations"][3].update(success=False))
    with pytest.raises(DiscreetError, match="should fail, but succeeds"):
        check_vector(good)
    bad = rewritten(tmp_path, "Prio3Count_bad_wire", lambda vector: vector["operations"][2].update(success=True))
    with pytest.raises(DiscreetError, match="should succeed, but: the proof fails"):
        check_vector(bad)


def test_the_result_is_compared(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="unshard"):
        check_vector(rewritten(tmp_path, "Prio3Sum_0", lambda vector: vector.update(agg_result=226)))


def test_without_a_telling_name_the_parameters_tell_the_variant(tmp_path: Path) -> None:
    for name in ("Prio3Count_0", "Prio3Sum_1", "Prio3SumVec_0", "Prio3Histogram_1", "Prio3MultihotCountVec_0"):
        path = tmp_path / "vector.json"
        path.write_text((OWN / f"{name}.json").read_text(encoding="utf-8"), encoding="utf-8")
        assert check_vector(path).variant == name[:-2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "JSON object"),
        ("{}", "not a whole test vector"),
        ('{"operations": [{"operation": "shard", "report_index": 0, "success": true}], "reports": []}', "not a whole"),
        ('{"operations": [{"operation": "dance", "success": true}]}', "operations are"),
        ('{"length": 3, "operations": []}', "no variant"),
        ('{"shares": 1, "operations": []}', "2 to 255"),
        ('{"max_measurement": -4, "operations": []}', "max_measurement"),
    ],
)
def test_files_that_are_no_vectors_give_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "vector.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DiscreetError, match=problem) as caught:
        check_vector(path)
    assert "\n" not in str(caught.value)


def test_other_schemes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "Poplar1_0.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(DiscreetError, match="Poplar1 is not among"):
        check_vector(path)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(OWN / "Prio3Count_0.json"), str(OWN / "Prio3Histogram_bad_part.json")]
    done = CliRunner().invoke(app, ["aggregate", "check-vector", *files])
    assert done.exit_code == 0
    assert "Prio3Count, 21 operations" in done.stdout
    monkeypatch.setattr("sys.argv", ["discreet", "aggregate", "check-vector", str(tmp_path / "absent.json")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
