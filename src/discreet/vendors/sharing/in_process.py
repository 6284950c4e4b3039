"""All vendors' nodes in one process, from the folder of a deployment: to try out what runs on several machines."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from discreet.errors import DiscreetError, InputError
from discreet.federated.flower.configuration import node_folders, read_node, read_roster, write_deployment
from discreet.federated.nodes import Host, LocalNodes, SecureSums
from discreet.vendors.sharing.across import share_across
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.sharing.node_job import open_job
from discreet.vendors.sharing.releases import Releases


def trial_nodes(folder: Path, data: Path, vendors: int) -> None:
    """Write the folders of so many vendors' nodes, each with its part of the data, unless they are there already.

    Their noise comes from a seed, and they set no limit to ε: nobody is protected in a trial.

    Raises:
        DiscreetError: what is there belongs to other data or another number of vendors.
    """
    if not (folder.exists() and any(folder.iterdir())):
        write_deployment(folder, data, vendors, most_epsilon=float("inf"), noise="simulated")
        return
    nodes = {number: read_node(path) for number, path in node_folders(folder).items()}
    parts = {number: (node.data.resolve(), node.part_of()) for number, node in nodes.items()}
    if parts != {number: (data.resolve(), (number, vendors)) for number in range(1, vendors + 1)}:
        raise InputError(folder, f"has not the nodes of {vendors} vendors with parts of {data}; choose another folder")


def share_in_process(job: ShareJob, folder: Path, out: Path) -> Releases:
    """A job between the nodes of a deployment's folder, over the secure sum; the releases are in `out` at the end."""
    roster = read_roster(folder / "roster.json")
    if tuple(roster) != job.nodes:
        raise DiscreetError(f"{folder}: its nodes are not the job's vendors")
    hosts = {}
    for number, path in node_folders(folder).items():
        settings = read_node(path)
        hosts[number] = Host(settings.identity(), roster, partial(open_job, settings)).answer
    sums = SecureSums(LocalNodes(hosts), roster, job.to_bytes(), patience=0.0, everybody=True)
    return share_across(sums, job, out)
