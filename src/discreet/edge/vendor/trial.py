"""All vendors' nodes in one process, from the folder of a deployment: to try out what runs on several machines."""

from __future__ import annotations

from pathlib import Path

from discreet.edge.node.host import Host
from discreet.edge.vendor.sharing_node import job_opener
from discreet.errors import InputError
from discreet.files import creating_folder
from discreet.nodes import Answer
from discreet.nodes.configuration import node_folders, read_node, read_roster, write_nodes


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
    nodes = {number: read_node(path) for number, path in node_folders(folder).items()}
    parts = {number: (node.data.resolve(), node.part_of()) for number, node in nodes.items()}
    if parts != {number: (data.resolve(), (number, vendors)) for number in range(1, vendors + 1)}:
        raise InputError(folder, f"has not the nodes of {vendors} vendors with parts of {data}; choose another folder")


def hosts_in_process(folder: Path) -> tuple[dict[int, Answer], dict[int, bytes]]:
    """The hosts of all nodes in a deployment's folder, and their roster."""
    roster = read_roster(folder / "roster.json")
    hosts: dict[int, Answer] = {}
    for number, path in node_folders(folder).items():
        settings = read_node(path)
        hosts[number] = Host(settings.identity(), roster, job_opener(settings)).answer
    return hosts, roster
