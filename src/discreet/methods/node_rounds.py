"""Rounds over nodes: the server's side of a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.methods.in_rounds import Federated
from discreet.methods.method import TrainingTask
from discreet.methods.round_server import Sums
from discreet.methods.setup import Setup
from discreet.methods.training_job import Description, promised, write_task
from discreet.nodes import Nodes, SecureSums
from discreet.nodes.secure_sums import LostRound
from discreet.progress import notice
from discreet.training.objective import Parameters
from discreet.training.readers_sum import Integers

TIMEOUT = 120.0
"""Seconds that nodes have for each step of a round, by default."""

OPENING = 900.0
"""Seconds that they have to open the job: to read their data, and all titles through a language model."""

_LOST_IN_A_ROW = 3


@dataclass(frozen=True)
class NodeRounds:
    """Each round is one secure sum over the nodes that are there; the server sees no more than the sum.

    A round that loses its quorum is lost, not repeated: nodes have spent noise and participations on it. It changes
    nothing, and the training goes on with the next.
    """

    nodes: Nodes
    roster: Mapping[int, bytes]
    timeout: float = TIMEOUT
    simulated: bool = False

    def sums(self, method: Federated, task: TrainingTask, setup: Setup) -> Sums:
        """Ask the nodes for their contributions, and add these up."""
        job = Description.of(method, task, setup, simulated=self.simulated).to_bytes()
        cost = promised(method, setup.start)
        sums = SecureSums(self.nodes, self.roster, job, cost, timeout=self.timeout, opening=OPENING, attempts=1)
        lost = 0

        def total(parameters: Parameters, number: int) -> tuple[Integers | None, tuple[int, ...]]:
            nonlocal lost
            try:
                found = sums.sum(write_task(parameters, number), method.length(parameters))
            except LostRound:
                lost += 1
                if lost == _LOST_IN_A_ROW:
                    raise
                notice(f"round {number} is lost; the next one follows")
                return None, ()
            lost = 0
            return found.values, found.nodes

        return total
