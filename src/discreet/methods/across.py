"""Rounds over nodes: the server's side of a training, on many machines or on one that plays them all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.aggregation.secure_sum.keys import Identity
from discreet.errors import DiscreetError
from discreet.methods.base import Task
from discreet.methods.federated import FederatedMethod
from discreet.methods.neural import Part, Setup
from discreet.methods.node_job import Description, TrainingNode, write_task
from discreet.nodes import Answer, Contribute, Host, LocalNodes, Nodes, SecureSums
from discreet.nodes.sums import LostRound
from discreet.progress import notice
from discreet.training.objective import Parameters
from discreet.training.rounds import Round, RoundResult

PATIENCE = 120.0
"""Seconds that nodes have for each step of a round, unless told otherwise."""

OPENING = 900.0
"""Seconds that they have to open the job: to read their data, and all titles through a language model."""

_LOST_IN_A_ROW = 3


@dataclass(frozen=True)
class AcrossNodes:
    """Each round is one secure sum over the nodes that are there; the server sees no more than the sum.

    A round that loses its quorum is lost, not repeated: nodes have spent noise and participations on it. It changes
    nothing, and the training goes on with the next.
    """

    nodes: Nodes
    roster: Mapping[int, bytes]
    patience: float = PATIENCE
    simulated: bool = False

    def round(self, method: FederatedMethod, task: Task, setup: Setup) -> Round:
        """Ask the nodes for their contributions, and make the step of their sum."""
        job = Description.of(method, task, setup, simulated=self.simulated).to_bytes()
        sums = SecureSums(self.nodes, self.roster, job, patience=self.patience, opening=OPENING, attempts=1)
        lost = 0

        def work(parameters: Parameters, number: int) -> RoundResult:
            nonlocal lost
            try:
                told = sums.sum(write_task(parameters, number), method.length(parameters))
            except LostRound:
                lost += 1
                if lost == _LOST_IN_A_ROW:
                    raise
                notice(f"round {number} is lost; the next one follows")
                return RoundResult(None, math.nan, ())
            lost = 0
            return method.result(parameters, told.values, told.nodes)

        return work


def hosts_in_process(task: Task, count: int) -> tuple[dict[int, Answer], dict[int, bytes]]:
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


def on_one_machine(task: Task, count: int) -> AcrossNodes:
    """The same rounds with all nodes in this process."""
    hosts, roster = hosts_in_process(task, count)
    return AcrossNodes(LocalNodes(hosts), roster, simulated=True)
