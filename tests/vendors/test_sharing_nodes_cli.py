"""`discreet vendors share` and `discreet vendors read` as vendors run them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sharing_consortium import catalogue_options, job_for, parts, write_csv

from discreet.cli import run
from discreet.data.synthetic.rating_world import ratings_world
from discreet.edge.vendor.local_nodes import hosts_in_process
from discreet.edge.vendor.own_model import open_reader
from discreet.edge.vendor.own_ratings import on_catalogue, vendor_ratings
from discreet.nodes import LocalNodes
from discreet.nodes.configuration import read_node
from discreet.nodes.flower.flower_configuration import write_deployment
from discreet.vendors.gibbs import GibbsMF
from discreet.vendors.sharing import Sharing
from discreet.vendors.sharing.coordinator import program
from discreet.vendors.sharing.releases import load_complete

VENDORS = 4
MODEL = GibbsMF(rank=2, iterations=8, burn_in=2)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(ratings_world(160, 50, 3600, seed=3), tmp_path_factory.mktemp("vendors") / "films.csv")


@pytest.fixture(scope="module")
def shared(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the releases, and the vendors' nodes in `nodes`."""
    folder = tmp_path_factory.mktemp("shared")
    assert run(share(data, folder)) == 0
    return folder


def share(data: Path, folder: Path, *more: str) -> list[str]:
    places = ["--out", str(folder / "releases"), "--nodes-folder", str(folder / "nodes")]
    return ["vendors", "share", str(data), "--vendors", str(VENDORS), "--epsilon", "20", *places, *more]


def test_a_vendor_predicts_from_files_just_as_in_process(data: Path, shared: Path) -> None:
    method, own = Sharing(20.0, model=MODEL), parts(data, VENDORS)
    expected = method.share(own, 0)
    for vendor in range(VENDORS):
        node = shared / "nodes" / f"node-{vendor + 1}"
        reader = open_reader(shared / "releases", node)
        mine = on_catalogue(vendor_ratings(read_node(node)), reader.releases.job)
        user, item = own[vendor].user[:60], own[vendor].item[:60]
        found = reader.predictor(mine, MODEL, 5).predict(user, item)
        assert np.array_equal(found, method.predictor(expected, vendor, own[vendor], 5).predict(user, item))


def test_what_is_printed(data: Path, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(share(data, shared, "--json")) == 0  # done already: it is only told
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"out", "vendors", "items", "rounds", "catalogue", "guarantee"}
    assert (told["vendors"], told["items"], told["guarantee"]["unit"]) == (VENDORS, 50, "user")
    assert sum(one["share"] for one in told["rounds"]) == pytest.approx(1)
    assert run(share(data, tmp_path)) == 0
    words = capsys.readouterr().out
    assert "round 1: opening, 100 sums, 20% of the budget" in words
    assert "protects nobody" in words
    again, first = load_complete(tmp_path / "releases").answers(), load_complete(shared / "releases").answers()
    assert all(np.array_equal(a.total, b.total) for a, b in zip(again, first, strict=True))


def test_read_says_what_it_brings(data: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["vendors", "read", str(shared / "releases"), str(shared / "nodes" / "node-2")]
    arguments += ["--rank", "2", "--iterations", "30"]
    assert run([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"tested", "alone", "together"}
    assert told["tested"] == round(len(parts(data, VENDORS)[1]) / 10)
    assert told["alone"] != told["together"]
    assert run(arguments) == 0
    assert f"with the releases {told['together']:.4f}" in capsys.readouterr().out


def test_mistakes_are_told_in_one_line(
    data: Path, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = catalogue_options(tmp_path / "items.txt", ["a", "b", "a"])
    link = ["share", "--epsilon", "5", "--superlink", str(tmp_path)]
    (tmp_path / "stranger").mkdir()
    csv, out = str(data), ["--out", str(tmp_path / "out")]
    for arguments, problem in (
        (["share", csv, "--epsilon", "5"], "--vendors says how many"),
        (["share", csv, "--epsilon", "500", "--vendors", "3"], "epsilon must be from 0.01 to 20"),
        (link, "goes with --engine flower"),
        ([*link, "--engine", "flower"], "roster.json"),
        ([*link, "--engine", "flower", csv], "each vendor's own node has its data"),
        (["share", csv, "--epsilon", "5", "--vendors", "3", *twice], "items.txt:3"),
        (["share", csv, "--epsilon", "5", "--vendors", "3", "--nodes-folder", str(shared / "nodes")], "another folder"),
        (["read", str(shared / "releases"), str(tmp_path / "stranger")], "took no part in the releases"),
        (["read", str(tmp_path / "nothing"), str(shared / "nodes" / "node-1")], "does not exist"),
    ):
        assert run(["vendors", *arguments, *(out if arguments[0] == "share" else [])]) == 2
        told = capsys.readouterr().err.strip()
        assert problem in told
        assert len(told.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_the_program_of_a_server_takes_its_arguments_as_json(data: Path, tmp_path: Path) -> None:
    job, folder = job_for(data, VENDORS, 20.0, seed=0), tmp_path / "nodes"
    write_deployment(folder, data, VENDORS, max_epsilon=20.0, noise="simulated")
    hosts, roster = hosts_in_process(folder)
    (tmp_path / "job").write_bytes(job.to_bytes())
    arguments = {
        "job": str(tmp_path / "job"),
        "roster": {str(number): key.hex() for number, key in roster.items()},
        "out": str(tmp_path / "out"),
        "timeout": 1.0,
    }
    told = program(LocalNodes(hosts), json.loads(json.dumps(arguments)))
    released = load_complete(tmp_path / "out")
    assert told == {"out": str(tmp_path / "out"), "rounds": len(released.asked)}
    expected = Sharing(20.0, colluders=job.colluders).share(parts(data, VENDORS), 0).answers
    assert all(np.array_equal(a.total, b.total) for a, b in zip(released.answers(), expected, strict=True))
