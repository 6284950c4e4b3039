"""FedNewsRec: federated training with local noise on clipped gradients.

Qi, Wu, Wu, Huang, Xie: Privacy-Preserving News Recommendation Model Learning. Findings of EMNLP 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.federated.draws import round_generator
from discreet.federated.noise import summed_laplace_like
from discreet.federated.objective import Parameters
from discreet.federated.optimisers import SGD, Optimiser
from discreet.federated.participation import choose_clients, round_size
from discreet.federated.reduction import clip_coordinates, sum_clients
from discreet.federated.rounds import Round, RoundResult
from discreet.federated.simulator import client_gradients
from discreet.methods.base import State
from discreet.methods.neural import NeuralMethod, Setup, averaged, mean_loss, parameter_count
from discreet.methods.ranking import OnDevice, Serving
from discreet.methods.serving import NoisedVector, checked_calibration
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.base import Calibration


@dataclass(frozen=True, kw_only=True)
class FedNewsRec(NeuralMethod):
    """M(g) = clip(g, δ) + Laplace(λ) on each coordinate, weighted by |B_u|, then SGD (Eq. 4 to 7).

    `epsilon` is the paper's 2δ/λ, which holds for one coordinate in one round. A gradient has d coordinates, and all of
    them move when a click changes, so a round costs d times as much: ε = 2δd/λ. Calibration `exact` scales λ to that.
    |B_u| is sent in clear: under substitution it is public; under adding or removing a click nothing bounds the loss.
    """

    name: ClassVar[str] = "fednewsrec"

    epsilon: float = 2 / 3
    clip: float = 0.005
    rate: float = 0.5
    calibration: Calibration = Calibration.PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))

    def optimiser(self) -> Optimiser:
        """Θ ← Θ − η·ḡ (Eq. 7)."""
        return SGD(self.rate)

    def round(self, setup: Setup) -> Round:
        """ḡ = Σ |B_u|·M(g_u) / Σ |B_u| over the chosen readers (Eq. 6)."""
        count = round_size(len(setup.clients), self.fraction)

        def work(parameters: Parameters, number: int) -> RoundResult:
            chosen = choose_clients(len(setup.clients), count, setup.seed, number)
            samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)
            weights = samples.counts.astype(float)
            gradients = client_gradients(setup.network, setup.table, parameters, samples)
            total = sum_clients(gradients, weights, clip_coordinates(self.clip))
            scale = self.noise_scale(sum(value.numel() for value in parameters.values()))
            if scale:
                generator = round_generator(setup.seed, number, "laplace")
                for name, noise in summed_laplace_like(parameters, scale, weights, generator).items():
                    total.gradient[name].add_(noise)
            return RoundResult(averaged(total.gradient, weights.sum()), mean_loss(total.losses, len(samples)))

        return work

    def noise_scale(self, coordinates: int) -> float:
        """λ = 2δ/ε as published, 2δd/ε if exact."""
        if math.isinf(self.epsilon):
            return 0.0
        return 2 * self.clip / self.epsilon * (coordinates if self.calibration is Calibration.EXACT else 1)

    def guarantee(self, state: State) -> Guarantee:
        """Over all rounds, in each of which a reader may be chosen."""
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("clipped gradients without noise", Scope.LIFETIME)
        paper = self.calibration is Calibration.PAPER
        a_round = self.epsilon * (parameter_count(state) if paper else 1)
        return Guarantee(
            epsilon=a_round * self.rounds,
            delta=0.0,
            unit=Unit.CLICK,
            adjacency=Adjacency.SUBSTITUTE,
            adversary=Adversary.SERVER,
            scope=Scope.LIFETIME,
            status=Status.CLAIMED if paper else Status.PROVED,
            claimed_epsilon=self.epsilon if paper else None,
            mechanism="clipped gradients with Laplace noise",
        )

    def serving(self, size: int, seed: int) -> Serving:
        """On the device (the paper has no serving), or the noised vector of PrivateRec's comparison."""
        if self.epsilon_serving is None:
            return OnDevice()
        return NoisedVector(self.epsilon_serving, size, seed, self.calibration)
