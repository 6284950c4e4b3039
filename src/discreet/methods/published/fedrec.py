"""Federated training without noise: FedNewsRec's framework with FedAdam, the ε = ∞ of PrivateRec's tables.

Qi et al. 2020, section 3.2; Liu et al. 2022, section 4 ("FedRec").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor

from discreet.data.news import Impressions
from discreet.methods.in_rounds import Federated
from discreet.methods.learnt import learnt, score_learnt
from discreet.methods.method import Scores, State, TrainingTask
from discreet.methods.published.serving import check_delta, checked_calibration, vector_serving
from discreet.methods.ranking import Serving
from discreet.methods.round_server import Federation, is_simulated, open_server, sums_over
from discreet.methods.setup import ALL_READERS, Part, Setup, prepare
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.training.objective import Parameters
from discreet.training.optimisers import FedAdam, Optimiser
from discreet.training.parties import Parties
from discreet.training.randomness import Randomness
from discreet.training.readers_sum import Integers, ReadersSum
from discreet.training.rounds import RoundResult, mean_gradient
from discreet.training.simulator import summed_gradient


@dataclass(frozen=True, kw_only=True)
class FedRec(Federated):
    """Gradients of a share of the readers are averaged in each round; histories stay, but gradients tell of them.

    Training has no noise. `calibration` and `delta` are those of the noised vector, where one is served.
    """

    name: ClassVar[str] = "fedrec"

    calibration: Calibration = Calibration.PAPER
    delta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))
        check_delta(self.name, self.delta)

    @property
    def epsilon(self) -> float | None:
        """No noise."""
        return math.inf

    def setup(
        self, task: TrainingTask, seed: int, part: Part = ALL_READERS, randomness: Randomness | None = None
    ) -> Setup:
        """The model at its start, and a node's readers."""
        return prepare(self, task, seed, part, randomness)

    def train(
        self, task: TrainingTask, seed: int, checkpoint: Path | None = None, federation: Federation | None = None
    ) -> State:
        """In each round the readers' mean gradient, and a step of FedAdam."""
        setup = self.setup(task, seed)
        sums = sums_over(self, task, setup, federation)
        with open_server(self, task, setup, self.optimiser(), checkpoint, federation=federation) as server:
            for number in server:
                total, nodes = sums(server.parameters, number)
                server.step(self.result(server.parameters, total, nodes))
        return learnt(self, task, setup, server.state, simulated=is_simulated(federation))

    def contribution(
        self, setup: Setup, parameters: Parameters, number: int, parties: Parties | None = None
    ) -> Integers:
        """Σ g_u over the readers of a node who are chosen, all with the same weight."""
        if not len(setup.clients):
            return ReadersSum.nothing(parameters)
        chosen = setup.clients.choose(self.fraction, setup.seed, number, setup.node)
        samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)
        weights = np.ones(len(chosen))
        summed = summed_gradient(setup.network, setup.table, parameters, samples, weights)
        return ReadersSum(summed.gradient, weights.sum(), summed.losses.sum(), len(samples)).to_lattice()

    def length(self, parameters: Mapping[str, Tensor]) -> int:
        """A gradient, with weight, loss and samples."""
        return ReadersSum.length(parameters)

    def result(self, parameters: Parameters, total: Integers | None, nodes: tuple[int, ...] = (0,)) -> RoundResult:
        """The mean of the gradients."""
        return mean_gradient(parameters, total, nodes)

    def optimiser(self) -> Optimiser:
        """FedAdam."""
        return FedAdam(self.rate)

    def guarantee(self, state: State) -> Guarantee:
        """None that is finite: a gradient tells its samples."""
        return Guarantee.unprotected("gradients without noise", Scope.LIFETIME)

    def serving(self, size: int, seed: int) -> Serving:
        """On the device, or the noised vector of DP-FedRec (VDP)."""
        return vector_serving(self.epsilon_serving, size, seed, self.calibration, self.delta)

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Rank with the trained model."""
        return score_learnt(self, task, state, impressions, seed)
