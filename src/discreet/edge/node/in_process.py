"""All nodes of a training in one process, each with its part of the readers: what runs on several machines, on one."""

from __future__ import annotations

from discreet.aggregation.secure_sum.keys import Identity
from discreet.edge.node.host import Host
from discreet.edge.node.training_node import TrainingNode
from discreet.errors import DiscreetError
from discreet.methods.method import TrainingTask
from discreet.methods.node_rounds import NodeRounds
from discreet.methods.setup import Part
from discreet.methods.training_job import Description
from discreet.nodes import Answer, Contribute, LocalNodes


def hosts_in_process(task: TrainingTask, count: int) -> tuple[dict[int, Answer], dict[int, bytes]]:
    """The hosts of `count` nodes, each with its part of the task's readers, and their roster; chance is by the seed."""
    if count < 2:
        raise DiscreetError(f"a secure sum needs at least 2 nodes, not {count}")
    identities = {node: Identity.generate(node) for node in range(1, count + 1)}
    roster = {node: identity.public for node, identity in identities.items()}

    def host(node: int) -> Answer:
        def open_job(description: bytes) -> Contribute:
            return TrainingNode(Description.from_bytes(description), task, Part(node, node, count)).contribute

        return Host(identities[node], roster, open_job).answer

    return {node: host(node) for node in identities}, roster


def on_one_machine(task: TrainingTask, count: int) -> NodeRounds:
    """The same rounds with all nodes in this process."""
    hosts, roster = hosts_in_process(task, count)
    return NodeRounds(LocalNodes(hosts), roster, simulated=True)
