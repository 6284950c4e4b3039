"""Audit of a round of DP-FedAvg, registered when this module is imported.

Three of four nodes are in the sum, and one of them tells the server what it gave, so that it can be taken off: what is
left is the sum of two. The worst client is at one of these or not. Its update is far longer than the clip, and the
adversary knows it, and all others' updates, and looks at the mean that the server makes its step of. All of it is the
training's own code but the computing of updates: the coin, the clip, the lattice, the nodes' noise, the mean.

What runs the audit is imported when it runs, so that listing audits does not wait for PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.audits.black_box import BlackBox
from discreet.audits.registry import Audit, register
from discreet.audits.sampling import AHEAD
from discreet.audits.scores import Nearness, Outputs
from discreet.privacy.guarantee import Status
from discreet.privacy.noise import SecureNoise
from discreet.privacy.participation import multiplier_for

if TYPE_CHECKING:
    from discreet.privacy.noise import Noise
    from discreet.training.chance import Attendance

_READERS = 3
_DELTA = 1e-6


@dataclass(frozen=True)
class ServerView:
    """What the server's mean tells of the worst client: how far it lies in the client's direction, in clips.

    Attributes:
        epsilon: The budget of the training.
        rounds: How many rounds all readers join; the audit looks at one of them.
        user: Whether the worst client is among the readers of the first node.
        dimension: How many parameters the model has.
        quorum: How many nodes are taken to be in the sum; 3 of 4 are, of which one tells.
    """

    epsilon: float
    rounds: int
    user: bool
    dimension: int = 300
    quorum: int = 3

    def __call__(self, runs: int, seed: int) -> Outputs:
        """One row for each round. Secure noise has no seed."""
        import torch

        from discreet.methods.dp_fedavg import DPFedAvg
        from discreet.training.parties import Parties

        rows = np.random.default_rng(0).normal(size=(2, _READERS, self.dimension)) * 10
        target = rows[0, 0] / np.linalg.norm(rows[0, 0])

        class GivenUpdates(DPFedAvg):
            def updates(self, setup: Any, parameters: Any, number: int, joining: Any) -> Iterator[NDArray[np.float64]]:
                yield rows[setup.node][setup.clients.reader][joining]

        method = GivenUpdates(epsilon=self.epsilon, delta=_DELTA, rounds=self.rounds)
        parameters = {"all": torch.zeros(self.dimension, dtype=torch.float64)}
        chance = _AllJoin()
        everybody = [_Node(node, np.arange(_READERS), chance) for node in range(2)]
        known = self._known(rows, method.clip)
        present: list[Any] = [_Node(0, np.arange(0 if self.user else 1, _READERS), chance), *everybody[1:]]
        outputs = np.empty((runs, 1))
        for run in range(runs):
            parts = [
                method.contribution(node, parameters, 1, Parties(max(4, self.quorum), self.quorum)) for node in present
            ]
            total = np.sum(parts, axis=0)
            direction = method.result(parameters, total).direction
            assert direction is not None
            summed = direction["all"].numpy() * total[-1] / method.clip
            outputs[run] = (summed - known) @ target
        return outputs

    def _known(self, rows: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
        """The clipped updates of all but the worst client, in clips; all of them are longer than the clip."""
        clipped = rows / np.linalg.norm(rows, axis=2, keepdims=True)
        return np.asarray(clipped.sum(axis=(0, 1)) - clipped[0, 0])


@dataclass(frozen=True)
class _Readers:
    reader: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.reader)


class _AllJoin:
    """Everybody takes part, and noise is secret."""

    def __init__(self) -> None:
        self._noise = SecureNoise(AHEAD)

    def joining(self, readers: NDArray[np.int64], number: int, attendance: Attendance) -> NDArray[np.int64]:
        return np.arange(len(readers))

    def noise(self, number: int) -> Noise:
        return self._noise


class _Node:
    """As much of a node's setup as a contribution needs."""

    def __init__(self, node: int, readers: NDArray[np.int64], chance: _AllJoin) -> None:
        self.node = node
        self.clients = _Readers(readers)
        self.readers = _READERS
        self.chance = chance


def worst_client_audit(epsilon: float, rounds: int, runs: int, quorum: int = 3) -> Audit:
    """One round of a training, whose μ is 1/z; (ε, δ) of all rounds follow from z."""
    with_user, without = (ServerView(epsilon, rounds, user, quorum=quorum) for user in (True, False))
    examination = BlackBox(with_user, without, runs=runs, gaussian=True, scores=(Nearness(2, ([1.0], [0.0])),))
    setting = f"worst client, one of {rounds} rounds, 3 of 4 nodes, one tells, ε={epsilon:g} δ={_DELTA:g}"
    return Audit("dp_fedavg", setting, Status.PROVED, 1 / multiplier_for(epsilon, _DELTA, rounds), examination)


register(worst_client_audit(10.0, 1, 3_000))
register(worst_client_audit(3.0, 2, 6_000))
