"""`Sums` over nodes that host readers: each adds up its own readers, and a secure sum adds up the nodes.

Two of the nodes add noise, each all of it, as the two aggregators of DAP do. So the promise is the same: it holds
against the publisher together with any one node that hosts other readers, since at most one of both noises is known to
them. All nodes must stay to the end. A round that one of them leaves tells nothing, because its noise might be the one
that counts.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.aggregator_noise import AGGREGATORS, share_noise
from discreet.aggregation.contribution import Contribution
from discreet.aggregation.secure_sum.in_process_sum import run_round
from discreet.aggregation.secure_sum.keys import Identity
from discreet.aggregation.secure_sum.sum_plan import SumPlan
from discreet.aggregation.secure_sum.sum_terms import ROUND_ID_BYTES, SumTerms
from discreet.aggregation.sums import NoisySum, Windows, require_promised
from discreet.aggregation.task import Task
from discreet.privacy.noise import Noise

_BITS = 64


@dataclass
class _Node:
    """The sums of one node's readers, by task and window, and its key."""

    identity: Identity
    windows: Windows = field(default_factory=Windows)


class NodeSums:
    """Sums of nodes in one process, by the whole protocol of the secure sum.

    Args:
        nodes: How many there are, two at least. Contributions are dealt to them in turn.
        noise: Where the noise of two of them comes from.
    """

    def __init__(self, nodes: int, noise: Noise) -> None:
        self._nodes = [_Node(Identity.generate(number)) for number in range(nodes)]
        self._plan = SumPlan.complete(nodes, nodes)
        self._noise = noise
        self._next = 0

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """Add one reader's contribution to a window, at the node that hosts the reader."""
        require_promised(task, contribution)
        node = self._nodes[self._next % len(self._nodes)]
        node.windows.add(task, window, task.checked(contribution.values), 1)
        self._next += 1

    def collect(self, task: Task, window: int) -> NoisySum:
        """The secure sum of what all nodes have, with two nodes' noise, after which the window takes nothing more."""
        count = sum(node.windows.count(task, window) for node in self._nodes)
        task.require_batch(window, count)
        roster = {number: node.identity.public for number, node in enumerate(self._nodes)}
        purpose = task.id + window.to_bytes(8, "big")
        terms = SumTerms(secrets.token_bytes(ROUND_ID_BYTES), roster, self._plan, task.length, _BITS, purpose)
        identities = {number: node.identity for number, node in enumerate(self._nodes)}
        given = {number: self._given(number, task, window) for number in roster}
        return NoisySum(run_round(terms, identities, given).values, task.guarantee(), count)

    def _given(self, number: int, task: Task, window: int) -> Contribution:
        """What a node puts into the secure sum."""
        total: NDArray[np.int64] = self._nodes[number].windows.close(task, window)
        if number < AGGREGATORS:
            total = total + share_noise(task, self._noise)
        return Contribution(total, task.guarantee())
