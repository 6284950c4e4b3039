"""What the popularity sums of a reader's day cost, which says what noise they have."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.aggregation.task import MAX_DELTA, MIN_DELTA, MIN_GAUSSIAN_EPSILON, NoiseKind
from discreet.privacy.accounting.zcdp import zcdp_epsilon


@dataclass(frozen=True)
class DayPrice:
    """(ε, δ) of a day, as in the terms of a task.

    Attributes:
        epsilon: ε; infinity for no noise.
        delta: δ; 0 for discrete Laplace noise. Discrete Gaussian noise has the ρ that (ε, δ) demands.
    """

    epsilon: float
    delta: float = 0.0

    @classmethod
    def of_rho(cls, rho: float, delta: float) -> DayPrice | None:
        """Of discrete Gaussian noise that is ρ-zCDP; None where the terms of a task cannot say so little.

        ε follows from ρ at a δ near `delta`. A task takes the noise from (ε, δ), and rounds it up: its ρ is no more.
        """
        named = min(max(delta, MIN_DELTA), MAX_DELTA)
        epsilon = zcdp_epsilon(rho, named) if rho > 0 else 0.0
        return cls(epsilon, named) if epsilon >= MIN_GAUSSIAN_EPSILON else None

    @property
    def noise(self) -> NoiseKind:
        """What each aggregator adds."""
        return NoiseKind.GAUSSIAN if self.delta else NoiseKind.LAPLACE

    @property
    def has_noise(self) -> bool:
        """Whether anything is added at all."""
        return not math.isinf(self.epsilon)
