"""How the server moves the model: small values with explicit state, so that a checkpoint is all there is to a round.

An optimiser is `init` and `step`. Neither changes what it is given, so a round that is broken off leaves the state of
the last finished one untouched. What a step takes is a direction of ascent: an averaged gradient, or the averaged
difference Θ − Θ_u of clients that took local steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from discreet.training.objective import Parameters

OptimiserState = dict[str, Tensor]


class Optimiser(Protocol):
    """A rule that turns an aggregate into new parameters."""

    def init(self, parameters: Mapping[str, Tensor]) -> OptimiserState:
        """The state before the first round."""
        ...

    def step(
        self, parameters: Mapping[str, Tensor], direction: Mapping[str, Tensor], state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        """New parameters and new state."""
        ...


@dataclass(frozen=True)
class SGD:
    """Θ ← Θ − η·g (FedNewsRec, Eq. 7; with η = 1 and differences of local steps it is FedAvg)."""

    rate: float = 0.5

    def init(self, parameters: Mapping[str, Tensor]) -> OptimiserState:
        """There is nothing to remember."""
        return {}

    def step(
        self, parameters: Mapping[str, Tensor], direction: Mapping[str, Tensor], state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        """One step against the direction."""
        return {name: value - self.rate * direction[name] for name, value in parameters.items()}, state


@dataclass(frozen=True)
class FedAdam:
    """Reddi et al. 2020, Alg. 2: m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², Θ ← Θ − η·m/(√v + τ).

    As there, neither moment is corrected for its start, and v starts at τ².
    """

    rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    def init(self, parameters: Mapping[str, Tensor]) -> OptimiserState:
        """First moments 0, second moments τ²."""
        first = {f"first/{name}": torch.zeros_like(value) for name, value in parameters.items()}
        second = {f"second/{name}": torch.full_like(value, self.tau**2) for name, value in parameters.items()}
        return first | second

    def step(
        self, parameters: Mapping[str, Tensor], direction: Mapping[str, Tensor], state: OptimiserState
    ) -> tuple[Parameters, OptimiserState]:
        """Move by the first moment over the root of the second."""
        moved: Parameters = {}
        following: OptimiserState = {}
        for name, value in parameters.items():
            gradient = direction[name]
            first = torch.lerp(state[f"first/{name}"], gradient, 1 - self.beta1)
            second = (state[f"second/{name}"] * self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
            moved[name] = torch.addcdiv(value, first, second.sqrt().add_(self.tau), value=-self.rate)
            following[f"first/{name}"], following[f"second/{name}"] = first, second
        return moved, following
