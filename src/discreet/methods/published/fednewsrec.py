"""FedNewsRec: federated training with local noise on clipped gradients.

Qi, Wu, Wu, Huang, Xie: Privacy-Preserving News Recommendation Model Learning. Findings of EMNLP 2020, section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor

from discreet.data.news import Impressions
from discreet.methods.in_rounds import Federated
from discreet.methods.learnt import learnt, parameter_count, score_learnt
from discreet.methods.method import Scores, State, TrainingTask
from discreet.methods.published.noised_gradients import (
    add_laplace,
    check_clip,
    claimed_by_scale,
    coordinates,
    laplace_guarantee,
)
from discreet.methods.published.serving import checked_calibration, vector_serving
from discreet.methods.ranking import Serving
from discreet.methods.round_server import Federation, is_simulated, open_server, sums_over
from discreet.methods.setup import ALL_READERS, Part, Setup, prepare
from discreet.privacy.guarantee import Guarantee, Unit
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.training.objective import Parameters
from discreet.training.optimisers import SGD, Optimiser
from discreet.training.parties import Parties
from discreet.training.randomness import Randomness
from discreet.training.readers_sum import Integers, ReadersSum
from discreet.training.reduction import clip_coordinates, sum_clients
from discreet.training.rounds import RoundResult, mean_gradient
from discreet.training.simulator import client_gradients


@dataclass(frozen=True, kw_only=True)
class FedNewsRec(Federated):
    """M(g) = clip(g, δ) + Laplace(λ) on each coordinate, weighted by |B_u|, then SGD (Eq. 4 to 7).

    `epsilon` is the paper's 2δ/λ, which holds for one coordinate in one round. A gradient has d coordinates, and all of
    them move when a click changes, so a round costs d times as much: ε = 2δd/λ. Calibration `exact` scales λ to that.
    |B_u| is sent in clear: under substitution it is public; under adding or removing a click nothing bounds the loss.

    Attributes:
        laplace_scale: λ, the scale of the noise, in place of ε, which is then the paper's 2δ/λ.
        clip: δ, the bound on each coordinate.
    """

    name: ClassVar[str] = "fednewsrec"

    epsilon: float = 2 / 3
    laplace_scale: float | None = None
    rate: float = 0.5
    clip: float = 0.005
    calibration: Calibration = Calibration.PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))
        check_clip(self.name, self.clip)
        claim = claimed_by_scale(self.name, self.laplace_scale, self.clip, self.epsilon, self.calibration)
        object.__setattr__(self, "epsilon", claim)

    def setup(
        self, task: TrainingTask, seed: int, part: Part = ALL_READERS, randomness: Randomness | None = None
    ) -> Setup:
        """The model at its start, and a node's readers."""
        return prepare(self, task, seed, part, randomness)

    def train(
        self, task: TrainingTask, seed: int, checkpoint: Path | None = None, federation: Federation | None = None
    ) -> State:
        """Section 3.2: in each round, the gradients of a share r of the clients (Eq. 4 to 6), and a step (Eq. 7)."""
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
        """Σ |B_u|·M(g_u) over the clients of a node who are chosen.

        A loss tells of clicks as a gradient does: a simulation shows it, and nodes keep it to themselves.
        """
        if not len(setup.clients):
            return ReadersSum.nothing(parameters)
        chosen = setup.clients.choose(self.fraction, setup.seed, number, setup.node)
        samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)
        weights = samples.counts.astype(np.float64)  # |B_u| (Eq. 6)
        gradients = client_gradients(setup.network, setup.table, parameters, samples)
        summed = sum_clients(gradients, weights, clip_coordinates(self.clip))  # Eq. 4
        add_laplace(summed.gradient, self.noise_scale(coordinates(parameters)), weights, setup, number)  # Eq. 5
        loss, count = (summed.losses.sum(), len(samples)) if parties is None else (0.0, 0)
        return ReadersSum(summed.gradient, weights.sum(), loss, count).to_lattice()

    def length(self, parameters: Mapping[str, Tensor]) -> int:
        """A gradient, with weight, loss and samples."""
        return ReadersSum.length(parameters)

    def result(self, parameters: Parameters, total: Integers | None, nodes: tuple[int, ...] = (0,)) -> RoundResult:
        """ḡ = Σ |B_u|·M(g_u) / Σ |B_u| (Eq. 6)."""
        return mean_gradient(parameters, total, nodes)

    def optimiser(self) -> Optimiser:
        """Θ ← Θ − η·ḡ (Eq. 7)."""
        return SGD(self.rate)

    def noise_scale(self, coordinates: int) -> float:
        """λ, the diameter over ε, as published or the true one; 0 for ε = ∞."""
        paper = self.calibration is Calibration.PAPER
        return (2 * self.clip if paper else self.diameter(coordinates)) / self.epsilon

    def diameter(self, coordinates: int) -> float:
        """The L1 diameter of clipped gradients: 2δ on each of d coordinates."""
        return 2 * self.clip * coordinates

    def guarantee(self, state: State) -> Guarantee:
        """For a click, over all rounds: d times what is claimed for each."""
        d = parameter_count(state)
        return laplace_guarantee(
            epsilon=self.epsilon,
            diameter=self.diameter(d),
            scale=self.noise_scale(d),
            rounds=self.rounds,
            unit=Unit.CLICK,
            calibration=self.calibration,
            history_clicks=self.history_clicks,
        )

    def serving(self, size: int, seed: int) -> Serving:
        """On the device, or the noised vector (VDP) of PrivateRec's comparison."""
        return vector_serving(self.epsilon_serving, size, seed, self.calibration)

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Rank with the trained model."""
        return score_learnt(self, task, state, impressions, seed)
