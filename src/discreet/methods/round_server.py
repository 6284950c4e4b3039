"""The server's side of rounds: where sums over readers come from, and what is kept and shown on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from discreet.methods.in_rounds import Federated, InRounds
from discreet.methods.method import TrainingTask
from discreet.methods.monitor import TrainingMonitor
from discreet.methods.settings import settings_of
from discreet.methods.setup import Setup
from discreet.training.checkpoint import CheckpointFile
from discreet.training.objective import Parameters
from discreet.training.optimisers import Optimiser
from discreet.training.readers_sum import Integers
from discreet.training.rounds import Server

Sums = Callable[[Parameters, int], tuple[Integers | None, tuple[int, ...]]]
"""From the current parameters and the round's number to the sum of contributions, and the nodes that are in it.

None is a sum that was lost.
"""


class Federation(Protocol):
    """Where the rounds of a method are played."""

    @property
    def simulated(self) -> bool:
        """Whether noise is drawn from the training's seed, and not by nodes in secret."""
        ...

    def sums(self, method: Federated, task: TrainingTask, setup: Setup) -> Sums:
        """Sums of what nodes contribute to the rounds of `method`; `setup` is the model at its start."""
        ...


def sums_over(method: Federated, task: TrainingTask, setup: Setup, federation: Federation | None) -> Sums:
    """Sums over the nodes of a federation, or over the one node that has all readers."""
    if federation is not None:
        return federation.sums(method, task, setup)
    return lambda parameters, number: (method.contribution(setup, parameters, number), (setup.node,))


def open_server(
    method: InRounds,
    task: TrainingTask,
    setup: Setup,
    optimiser: Optimiser,
    checkpoint: Path | None,
    *,
    steps: int | None = None,
    federation: Federation | None = None,
    agreed: Mapping[str, str] | None = None,
) -> Server:
    """The server of a training: it goes on from the last checkpoint if there is one, and shows loss and AUC.

    Rounds over nodes are expensive, so each is kept: a killed server loses only its last round. A checkpoint of
    other settings is refused, but for the number of rounds; `agreed` is what may not change either.
    """
    steps = method.rounds if steps is None else steps
    on_device = replace(method, epsilon_serving=None).serving(setup.network.model.reader_size, setup.seed)
    file = None
    if checkpoint is not None:
        settings = {key: str(value) for key, value in settings_of(method).items() if key not in _FREE}
        about = {"method": method.name, "seed": str(setup.seed), "data": task.data.fingerprint}
        secret = {} if is_simulated(federation) else {"noise": "secret"}
        identity = {**settings, **about, "text": task.text_identity, **secret, **(agreed or {})}
        file = CheckpointFile(checkpoint, identity)
    every = 50 if federation is None else 1
    return Server(
        setup.start, optimiser, steps, file=file, every=every, watch=TrainingMonitor(task, setup, steps, on_device)
    )


def is_simulated(federation: Federation | None) -> bool:
    """Whether what noise there is comes from the seed, so that it hides nothing from who knows it."""
    return federation is None or federation.simulated


_FREE = ("rounds", "epsilon_serving")
