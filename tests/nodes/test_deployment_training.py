"""Training over a deployment of real processes: a SuperLink and four SuperNodes, each with its host."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rounds_by_hand import assert_learnt, by_hand

from discreet.cli.nodes import next_command
from discreet.data.open import open_news
from discreet.data.public_catalogue import PublicCatalogue
from discreet.data.synthetic import news_world, write_mind
from discreet.methods.method import TrainingTask
from discreet.methods.run import Run
from discreet.methods.server_program import server_task
from discreet.plugins import name_plugins

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'discreet[flower]'")

from discreet.nodes.flower.flower_configuration import write_deployment
from discreet.nodes.flower.loopback import Loopback, host_command

OWN_PACKAGE = Path(__file__).parents[2] / "examples" / "own_package" / "src"
STALLING = Path(__file__).parents[1] / "support" / "stalling_host.py"
PATIENCE = ("--timeout", "900")
"""Seconds that nobody waits for: a host that is killed is known to be gone at once."""


@pytest.fixture(scope="module", autouse=True)
def environment():
    """What processes inherit: sums of float32 in the same order everywhere, and an installed package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("PYTHONPATH", str(OWN_PACKAGE))
        yield


def training(folder, out, *settings):
    command = [sys.executable, "-m", "discreet", "--plugin", "own_package", "train", folder / "catalogue.csv"]
    command += ["--out", out, "--text", "hashed", "--seed", "5"]
    return [str(word) for word in (*command, "--engine", "flower", "--superlink", folder, *settings)]


def started(command, folder=None):
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)


def who(state):
    return [tuple(np.flatnonzero(row).tolist()) for row in state["nodes"]]


def server_processes(folder):
    """The ServerApps of a deployment: what Flower has started with its folder as a home."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
            home = f"FLWR_HOME={folder.resolve() / 'flower'}".encode()
            if any(b"flwr-serverapp" in word for word in command) and home in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deployed") / "world"
    write_mind(news_world(160, seed=4), folder)
    return folder


@pytest.fixture(scope="module")
def deployed(tmp_path_factory, world):
    """One deployment for all tests here; the host of node 3 stops in its second round until it is killed."""
    folder = tmp_path_factory.mktemp("deployed") / "deployment"
    write_deployment(folder, world, 4, max_epsilon=np.inf, noise="simulated", plugins=["own_package"])
    PublicCatalogue.of(open_news(world)).write(folder / "catalogue.csv")

    def command(node):
        stalling = [sys.executable, str(STALLING), str(node.folder), "2", str(folder / "reached")]
        return stalling if node.number == 3 else host_command(node)

    with Loopback(folder, command) as deployment:
        yield folder, deployment


@pytest.fixture(scope="module")
def task(world, deployed):
    """What the nodes train on: their clicks, and title vectors as the server knows them."""
    public = server_task(deployed[0] / "catalogue.csv", text="hashed")
    return TrainingTask(open_news(world), "hashed", centre=public.public_centre, public_text=True)


DP_FEDAVG = ("--epsilon", "3", *PATIENCE)


@pytest.mark.timeout(1800)
@pytest.mark.slow
def test_a_host_is_killed_in_a_round_and_the_weights_are_those_of_the_sums(tmp_path, task, deployed, monkeypatch):
    """By the command that `nodes start` prints, with a model of another package, which the nodes allow."""
    folder, deployment = deployed
    words = shlex.split(next_command(folder))
    assert words[0] == "discreet"
    command = [sys.executable, "-m", "discreet", "--plugin", "own_package", *words[1:], "--model", "mean_title"]
    command += ["--text", "hashed", "--seed", "5", "--rounds", "2", *DP_FEDAVG]
    process = started(command, tmp_path)
    wait_for((folder / "reached").exists, process)
    deployment.kill_host(3)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert "node 3: no answer in time at step MASK" in said
    assert "ε = 3, δ = 1e-06 per user (zero out) against the server, lifetime" in said
    assert "does not see who takes part" in said
    monkeypatch.syspath_prepend(str(OWN_PACKAGE))
    name_plugins(["own_package"])
    run = Run.load(tmp_path / words[words.index("--out") + 1])
    assert who(run.state) == [(1, 2, 3, 4), (1, 2, 4)]
    assert_learnt(run.state, by_hand(run.method, task, 5, 4, who(run.state)))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_server_is_killed_and_goes_on_from_its_checkpoint(tmp_path, task, deployed):
    folder, deployment = deployed
    (folder / "reached").touch()
    deployment.revive()
    out = tmp_path / "dp_fedavg"
    command = training(folder, out, "--method", "dp_fedavg", "--rounds", "3", *DP_FEDAVG)
    process = started(command)
    wait_for(out.with_name("dp_fedavg.checkpoint").exists, process)
    for pid in [process.pid, *server_processes(folder)]:
        os.kill(pid, signal.SIGKILL)
    process.wait()
    assert not out.exists()
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "resuming after round" in done.stderr + done.stdout
    run = Run.load(out)
    assert who(run.state) == [(1, 2, 3, 4)] * 3
    assert_learnt(run.state, by_hand(run.method, task, 5, 4, who(run.state)))
