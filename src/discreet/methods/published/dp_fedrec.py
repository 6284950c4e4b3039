"""DP-FedRec, the baseline of PrivateRec: noise on whole gradients in training, on the reader's vector in serving.

Liu et al.: PrivateRec: Differentially Private Model Training and Online Serving for Federated News Recommendation,
section 4.
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
from discreet.errors import DiscreetError
from discreet.methods.in_rounds import Federated
from discreet.methods.learnt import learnt, parameter_count, score_learnt
from discreet.methods.method import Scores, State, TrainingTask
from discreet.methods.published.noised_gradients import (
    add_gaussian,
    add_laplace,
    check_clip,
    claimed_by_scale,
    coordinates,
    gaussian_guarantee,
    laplace_guarantee,
    published_sigma,
)
from discreet.methods.published.serving import check_delta, checked_calibration, vector_serving
from discreet.methods.ranking import Serving
from discreet.methods.round_server import Federation, is_simulated, open_server, sums_over
from discreet.methods.setup import ALL_READERS, Part, Setup, prepare
from discreet.privacy.guarantee import Guarantee, Unit
from discreet.privacy.mechanisms.gaussian import analytic_multiplier
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.training.objective import Parameters
from discreet.training.optimisers import FedAdam, Optimiser
from discreet.training.parties import Parties
from discreet.training.randomness import Randomness
from discreet.training.readers_sum import Integers, ReadersSum
from discreet.training.reduction import clip_norms, sum_clients
from discreet.training.rounds import RoundResult, mean_gradient
from discreet.training.simulator import client_gradients


@dataclass(frozen=True, kw_only=True)
class DPFedRec(Federated):
    """Each reader's gradient is clipped to L2 norm θ and gets Laplace noise on each of its d coordinates; then FedAdam.

    As published the scale is S/ε with S = 2θ, the L2 diameter. Laplace noise needs the L1 diameter, 2θ√d: a claimed ε
    is √d times as large in truth, in every round. Calibration `exact` scales to that. The clip bounds all that a reader
    sends, so the guarantee is the user's, not only a click's.

    Attributes:
        delta: Above 0 the noise is Gaussian: σ = S/ε·√(2 ln(1.25/δ)) as published, the analytic Gaussian's if `exact`.
        laplace_scale: λ, the scale of the Laplace noise, in place of ε, which is then the paper's 2θ/λ.
        clip: θ.
    """

    name: ClassVar[str] = "dp_fedrec"

    epsilon: float = 10.0
    delta: float = 0.0
    laplace_scale: float | None = None
    clip: float = 0.005
    calibration: Calibration = Calibration.PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))
        check_clip(self.name, self.clip)
        check_delta(self.name, self.delta)
        if self.delta and self.laplace_scale is not None:
            raise DiscreetError(f"{self.name}: with a delta the noise is Gaussian; leave out laplace_scale")
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
        """In each round the mean of the readers' noised gradients, and a step of FedAdam."""
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
        """Σ (clip(g_u) + n_u) over the readers of a node who are chosen, all with the same weight.

        A loss tells of clicks as a gradient does: a simulation shows it, and nodes keep it to themselves.
        """
        if not len(setup.clients):
            return ReadersSum.nothing(parameters)
        chosen = setup.clients.choose(self.fraction, setup.seed, number, setup.node)
        samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)
        weights = np.ones(len(chosen))
        gradients = client_gradients(setup.network, setup.table, parameters, samples)
        summed = sum_clients(gradients, weights, clip_norms(self.clip))
        add_noise = add_gaussian if self.delta else add_laplace
        add_noise(summed.gradient, self.noise_scale(coordinates(parameters)), weights, setup, number)
        loss, count = (summed.losses.sum(), len(samples)) if parties is None else (0.0, 0)
        return ReadersSum(summed.gradient, weights.sum(), loss, count).to_lattice()

    def length(self, parameters: Mapping[str, Tensor]) -> int:
        """A gradient, with weight, loss and samples."""
        return ReadersSum.length(parameters)

    def result(self, parameters: Parameters, total: Integers | None, nodes: tuple[int, ...] = (0,)) -> RoundResult:
        """The mean of the noised gradients."""
        return mean_gradient(parameters, total, nodes)

    def optimiser(self) -> Optimiser:
        """FedAdam; τ far below a clipped gradient's size, so that small gradients still move the model."""
        return FedAdam(self.rate, tau=1e-6)

    def noise_scale(self, coordinates: int) -> float:
        """λ, the diameter over ε, as published or the true one, or the Gaussian's σ; 0 for ε = ∞."""
        paper = self.calibration is Calibration.PAPER
        if self.delta and not math.isinf(self.epsilon):
            sigma = (
                published_sigma(1.0, self.epsilon, self.delta)
                if paper
                else analytic_multiplier(self.epsilon, self.delta)
            )
            return 2 * self.clip * sigma
        return (2 * self.clip if paper else self.diameter(coordinates)) / self.epsilon

    def diameter(self, coordinates: int) -> float:
        """The L1 diameter of clipped gradients: 2θ in L2, so 2θ√d."""
        return 2 * self.clip * math.sqrt(coordinates)

    def guarantee(self, state: State) -> Guarantee:
        """For a user, over all rounds: √d times what is claimed for each."""
        d = parameter_count(state)
        if self.delta:
            return gaussian_guarantee(
                epsilon=self.epsilon,
                delta=self.delta,
                diameter=2 * self.clip,
                scale=self.noise_scale(d),
                rounds=self.rounds,
                calibration=self.calibration,
                history_clicks=self.history_clicks,
            )
        return laplace_guarantee(
            epsilon=self.epsilon,
            diameter=self.diameter(d),
            scale=self.noise_scale(d),
            rounds=self.rounds,
            unit=Unit.USER,
            calibration=self.calibration,
            history_clicks=self.history_clicks,
        )

    def serving(self, size: int, seed: int) -> Serving:
        """On the device, or the noised vector (VDP) of PrivateRec's comparison."""
        return vector_serving(self.epsilon_serving, size, seed, self.calibration, self.delta)

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Rank with the trained model."""
        return score_learnt(self, task, state, impressions, seed)
