"""Audits of DP-FedAvg, registered when this module is imported.

Three of four nodes are in the sum. One of them shows the server what it gave, so the server can subtract it: the sum
of two nodes is left. The worst client is at one of these two. Her update is far longer than the clip, or it counts as
zero. The adversary knows this update, the updates of all others, and who takes part. The adversary sees the mean that
the server steps along: in one round, or in all rounds that the worst client joins. The audit runs the training's own
code (coin, cap, clip, lattice, the nodes' noise, mean). Two things differ: updates are given, and the book of
participations is in memory, because a flushed file takes longer than a round.

What the audit needs is imported when it runs, so that listing audits does not wait for PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.audits.audit_registry import Audit, register
from discreet.audits.black_box import BlackBox
from discreet.audits.scores import Nearness, Outputs
from discreet.privacy.guarantee import Status
from discreet.privacy.participation_cost import multiplier_for

if TYPE_CHECKING:
    from discreet.training.randomness import SecretRandomness

_READERS = 3
_DELTA = 1e-6


@dataclass(frozen=True)
class ServerView:
    """What the server's means tell of the worst client: how far they lie in her direction, in clips.

    Attributes:
        epsilon: The budget of the training.
        rounds: How many rounds there are.
        user: Whether the worst client's updates count.
        looked_at: How many of the rounds the adversary looks at.
        fraction: The probability of a reader's coin.
        participations: How often a reader joins at most; 0 stands for all rounds.
        dimension: How many parameters the model has.
        quorum: How many nodes are taken to be in the sum; 3 of 4 are, of which one tells.
    """

    epsilon: float
    rounds: int
    user: bool
    looked_at: int = 1
    fraction: float = 1.0
    participations: int = 0
    dimension: int = 300
    quorum: int = 3

    def __call__(self, runs: int, seed: int) -> Outputs:
        """One row for each training: the sum over the rounds that she joined, by the root of their number."""
        import torch

        from discreet.methods.dp_fedavg import DPFedAvg
        from discreet.training.parties import Parties

        rows = np.random.default_rng(0).normal(size=(2, _READERS, self.dimension)) * 10
        known = rows / np.linalg.norm(rows, axis=2, keepdims=True)  # all are longer than the clip
        target = known[0, 0].copy()
        known[0, 0] = 0
        if not self.user:
            rows[0, 0] = 0

        class FixedUpdates(DPFedAvg):
            def updates(self, setup: Any, parameters: Any, number: int, joining: Any) -> Iterator[NDArray[np.float64]]:
                setup.joining = joining
                yield rows[setup.node][joining]

        settings: dict[str, Any] = {"fraction": self.fraction, "participations": self.participations}
        method = FixedUpdates(epsilon=self.epsilon, delta=_DELTA, rounds=self.rounds, **settings)
        parameters = {"all": torch.zeros(self.dimension, dtype=torch.float64)}
        parties = Parties(max(4, self.quorum), self.quorum)
        outputs = np.zeros((runs, 1))
        for run in range(runs):
            nodes: list[Any] = [_Node(0), _Node(1)]
            joined = 0
            for number in range(1, self.looked_at + 1):
                total = np.sum([method.contribution(node, parameters, number, parties) for node in nodes], axis=0)
                direction = method.result(parameters, total).direction
                assert direction is not None
                if 0 not in nodes[0].joining:
                    continue
                joined += 1
                summed = direction["all"].numpy() * self.fraction * total[-1] / method.clip
                others = sum(known[node.node][node.joining].sum(axis=0) for node in nodes)
                outputs[run] += (summed - others) @ target
            outputs[run] /= math.sqrt(max(1, joined))
        return outputs


@dataclass(frozen=True)
class _Readers:
    reader: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.reader)


class _Node:
    """As much of a node's setup as a contribution needs."""

    def __init__(self, node: int) -> None:
        self.node = node
        self.clients = _Readers(np.arange(_READERS, dtype=np.int32))
        self.readers = _READERS
        self.randomness = _secret_randomness()
        self.joining = np.zeros(0, np.int64)


class _BookInMemory:
    """A book of participations that is not written to disk."""

    def __init__(self) -> None:
        self._last: tuple[int, NDArray[np.int64]] | None = None

    def read(self, readers: NDArray[np.int32]) -> tuple[int, NDArray[np.int64]]:
        return self._last or (0, np.zeros(len(readers), np.int64))

    def write(self, number: int, readers: NDArray[np.int32], joined: NDArray[np.int64]) -> None:
        self._last = number, joined


def _secret_randomness() -> SecretRandomness:
    """The coins, the cap and the noise of a real node, with its book in memory."""
    from discreet.training.randomness import SecretRandomness

    return SecretRandomness(_BookInMemory())


def worst_client_audit(epsilon: float, rounds: int, runs: int, quorum: int = 3) -> Audit:
    """One round of a training, whose μ is 1/z; (ε, δ) of all rounds follow from z."""
    with_user, without = (ServerView(epsilon, rounds, user, quorum=quorum) for user in (True, False))
    examination = BlackBox(with_user, without, runs=runs, gaussian=True, scores=(Nearness(2, ([1.0], [0.0])),))
    setting = f"worst client, one of {rounds} rounds, 3 of 4 nodes, one tells, ε={epsilon:g} δ={_DELTA:g}"
    return Audit("dp_fedavg", setting, Status.PROVED, 1 / multiplier_for(epsilon, _DELTA, rounds), examination)


def whole_course_audit(epsilon: float, rounds: int, fraction: float, participations: int, runs: int) -> Audit:
    """All rounds of a training, of which she joins some by her coin and at most K: their μ is √K/z."""
    course = {"looked_at": rounds, "fraction": fraction, "participations": participations, "dimension": 20}
    with_user, without = (ServerView(epsilon, rounds, user, **course) for user in (True, False))  # type: ignore[arg-type]
    anchors = ([math.sqrt(participations)], [0.0])
    examination = BlackBox(with_user, without, runs=runs, gaussian=True, scores=(Nearness(2, anchors),))
    setting = (
        f"worst client, {rounds} rounds, joins {participations} at most by a coin of {fraction:g}, 3 of 4 nodes, one"
        f" tells, ε={epsilon:g} δ={_DELTA:g}"
    )
    claim = math.sqrt(participations) / multiplier_for(epsilon, _DELTA, participations)
    return Audit("dp_fedavg", setting, Status.PROVED, claim, examination)


register(worst_client_audit(10.0, 1, 3_000))
register(worst_client_audit(3.0, 2, 6_000))
register(whole_course_audit(5.0, 4, 0.75, 2, 2_000))
