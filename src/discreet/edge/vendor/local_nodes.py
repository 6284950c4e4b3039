"""All vendors' nodes on one machine, from the folder of a deployment: in this process, or each in one of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from discreet.edge.node.host import Host
from discreet.edge.vendor.sharing_node import job_opener
from discreet.errors import DiscreetError, InputError
from discreet.files import creating_folder
from discreet.nodes import Answer
from discreet.nodes.configuration import (
    NodeSettings,
    Noise,
    node_folders,
    read_node,
    read_roster,
    write_node,
    write_nodes,
    write_roster,
)
from discreet.nodes.host_socket import ask_host, listens

_LOOK = 0.05
_ENDING = 10.0


def trial_nodes(folder: Path, data: Path, vendors: int) -> None:
    """Write the folders of so many vendors' nodes, each with its part of the data, unless they are there already.

    Their noise comes from a seed, and they set no limit to ε: nobody is protected in a trial.

    Raises:
        DiscreetError: what is there belongs to other data or another number of vendors.
    """
    if not (folder.exists() and any(folder.iterdir())):
        with creating_folder(folder) as draft:
            write_nodes(draft, data, vendors, max_epsilon=float("inf"), noise="simulated")
        return
    _check_nodes(folder, {number: (data.resolve(), (number, vendors)) for number in range(1, vendors + 1)})


def vendor_nodes(folder: Path, files: Sequence[Path], max_epsilon: float, noise: Noise) -> None:
    """Write the folders of the nodes of vendors that have a file of their own each, unless they are there already.

    Raises:
        DiscreetError: what is there belongs to other files.
    """
    if not (folder.exists() and any(folder.iterdir())):
        with creating_folder(folder) as draft:
            settings = [
                NodeSettings(draft / f"node-{number}", number, file.resolve(), None, max_epsilon, noise)
                for number, file in enumerate(files, 1)
            ]
            write_roster(draft / "roster.json", {each.number: write_node(each) for each in settings})
        return
    _check_nodes(folder, {number: (file.resolve(), (1, 1)) for number, file in enumerate(files, 1)})


def _check_nodes(folder: Path, wanted: dict[int, tuple[Path, tuple[int, int]]]) -> None:
    nodes = {number: read_node(path) for number, path in node_folders(folder).items()}
    if {number: (node.data.resolve(), node.part_of()) for number, node in nodes.items()} != wanted:
        raise InputError(folder, f"does not have the nodes of these {len(wanted)} vendors; choose another folder")


def hosts_in_process(folder: Path) -> tuple[dict[int, Answer], dict[int, bytes]]:
    """The hosts of all nodes in a deployment's folder, and their roster."""
    roster = read_roster(folder / "roster.json")
    hosts: dict[int, Answer] = {}
    for number, path in node_folders(folder).items():
        settings = read_node(path)
        hosts[number] = Host(settings.identity(), roster, job_opener(settings), settings.helper()).answer
    return hosts, roster


@contextmanager
def hosts_in_processes(folder: Path, timeout: float) -> Iterator[tuple[dict[int, Answer], dict[int, bytes]]]:
    """The same with each node's host in a process of its own, which ends with the block.

    Raises:
        DiscreetError: a host does not begin to listen within `timeout` seconds.
    """
    hosts: dict[int, Answer] = {}
    with ExitStack() as running:
        for number, path in node_folders(folder).items():
            running.enter_context(_process(path))
            hosts[number] = partial(ask_host, read_node(path).socket, timeout=timeout)
        deadline = time.monotonic() + timeout
        for number, path in node_folders(folder).items():
            while not listens(read_node(path).socket):
                if time.monotonic() > deadline:
                    raise DiscreetError(f"{path}: the host of vendor {number} has not started; see {path / 'host.log'}")
                time.sleep(_LOOK)
        yield hosts, read_roster(folder / "roster.json")


@contextmanager
def _process(node: Path) -> Iterator[None]:
    """One node's host, as `discreet nodes host` runs it; what it says is in host.log."""
    with (node / "host.log").open("ab") as log:
        command = [sys.executable, "-m", "discreet", "nodes", "host", str(node)]
        host = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield
    finally:
        host.terminate()
        try:
            host.wait(_ENDING)
        except subprocess.TimeoutExpired:
            host.kill()
            host.wait()
