"""The server of a training: what it knows between rounds, its step, and stopping without loss.

A method's loop is its own:

    with Server(start, SGD(0.5), rounds, file=file) as server:
        for number in server:
            ...                                  # what the round's clients bring
            server.step(RoundResult(direction, loss))

All random numbers of a round are drawn by (seed, round, purpose), so a training that was interrupted and resumed ends
with the same bits as one that was not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import TracebackType

import torch
from torch import Tensor

from discreet.errors import DiscreetError, InputError
from discreet.progress import notice, say_time_left, track
from discreet.training.checkpoint import Checkpoint, CheckpointFile
from discreet.training.objective import Parameters
from discreet.training.optimisers import Optimiser
from discreet.training.readers_sum import Integers, ReadersSum


@dataclass(frozen=True)
class RoundResult:
    """What the clients of a round have brought: the aggregate for the optimiser (None if nobody answered).

    `loss` is the mean over samples (not a number where it is secret); `nodes` are those whose readers are in it.
    """

    direction: Parameters | None
    loss: float
    nodes: tuple[int, ...] = (0,)


Watcher = Callable[[Checkpoint, RoundResult], float | None]
"""Called after every round; returns an AUC for the curve where it has looked at one."""


class Server:
    """The parameters Θ, what the optimiser remembers, and how many rounds are done.

    It starts from the last checkpoint in `file` if there is one. A checkpoint is written every so many rounds, at the
    end, and when the training is interrupted (Ctrl-C): the last finished round is never lost.
    """

    def __init__(
        self,
        start: Parameters,
        optimiser: Optimiser,
        rounds: int,
        *,
        file: CheckpointFile | None = None,
        every: int = 50,
        watch: Watcher | None = None,
    ) -> None:
        self.state = (file.load() if file else None) or Checkpoint(start, optimiser.init(start))
        self._optimiser, self._rounds, self._file, self._every, self._watch = optimiser, rounds, file, every, watch
        self._saved = self.state.round
        if file and self._saved > rounds:
            raise InputError(
                file.path, f"has {self._saved} rounds already, not {rounds}; remove it, or set more rounds"
            )
        if self._saved:
            notice(f"resuming after round {self._saved}")

    @property
    def parameters(self) -> Parameters:
        """Θ, as it stands now."""
        return self.state.parameters

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.state.round > self._saved:
            self._save()

    def __iter__(self) -> Iterator[int]:
        """The numbers of the rounds that are left. Each takes one `step`.

        The second and the third tell how long it will take; the first is slower than the others.
        """
        first, began = self.state.round + 1, 0.0
        for number in track(range(first, self._rounds + 1), "Rounds"):
            yield number
            if number == first:
                began = time.monotonic()
            elif number == first + 2:
                say_time_left(self._rounds - number, (time.monotonic() - began) / 2)

    def step(self, result: RoundResult) -> None:
        """End the round: move the model. A round without a usable answer changes nothing but the count.

        Raises:
            DiscreetError: the training diverged.
        """
        state, number = self.state, self.state.round + 1
        parameters, memory = state.parameters, state.optimiser
        if result.direction is not None:
            _refuse_infinite(result.direction, number, "gradients")
            parameters, memory = self._optimiser.step(parameters, result.direction, memory)
            _refuse_infinite(parameters, number, "weights")
        losses, nodes = (*state.losses, result.loss), (*state.nodes, result.nodes)
        self.state = Checkpoint(parameters, memory, number, losses, nodes, state.watched)
        if self._watch is not None and (auc := self._watch(self.state, result)) is not None:
            self.state = replace(self.state, watched=(*state.watched, (number, auc)))
        if number % self._every == 0:
            self._save()

    def _save(self) -> None:
        if self._file:
            self._file.save(self.state)
        self._saved = self.state.round


def _refuse_infinite(values: Mapping[str, Tensor], number: int, what: str) -> None:
    if not all(torch.isfinite(value).all() for value in values.values()):
        raise DiscreetError(f"training diverged in round {number} ({what} are not finite); lower the learning rate")


def mean_gradient(parameters: Parameters, total: Integers | None, nodes: tuple[int, ...] = (0,)) -> RoundResult:
    """Σ w_u·g_u / Σ w_u, from the sum of what nodes sent (`ReadersSum`); None is a sum that was lost."""
    if total is None:
        return RoundResult(None, math.nan, nodes)
    found = ReadersSum.from_lattice(total, parameters)
    mean = found.mean
    direction = None if mean is None else {name: value.to(parameters[name].dtype) for name, value in mean.items()}
    return RoundResult(direction, found.mean_loss, nodes)
