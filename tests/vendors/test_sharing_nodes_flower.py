"""Vendors in real processes: a SuperLink, four nodes, one of which is killed on the way; and a helper."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from sharing_consortium import catalogue_options, parts, write_csv

from discreet.cli import run
from discreet.data.open import open_ratings
from discreet.data.synthetic.rating_world import ratings_world
from discreet.edge.vendor.own_model import open_reader
from discreet.errors import InputError
from discreet.nodes.flower.flower_configuration import write_deployment
from discreet.nodes.flower.loopback import Loopback
from discreet.nodes.helper_folder import write_local_helper
from discreet.vendors.sharing import Sharing
from discreet.vendors.sharing.releases import Question, Releases, load_complete

pytest.importorskip("flwr")
VENDORS = 4


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_deployment_releases_what_one_process_does_though_a_vendor_is_killed(tmp_path: Path) -> None:
    data = write_csv(ratings_world(2500, 60, 75_000, seed=5), tmp_path / "films.csv")
    folder, out = tmp_path / "nodes", tmp_path / "out"
    write_deployment(folder, data, VENDORS, max_epsilon=25.0, noise="simulated")
    write_local_helper(folder)
    listed = catalogue_options(tmp_path / "items.txt", open_ratings(data).items.ids)
    command = ["vendors", "share", *listed, "--epsilon", "20", "--seed", "7", "--out", str(out)]
    command += ["--engine", "flower", "--superlink", str(folder), "--timeout", "240"]
    with Loopback(folder) as deployment, ThreadPoolExecutor(1) as pool:
        killed = pool.submit(_kill_and_restart, deployment, out.with_name("out.part"))
        assert run(command) == 0
        assert killed.result() == 1
        with _helper(folder / "helper") as address:
            two = ["--aggregation", "two-aggregators", "--helper", address, "--name", "by two"]
            assert run([*command, *two, "--epsilon", "5", "--out", str(tmp_path / "by-two")]) == 0
    expected = Sharing(20.0).share(parts(data, VENDORS), 7).answers
    for a, b in zip(load_complete(out).answers(), expected, strict=True):
        assert np.array_equal(a.total, b.total)
    by_two = Sharing(5.0).share(parts(data, VENDORS), 7).answers
    for a, b in zip(load_complete(tmp_path / "by-two").answers(), by_two, strict=True):
        assert np.array_equal(a.total, b.total)
    assert {path.name for path in tmp_path.iterdir()} == {"films.csv", "items.txt", "nodes", "out", "by-two"}
    for number in range(1, VENDORS + 1):
        assert len(open_reader(out, folder / f"node-{number}").given) == 4


@contextmanager
def _helper(folder: Path) -> Iterator[str]:
    """The second aggregator as its own process, by the command; its address."""
    command = [sys.executable, "-m", "discreet", "vendors", "helper", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().removeprefix("helper at ").strip()
        finally:
            process.kill()


def _kill_and_restart(deployment: Loopback, beside: Path) -> int:
    """Kill the host of node 2 when the second round has been asked; how many rounds were answered then."""
    asked: tuple[Question, ...] = ()
    while len(asked) < 2:
        time.sleep(0.05)
        with suppress(InputError):
            asked = Releases.load(beside).asked
    deployment.kill_host(2)
    deployment.restart(2)
    return sum(one.total is not None for one in asked)
