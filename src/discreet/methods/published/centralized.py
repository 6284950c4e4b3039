"""Training on clicks that were simply collected: CenNewsRec of FedNewsRec's tables, "Centralized" of PrivateRec's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.methods.base import State
from discreet.methods.neural import NeuralMethod, Setup, mean_loss
from discreet.methods.ranking import OnDevice, Serving
from discreet.privacy.guarantee import Guarantee
from discreet.training.draws import round_generator
from discreet.training.objective import Parameters
from discreet.training.optimisers import FedAdam, Optimiser
from discreet.training.participation import round_size
from discreet.training.rounds import Round, RoundResult
from discreet.training.simulator import summed_gradient


@dataclass(frozen=True, kw_only=True)
class Centralized(NeuralMethod):
    """Small batches of all collected samples with Adam: what a publisher has who gives no privacy.

    It passes over the readers as often as the federated methods do in their `rounds`, but `batch` readers at a time:
    the same data, in many more steps.
    """

    name: ClassVar[str] = "centralized"
    epsilon: ClassVar[None] = None

    batch: int = 32

    def steps(self, clients: int) -> int:
        """Batches in as many passes over the readers as the rounds of a federated method make."""
        return max(self.rounds, self.rounds * round_size(clients, self.fraction) // self.batch)

    def optimiser(self) -> Optimiser:
        """Adam."""
        return FedAdam(self.rate, tau=1e-6)

    def round(self, setup: Setup) -> Round:
        """One batch of readers in the shuffled order of its epoch; the mean over samples."""
        steps = max(1, len(setup.clients) // self.batch)

        def work(parameters: Parameters, number: int) -> RoundResult:
            epoch, step = divmod(number - 1, steps)
            order = round_generator(setup.seed, epoch, "epoch").permutation(len(setup.clients))
            chosen = np.sort(order[step * self.batch : (step + 1) * self.batch])
            samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)
            weights = np.full(len(chosen), 1 / max(1, len(samples)))
            summed = summed_gradient(setup.network, setup.table, parameters, samples, weights)
            return RoundResult(summed.gradient, mean_loss(summed.losses, len(samples)))

        return work

    def guarantee(self, state: State) -> Guarantee | None:
        """None: clicks are collected."""
        return None

    def serving(self, size: int, seed: int) -> Serving:
        """The server has the exact history."""
        return OnDevice()
