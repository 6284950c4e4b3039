"""The loop over rounds: progress, checkpoints, and stopping without loss.

A method gives a `Round`: a pure function from the state before a round to the state after it. It draws its chance by
(seed, round, purpose), so a training that was interrupted and resumed ends with the same bits as one that was not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from discreet.errors import DiscreetError
from discreet.progress import notice, track
from discreet.training.checkpoint import Checkpoint, CheckpointFile
from discreet.training.objective import Parameters
from discreet.training.optimisers import Optimiser


@dataclass(frozen=True)
class RoundResult:
    """What the clients of a round have brought: the aggregate for the optimiser (None if nobody answered).

    `loss` is the mean over samples (not a number where it is not told); `nodes` are those whose readers are in it.
    """

    direction: Parameters | None
    loss: float
    nodes: tuple[int, ...] = (0,)


Round = Callable[[Parameters, int], RoundResult]
"""From the current parameters and the round's number (from 1) to what the round's clients have brought."""

Watcher = Callable[[Checkpoint, RoundResult], float | None]
"""Called after every round; returns an AUC for the curve where it has looked at one."""


def train_rounds(
    work: Round,
    optimiser: Optimiser,
    parameters: Parameters,
    rounds: int,
    *,
    file: CheckpointFile | None = None,
    every: int = 50,
    watch: Watcher | None = None,
) -> Checkpoint:
    """Train until `rounds` rounds are done, from the last checkpoint in `file` if there is one.

    A checkpoint is written every so many rounds, at the end, and when the training is interrupted (Ctrl-C): the last
    finished round is never lost.

    Raises:
        KeyboardInterrupt: again, after the last finished round has been saved.
    """
    state = (file.load() if file else None) or Checkpoint(parameters, optimiser.init(parameters))
    saved = state.round
    if saved:
        notice(f"resuming after round {saved}")
    try:
        for number in track(range(state.round + 1, rounds + 1), "Rounds"):
            result = work(state.parameters, number)
            state = _advance(state, result, optimiser)
            if watch is not None and (auc := watch(state, result)) is not None:
                state = replace(state, watched=(*state.watched, (number, auc)))
            if file and number % every == 0:
                file.save(state)
                saved = number
    finally:
        if file and state.round > saved:
            file.save(state)
    return state


def _advance(state: Checkpoint, result: RoundResult, optimiser: Optimiser) -> Checkpoint:
    """One step of the server; a round without a usable answer changes nothing but the count."""
    parameters, memory = state.parameters, state.optimiser
    number = state.round + 1
    if result.direction is not None:
        if not all(torch.isfinite(value).all() for value in result.direction.values()):
            raise DiscreetError(
                f"training diverged in round {number} (gradients are not finite); lower the learning rate"
            )
        parameters, memory = optimiser.step(parameters, result.direction, memory)
    losses, nodes = (*state.losses, result.loss), (*state.nodes, result.nodes)
    return Checkpoint(parameters, memory, number, losses, nodes, state.watched)
