"""PrivateRec: a reader's vector as a noised mixture of a few public basis vectors, in training and in serving.

Liu et al.: PrivateRec: Differentially Private Model Training and Online Serving for Federated News Recommendation.
Algorithms 1 to 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import DiscreetError
from discreet.methods.base import State
from discreet.methods.federated import FederatedMethod
from discreet.methods.neural import Setup
from discreet.methods.published.serving import NoisedAttention, attention, attention_noise_scale, checked_calibration
from discreet.methods.ranking import Serving
from discreet.privacy.guarantee import Guarantee, Scope, Status
from discreet.privacy.mechanisms.base import Calibration
from discreet.training.draws import laplace
from discreet.training.objective import Objective, Parameters
from discreet.training.optimisers import FedAdam, Optimiser
from discreet.training.samples import Samples
from discreet.training.simulator import SummedGradient, summed_gradient


@dataclass(frozen=True, kw_only=True)
class PrivateRec(FederatedMethod):
    """Noise on B attention weights instead of on d parameters, permuted labels, FedAdam (Algorithm 3).

    The paper claims ε a round. It does not hold, whatever the noise: back-propagation uses the raw history, so a
    gradient is no post-processing of the noised attention, and the clicked article is always among those whose vectors
    it touches. What a round tells the server of a click is not bounded. Line 20 scores with the raw vector, by a slip;
    this scores with the reconstructed one, as section 3.3 says. Calibration sets the scale of the attention's noise.

    Attributes:
        basis: B, the number of basis vectors.
        theta: The clip of the attention, for which the paper names no value; 1 never acts, as its line 8.
        padding: p, with which a click is replaced by the anonymous article.
    """

    name: ClassVar[str] = "privaterec"

    epsilon: float = 10.0
    basis: int = 3
    theta: float = 1.0
    padding: float = 0.2
    calibration: Calibration = Calibration.PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))
        if self.basis < 2 or not 0 <= self.padding < 1 or not 0 < self.theta < math.inf:
            raise DiscreetError(f"{self.name}: basis must be at least 2, padding at least 0 and below 1, theta above 0")

    def optimiser(self) -> Optimiser:
        """FedAdam (Algorithm 3, line 9)."""
        return FedAdam(self.rate)

    def own_parameters(self, size: int, seed: int) -> Parameters:
        """The basis vectors, which are trained with the model."""
        generator = torch.Generator().manual_seed(seed)
        return {"basis": torch.randn(self.basis, size, generator=generator)}

    def summed(
        self, setup: Setup, parameters: Parameters, samples: Samples, weights: NDArray[np.float64]
    ) -> SummedGradient:
        """LocalUpdate on the chosen readers (Algorithm 3, lines 5 to 8); their mean is line 9."""
        drawn, objective = self.local_chance(samples), Objective(self.interest)
        return summed_gradient(setup.network, setup.table, parameters, drawn, weights, objective)

    def local_chance(self, samples: Samples) -> Samples:
        """All that a client draws: masks (Alg. 2, line 4), noise (line 9), permuted labels (Alg. 3, line 17)."""
        if math.isinf(self.epsilon):
            return samples.with_masked_clicks(self.padding).with_randomness(
                np.zeros((len(samples.view_client), self.basis))
            )
        scale = attention_noise_scale(self.epsilon, self.basis, self.theta, self.padding, self.calibration)
        noise = laplace(samples.view_uniforms("attention", self.basis), scale)
        return (
            samples.with_masked_clicks(self.padding)
            .with_randomness(noise)
            .with_permuted_labels(self.keep_probability(samples.slate_size))
        )

    def keep_probability(self, slate_size: NDArray[np.integer]) -> NDArray[np.float64]:
        """e^β/(k + e^β) with β = max(0, ln(k·e^ε/(C − 1))) (Algorithm 3, line 17)."""
        others = np.maximum(slate_size.astype(np.float64) - 1, 1)
        beta = np.maximum(0.0, np.log(self.negatives / others) + self.epsilon)
        return np.asarray(1 / (1 + self.negatives * np.exp(-beta)))

    def interest(self, parameters: Mapping[str, Tensor], readers: Tensor, noise: Tensor | None) -> Tensor:
        """ũ = Σ α̃ᵢ bᵢ with α̃ = ReLU(clipped attention + noise), normalised (Algorithm 2 in training, section 3.3)."""
        basis = parameters["basis"]
        weights = torch.relu(attention(readers, basis, self.theta) + (0 if noise is None else noise))
        return weights / weights.sum(-1, keepdim=True).clamp(min=1e-6) @ basis

    def guarantee(self, state: State) -> Guarantee:
        """The claim of a round, and what holds: nothing."""
        told = Guarantee.unprotected("gradients through noised attention, permuted labels", Scope.LIFETIME)
        if math.isinf(self.epsilon):
            return told
        return replace(told, status=Status.CLAIMED, claimed_epsilon=self.epsilon)

    def serving(self, size: int, seed: int) -> Serving:
        """The noised attention of Algorithm 1; on the device the same mixture of the basis, without noise."""
        length = self.chosen_model.history_length
        epsilon, padding = (math.inf, 0.0) if self.epsilon_serving is None else (self.epsilon_serving, self.padding)
        return NoisedAttention(epsilon, self.basis, self.theta, padding, length, seed, self.calibration)
