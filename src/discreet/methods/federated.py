"""What the methods that train in rounds over readers share: a node's part of a round, and the server's.

A node hosts some of the readers: all of them in a simulation, a shard of them on a machine of its own, one on a device.
What it gives to a round is a vector of whole numbers (`contribution`), and the server sees the sum over nodes alone
(`result`). Nothing else is different between one machine and many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from discreet.aggregation.secure_sum.plan import COLLUDING
from discreet.methods.base import State, Task
from discreet.methods.neural import NeuralMethod, Setup
from discreet.privacy.guarantee import Guarantee
from discreet.training.lattice import Integers, ReadersSum
from discreet.training.objective import Parameters
from discreet.training.participation import choose_clients, round_size
from discreet.training.rounds import Round, RoundResult
from discreet.training.samples import Samples
from discreet.training.simulator import SummedGradient, summed_gradient


@dataclass(frozen=True)
class Parties:
    """Those who add up together.

    Attributes:
        invited: how many were asked.
        quorum: the fewest whose parts make a sum that is opened.
        known: how many there are, invited or not.
    """

    invited: int
    quorum: int
    known: int = 0

    @property
    def colluders(self) -> int:
        """How many know the noise of their own part, and tell it: a tenth of all, invited or not.

        One at least, for every party sees the model, and could look for the others' readers in it.
        """
        return max(1, int(COLLUDING * max(self.invited, self.known)))


class Federation(Protocol):
    """Where the rounds of a method are played."""

    @property
    def simulated(self) -> bool:
        """Whether noise is drawn from the training's seed, and not by nodes in secret."""
        ...

    def round(self, method: FederatedMethod, task: Task, setup: Setup) -> Round:
        """What happens in a round of `method`; `setup` is the model at its start."""
        ...


@dataclass(frozen=True, kw_only=True)
class FederatedMethod(NeuralMethod):
    """A method whose server needs no more than a sum over readers.

    A loss tells of clicks as a gradient does. A simulation shows it; nodes send it only where `tells_loss`.

    Where its noise is not from `Setup.chance` it is from the seed, which the server knows: its guarantee is that of a
    protocol that is simulated, and nodes take such a method for one that guarantees nothing.
    """

    tells_loss: ClassVar[bool] = True
    secret_noise: ClassVar[bool] = False

    def contribution(
        self, setup: Setup, parameters: Parameters, number: int, parties: Parties | None = None
    ) -> Integers:
        """What a node gives to round `number`; `parties` are the nodes that add up, None if it is the only one."""
        if not len(setup.clients):
            return np.zeros(self.length(parameters), np.int64)
        count = round_size(len(setup.clients), self.fraction)
        chosen = choose_clients(len(setup.clients), count, setup.seed, number, setup.node)
        samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)
        weights = self.weights(samples)
        summed = self.summed(setup, parameters, samples, weights)
        losses, count = (summed.losses.sum(), len(samples)) if parties is None or self.tells_loss else (0.0, 0)
        return ReadersSum(summed.gradient, weights.sum(), losses, count).to_lattice()

    def length(self, parameters: Mapping[str, Tensor]) -> int:
        """How many numbers a contribution has."""
        return sum(value.numel() for value in parameters.values()) + 3

    def result(self, parameters: Parameters, total: Integers, nodes: tuple[int, ...] = (0,)) -> RoundResult:
        """What the server makes of the sum of contributions: the mean of the readers' gradients."""
        told = ReadersSum.from_lattice(total, parameters)
        mean = told.mean
        direction = None if mean is None else {name: value.to(parameters[name].dtype) for name, value in mean.items()}
        return RoundResult(direction, told.mean_loss, nodes)

    def weights(self, samples: Samples) -> NDArray[np.float64]:
        """How much each reader counts in the mean: all the same."""
        return np.ones(len(samples.clients))

    def summed(
        self, setup: Setup, parameters: Parameters, samples: Samples, weights: NDArray[np.float64]
    ) -> SummedGradient:
        """Σ w_u·g_u of the chosen readers, with each one's loss."""
        return summed_gradient(setup.network, setup.table, parameters, samples, weights)

    def round(self, setup: Setup) -> Round:
        """One node has all readers."""

        def work(parameters: Parameters, number: int) -> RoundResult:
            return self.result(parameters, self.contribution(setup, parameters, number))

        return work

    def train(
        self, task: Task, seed: int, checkpoint: Path | None = None, federation: Federation | None = None
    ) -> State:
        """Train for all rounds, from the last checkpoint if there is one, here or where `federation` says.

        Rounds over nodes are dear, so there each is kept: a server that is killed loses the one it was in.
        """
        if federation is None:
            return super().train(task, seed, checkpoint)
        setup = self.setup(task, seed)
        work = federation.round(self, task, setup)
        return self.train_with(work, task, setup, checkpoint, every=1, simulated=federation.simulated)

    def other_guarantee(self, state: State) -> Guarantee | None:
        """What holds against a server that sees more, or less, than the one `guarantee` is about; None if the same."""
        return None
