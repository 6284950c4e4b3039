"""What FedNewsRec and DP-FedRec share: each reader clips its gradient and adds Laplace noise to all of it."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.methods.base import State
from discreet.methods.federated import FederatedMethod
from discreet.methods.neural import Setup, parameter_count
from discreet.methods.published.serving import NoisedVector, checked_calibration
from discreet.methods.ranking import OnDevice, Serving
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.base import Calibration
from discreet.training.draws import round_generator
from discreet.training.noise import summed_laplace_like
from discreet.training.objective import Parameters
from discreet.training.reduction import Clip, sum_clients
from discreet.training.samples import Samples
from discreet.training.simulator import SummedGradient, client_gradients


@dataclass(frozen=True, kw_only=True)
class NoisedGradients(FederatedMethod):
    """M(g) = clip(g) + Laplace(λ) on each of the d coordinates, averaged over the readers of a round.

    Laplace noise of scale λ on vectors that lie within an L1 diameter D of each other costs ε = D/λ. Both papers put
    the diameter of one coordinate, or that of the L2 norm, in the place of D; `calibration` chooses theirs or the true.
    """

    unit: ClassVar[Unit]
    tells_loss: ClassVar[bool] = False

    epsilon: float
    clip: float = 0.005
    calibration: Calibration = Calibration.PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))
        if not 0 < self.clip < math.inf:
            raise DiscreetError(f"{self.name}: clip must be above 0, not {self.clip}")

    @abstractmethod
    def clipping(self) -> Clip:
        """How a client bounds its gradient."""

    @abstractmethod
    def diameter(self, coordinates: int) -> float:
        """The L1 diameter of clipped gradients."""

    def published_diameter(self) -> float:
        """What the paper takes for it: 2·clip."""
        return 2 * self.clip

    def noise_scale(self, coordinates: int) -> float:
        """λ, the diameter over ε; 0 for ε = ∞."""
        paper = self.calibration is Calibration.PAPER
        return (self.published_diameter() if paper else self.diameter(coordinates)) / self.epsilon

    def summed(
        self, setup: Setup, parameters: Parameters, samples: Samples, weights: NDArray[np.float64]
    ) -> SummedGradient:
        """The chosen readers' gradients, clipped, and the noise of them all."""
        gradients = client_gradients(setup.network, setup.table, parameters, samples)
        total = sum_clients(gradients, weights, self.clipping())
        scale = self.noise_scale(sum(value.numel() for value in parameters.values()))
        if scale:
            generator = round_generator(setup.seed, samples.round, "laplace", setup.node)
            for name, noise in summed_laplace_like(parameters, scale, weights, generator).items():
                total.gradient[name].add_(noise)
        return total

    def guarantee(self, state: State) -> Guarantee:
        """Over all rounds, in each of which a reader may be chosen.

        Samples from histories (`history_clicks`) take their negatives from all readers' clicks, which somebody must
        have collected in clear: then nothing holds.
        """
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("clipped gradients without noise", Scope.LIFETIME)
        coordinates = parameter_count(state)
        paper = self.calibration is Calibration.PAPER
        if self.history_clicks and not paper:
            return Guarantee.unprotected("noised gradients, negatives from all readers' histories", Scope.LIFETIME)
        cost = self.diameter(coordinates) / self.noise_scale(coordinates) * self.rounds
        return Guarantee(
            epsilon=math.inf if self.history_clicks else cost,
            delta=0.0,
            unit=self.unit,
            adjacency=Adjacency.SUBSTITUTE,
            adversary=Adversary.SERVER,
            scope=Scope.LIFETIME,
            status=Status.CLAIMED if paper else Status.PROVED,
            claimed_epsilon=self.epsilon if paper else None,
            mechanism="clipped gradients with Laplace noise (simulated)",
        )

    def serving(self, size: int, seed: int) -> Serving:
        """On the device, or the noised vector (VDP) of PrivateRec's comparison."""
        if self.epsilon_serving is None:
            return OnDevice()
        return NoisedVector(self.epsilon_serving, size, seed, self.calibration)
