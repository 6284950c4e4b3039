"""`discreet nodes`: folders that are written, a host that runs, and refusals in one line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.cli import run
from discreet.cli.nodes import next_command
from discreet.data.synthetic import news_world, write_mind
from discreet.edge.jobs import KINDS, kind_of, open_job_for
from discreet.errors import DiscreetError
from discreet.nodes.configuration import read_node, read_roster, write_roster
from discreet.nodes.flower.flower_configuration import write_deployment
from discreet.nodes.host_socket import ask_host, listens
from discreet.nodes.requests import NodeRefusal, read_answer


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    data = tmp_path / "ratings.csv"
    data.write_text("user,item,rating\n" + "".join(f"u{n},i{n % 3},{1 + n % 5}\n" for n in range(12)))
    return data


@pytest.fixture
def deployment(tmp_path: Path, ratings: Path) -> Path:
    folder = tmp_path / "deployment"
    write_deployment(folder, ratings, 2)
    return folder


def test_write_makes_a_deployment_of_parts(tmp_path: Path, ratings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["nodes", "write", str(ratings), "--nodes", "3", "--out", str(out), "--max-epsilon", "inf"]
    assert run([*words, "--simulated-noise", "--tls"]) == 0
    assert f"discreet nodes start {out}" in capsys.readouterr().out
    node = read_node(out / "node-2")
    assert (node.part, node.max_epsilon, node.noise, node.data) == ("2/3", float("inf"), "simulated", ratings)
    assert sorted(path.name for path in (out / "tls").iterdir()) == ["ca.crt", "server.crt", "server.key"]
    assert (out / "tls" / "server.key").stat().st_mode & 0o077 == 0
    assert run(words) == 2, "keys are not replaced"


def test_json_of_what_was_written(tmp_path: Path, ratings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nodes", "write", str(ratings), "--nodes", "2", "--out", str(tmp_path / "a"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"deployment": str(tmp_path / "a"), "nodes": [1, 2]}
    assert run(["nodes", "new", "7", str(ratings), "--out", str(tmp_path / "b"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    node = read_node(Path(told["folder"]))
    assert (node.number, node.part, node.identity().public.hex()) == (7, None, told["public_key"])
    assert told["node"] == 7


def test_nodes_made_one_by_one_make_a_deployment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roster = {}
    for number in (1, 2):
        out = tmp_path / f"machine-{number}"
        assert run(["nodes", "new", str(number), str(tmp_path), "--out", str(out), "--part", f"{number}/2"]) == 0
        line = next(line for line in capsys.readouterr().out.splitlines() if "roster" in line)
        roster.update(json.loads("{" + line.partition(": ")[2] + "}"))
    for number in (1, 2):
        path = tmp_path / f"machine-{number}" / "roster.json"
        path.write_text(json.dumps(roster))
        node = read_node(path.parent / f"node-{number}")
        assert node.roster()[number] == node.identity().public


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["write", "nowhere", "--out", "o"], "nowhere: is not there"),
        (["write", "../ratings.csv", "--out", "o", "--nodes", "1"], "at least 2"),
        (["write", "../ratings.csv", "--out", "o", "--max-epsilon", "0"], "--max-epsilon"),
        (["write", "../ratings.csv", "--out", "o", "--max-epsilon", "1,2"], "--max-epsilon"),
        (["new", "2", ".", "--out", "o", "--part", "3/2"], "--part"),
        (["start", "nowhere"], "holds no nodes"),
        (["list", "nowhere"], "roster.json: is not there"),
        (["host", "nowhere"], "node.json: is not there"),
        (["run", "nowhere", "--superlink", "h:1"], "node.json: is not there"),
        (["server", "nowhere", "--address", "h:1"], "roster.json: is not there"),
        (["server", "nowhere", "--address", "h"], "--address"),
    ],
)
def test_refusals_are_one_line(
    words: list[str],
    problem: str,
    ratings: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = ratings.with_name("here")
    here.mkdir()
    monkeypatch.chdir(here)
    assert run(["nodes", *words]) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert said.count("\n") == 1
    assert list(here.iterdir()) == []


def test_list_says_that_nothing_runs(deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nodes", "list", str(deployment)]) == 2
    assert f"discreet nodes start {deployment}" in capsys.readouterr().err


def test_a_server_wants_a_key_of_every_node(deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nodes", "server", str(deployment), "--address", "localhost:9"]) == 2
    assert "0 public keys" in capsys.readouterr().err


@pytest.mark.long
def test_a_host_answers_and_ends_when_told(deployment: Path) -> None:
    node = read_node(deployment / "node-1")
    command = [sys.executable, "-m", "discreet", "nodes", "host", str(node.folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ) as process:
        try:
            while not listens(node.socket):
                assert process.poll() is None
                time.sleep(0.05)
            answer = read_answer(ask_host(node.socket, b"garbage", 10.0))
            assert isinstance(answer, NodeRefusal)
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert not node.socket.exists()


def test_a_host_that_is_not_in_the_roster_does_not_start(deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = deployment / "roster.json"
    roster = read_roster(path)
    write_roster(path, {1: roster[2], 2: roster[1]})
    assert run(["nodes", "host", str(deployment / "node-1")]) == 2
    assert "does not have node 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "description",
    [b"", b"\xff", b"[]", b"7", b'{"kind": 7}', b'{"kind": "steal"}', b"{}", b'\n{"kind": "train"}', b"[" * 100_000],
)
def test_jobs_of_no_known_kind_are_refused(description: bytes, deployment: Path) -> None:
    with pytest.raises(DiscreetError, match="kind"):
        open_job_for(read_node(deployment / "node-1"))(description)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_known_by_the_first_line(kind: str) -> None:
    assert kind_of(json.dumps({"kind": kind, "more": 1}).encode() + b"\n\xff\xfe") == kind


def test_the_command_that_start_prints_works_as_it_is(
    tmp_path: Path, deployment: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left to fill in: all that is missing here is the server."""
    write_mind(news_world(60, seed=1), tmp_path / "a world")
    assert run(["nodes", "write", str(tmp_path / "a world"), "--nodes", "2", "--out", str(tmp_path / "other")]) == 0
    (tmp_path / "items.txt").write_text("1\n2\n")
    monkeypatch.chdir(tmp_path)
    for folder in (deployment, tmp_path / "other"):
        command = shlex.split(next_command(folder))
        assert command[0] == "discreet"
        before = sorted(tmp_path.iterdir())
        assert run(command[1:]) == 2
        assert f"{folder / 'superlink.json'}: no SuperLink is running here" in capsys.readouterr().err
        assert sorted(tmp_path.iterdir()) == before, "nothing is left half-written"
