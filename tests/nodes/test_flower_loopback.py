"""A deployment of real processes: a SuperLink, two SuperNodes with their hosts, and a node that is killed."""

from __future__ import annotations

import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="Flower is not installed (extra: flower)")

from discreet.errors import DiscreetError
from discreet.nodes.configuration import NodeSettings, node_folders, read_node, write_node
from discreet.nodes.flower import deployment as running
from discreet.nodes.flower.deployment import SuperLink, submit
from discreet.nodes.flower.flower_configuration import write_deployment
from discreet.nodes.flower.loopback import Loopback
from discreet.nodes.flower.node_processes import NodeProcesses
from discreet.nodes.host_socket import listens

HOST = Path(__file__).parents[1] / "support" / "flower_host.py"
ALL = [1, 2]


def echoing(node: NodeSettings) -> list[str]:
    """The command of a host that echoes."""
    return [sys.executable, str(HOST), str(node.folder)]


def processes_of(folder: Path) -> list[str]:
    """The command lines of all processes that have something of this deployment in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"FLWR_HOME={folder}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.slow
def test_a_node_is_killed_while_it_is_asked_and_found_again_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_NOTICING", 0.0)
    folder = tmp_path / "deployment"
    write_deployment(folder, tmp_path, 2)
    sockets = [read_node(path).socket for path in node_folders(folder).values()]
    second = folder / "node-2"
    (second / "hold").touch()
    with (
        ThreadPoolExecutor() as pool,
        Loopback(folder, echoing) as d,
    ):
        assert d.nodes == tuple(ALL)
        assert len(processes_of(folder)) >= 2 + 2 * 2
        link = SuperLink.of(folder)
        assert link == d.superlink
        patient = {"times": 60, "timeout": 30.0, "wanted": ALL}
        probing = pool.submit(submit, "discreet.nodes.flower.node_probe:probe", patient, link)
        while not (second / "holding").exists():
            assert not probing.done(), probing.result()
            time.sleep(0.05)
        d.kill(2)
        (second / "hold").unlink()
        other = pool.submit(submit, "discreet.nodes.flower.node_probe:probe", patient, link)
        wrong = pool.submit(submit, "os:abort", {}, link, alone=False)
        d.restart(2)
        with pytest.raises(DiscreetError, match=r"another program is running .* flwr stop"):
            other.result()
        with pytest.raises(DiscreetError, match=r"^programs are named discreet.module:function, not 'os:abort'$"):
            wrong.result()
        rounds = [one["nodes"] for one in probing.result()]
        address = link.address
    assert rounds[0] == [1]
    assert rounds[-1] == ALL
    assert all(one in ([1], ALL) for one in rounds)
    assert processes_of(folder) == []
    assert not any(path.exists() for path in sockets)
    assert not (folder / "superlink.json").exists()
    host, _, port = address.rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=60).close()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.long
def test_a_deployment_that_cannot_start_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "deployment"
    write_deployment(folder, tmp_path, 2)
    deployment = Loopback(folder, lambda node: [sys.executable, "-c", "print('no data'); raise SystemExit(3)"])
    with pytest.raises(DiscreetError, match=r"the host of node \d has ended; .* it said: no data$"), deployment:
        pytest.fail("it has started")
    assert processes_of(folder) == []


@pytest.mark.slow
def test_with_certificates_nodes_answer_and_strangers_are_turned_away(tmp_path: Path) -> None:
    folder = tmp_path / "deployment"
    write_deployment(folder, tmp_path, 2, tls=True)
    with Loopback(folder, echoing) as d:
        (answered,) = submit("discreet.nodes.flower.node_probe:probe", {"times": 1, "timeout": 300.0}, d.superlink)
        assert answered["nodes"] == [1, 2]
        with pytest.raises(DiscreetError):
            SuperLink(d.superlink.address, None, tmp_path / "unencrypted").call("list")
        write_node(NodeSettings(tmp_path / "strange" / "node-2", 2, tmp_path))
        settings = read_node(tmp_path / "strange" / "node-2")
        stranger = NodeProcesses(settings, d.superlink, tmp_path / "logs", authenticated=True, command=echoing)
        try:
            stranger.start()
            log = tmp_path / "logs" / "node-2-supernode.log"
            while not listens(settings.socket) or "Failed to activate SuperNode" not in log.read_text():
                time.sleep(0.1)
            with pytest.raises(DiscreetError, match="the supernode of node 2"):
                stranger.wait(time.monotonic())
        finally:
            stranger.stop()
