"""Vendors in real processes: a SuperLink, four nodes, one of which is killed on the way."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sharing_consortium import job_for, parts, write_csv

from discreet.data.synthetic.ratings import ratings_world
from discreet.errors import InputError
from discreet.federated.flower.configuration import NodeSettings, read_roster, write_deployment
from discreet.federated.flower.deployment import submit
from discreet.federated.flower.loopback import Loopback
from discreet.vendors.sharing import Sharing
from discreet.vendors.sharing.releases import Releases, load_complete

pytest.importorskip("flwr")
VENDORS = 4
HOST = """
import sys
from functools import partial
from pathlib import Path
from threading import Event
from discreet.federated.flower.configuration import read_node
from discreet.federated.flower.host_socket import serve_host
from discreet.federated.nodes import Host
from discreet.vendors.sharing.node_job import open_job

node = read_node(Path(sys.argv[1]))
serve_host(node.socket, Host(node.identity(), node.roster(), partial(open_job, node)).answer, Event())
"""


def vendor_host(node: NodeSettings) -> list[str]:
    return [sys.executable, "-c", HOST, str(node.folder)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_deployment_releases_what_one_process_does_though_a_vendor_is_killed(tmp_path: Path) -> None:
    data = write_csv(ratings_world(2500, 60, 75_000, seed=5), tmp_path / "films.csv")
    job, folder, out = job_for(data, VENDORS, 20.0), tmp_path / "nodes", tmp_path / "out"
    write_deployment(folder, data, VENDORS, most_epsilon=20.0, noise="simulated")
    (tmp_path / "job").write_bytes(job.to_bytes())
    arguments = {
        "job": str(tmp_path / "job"),
        "roster": {str(number): key.hex() for number, key in read_roster(folder / "roster.json").items()},
        "out": str(out),
        "patience": 45.0,
    }
    with Loopback(folder, vendor_host) as deployment, ThreadPoolExecutor(1) as pool:
        killed = pool.submit(_kill_and_restart, deployment, out.with_name("out.part"))
        told = submit("discreet.vendors.sharing.across:program", arguments, deployment.superlink)
        assert killed.result(timeout=0) == 1
    assert told == {"out": str(out), "rounds": 4}
    expected = Sharing(20.0).share(parts(data, VENDORS), job.seed or 0).answers
    for a, b in zip(load_complete(out).answers(), expected, strict=True):
        assert np.array_equal(a.total, b.total)
    assert not list(tmp_path.glob("*.part"))


def _kill_and_restart(deployment: Loopback, beside: Path) -> int:
    """Kill node 2 when the first round is answered and the second has been asked; how many were answered then."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        try:
            asked = Releases.load(beside).asked
        except InputError:
            asked = ()
        if len(asked) == 2:
            deployment.kill(2)
            deployment.restart(2)
            return sum(one.total is not None for one in asked)
        time.sleep(0.05)
    raise TimeoutError("the second round was never asked")
