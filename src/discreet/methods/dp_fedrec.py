"""DP-FedRec, the baseline of PrivateRec: noise on whole gradients in training, on the reader's vector in serving.

Liu et al.: PrivateRec: Differentially Private Training and Serving for Federated News Recommendation, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.federated.draws import round_generator
from discreet.federated.noise import summed_laplace_like
from discreet.federated.objective import Parameters
from discreet.federated.optimisers import FedAdam, Optimiser
from discreet.federated.participation import choose_clients, round_size
from discreet.federated.reduction import clip_norms, sum_clients
from discreet.federated.rounds import Round, RoundResult
from discreet.federated.simulator import client_gradients
from discreet.methods.base import State
from discreet.methods.neural import NeuralMethod, Setup, averaged, mean_loss, parameter_count
from discreet.methods.ranking import OnDevice, Serving
from discreet.methods.serving import NoisedVector, checked_calibration
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.base import Calibration


@dataclass(frozen=True, kw_only=True)
class DPFedRec(NeuralMethod):
    """Each reader's gradient is clipped to L2 norm θ and gets Laplace noise on each of its d coordinates; then FedAdam.

    As published the scale is S/ε with S = 2θ, the L2 diameter. Laplace noise needs the L1 diameter, 2θ√d: a claimed ε
    is √d times as large in truth, in every round. Calibration `exact` scales to that.
    """

    name: ClassVar[str] = "dp_fedrec"

    epsilon: float = 10.0
    clip: float = 0.005
    calibration: Calibration = Calibration.PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))

    def optimiser(self) -> Optimiser:
        """FedAdam; τ far below a clipped gradient's size, so that small gradients still move the model."""
        return FedAdam(self.rate, tau=1e-6)

    def round(self, setup: Setup) -> Round:
        """The mean of clipped gradients, each with noise of its own."""
        count = round_size(len(setup.clients), self.fraction)

        def work(parameters: Parameters, number: int) -> RoundResult:
            chosen = choose_clients(len(setup.clients), count, setup.seed, number)
            samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)
            weights = np.ones(count)
            gradients = client_gradients(setup.network, setup.table, parameters, samples)
            total = sum_clients(gradients, weights, clip_norms(self.clip))
            scale = self.noise_scale(sum(value.numel() for value in parameters.values()))
            if scale:
                generator = round_generator(setup.seed, number, "laplace")
                for name, noise in summed_laplace_like(parameters, scale, weights, generator).items():
                    total.gradient[name].add_(noise)
            return RoundResult(averaged(total.gradient, count), mean_loss(total.losses, len(samples)))

        return work

    def noise_scale(self, coordinates: int) -> float:
        """2θ/ε as published, 2θ√d/ε if exact."""
        if math.isinf(self.epsilon):
            return 0.0
        return 2 * self.clip / self.epsilon * (math.sqrt(coordinates) if self.calibration is Calibration.EXACT else 1)

    def guarantee(self, state: State) -> Guarantee:
        """Over all rounds, in each of which a reader may be chosen. The clip bounds all that a reader sends."""
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("clipped gradients without noise", Scope.LIFETIME)
        paper = self.calibration is Calibration.PAPER
        a_round = self.epsilon * (math.sqrt(parameter_count(state)) if paper else 1)
        return Guarantee(
            epsilon=a_round * self.rounds,
            delta=0.0,
            unit=Unit.USER,
            adjacency=Adjacency.SUBSTITUTE,
            adversary=Adversary.SERVER,
            scope=Scope.LIFETIME,
            status=Status.CLAIMED if paper else Status.PROVED,
            claimed_epsilon=self.epsilon if paper else None,
            mechanism="norm-clipped gradients with Laplace noise",
        )

    def serving(self, size: int, seed: int) -> Serving:
        """On the device, or the noised vector (VDP)."""
        if self.epsilon_serving is None:
            return OnDevice()
        return NoisedVector(self.epsilon_serving, size, seed, self.calibration)
