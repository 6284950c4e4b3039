"""Discrete Laplace and discrete Gaussian noise for any vector whose sensitivity the caller knows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.mechanisms.checks import check_count, check_delta, check_positive, checked_vector
from discreet.privacy.mechanisms.lattice import (
    FINENESS,
    FLOAT_SLACK,
    LatticeMechanism,
    checked_step,
    power_of_two_at_most,
    rounded_to_lattice,
)
from discreet.privacy.mechanisms.mechanism import Sensitivity


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(LatticeMechanism):
    """A vector with L1 sensitivity Δ₁, rounded to a lattice of step g, plus discrete Laplace noise: ε-DP.

    Proof: rounding moves each coordinate of both neighbours by at most g/2, so their integers differ by at most
    Δ₁/g + dimension in L1; the rest is the theorem of `LatticeMechanism`.
    """

    name: ClassVar[str] = "discrete laplace"
    summary: ClassVar[str] = "exact discrete Laplace noise on a lattice, pure ε from Δ₁"

    l1: float
    dimension: int = 1
    grid: float | None = None
    """The step of the lattice, a power of two; chosen from Δ₁ and the dimension if it is not given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("l1", self.l1)
        check_count("dimension", self.dimension)
        if self.delta:
            raise ValueError("delta must be 0 for discrete Laplace noise; use DiscreteGaussian")
        if self.grid is not None:
            checked_step(self.grid)
        self.scale  # noqa: B018 - refuses a calibration or lattice that cannot be had

    @property
    def step(self) -> float:
        """The lattice's step."""
        return self.grid or power_of_two_at_most(FINENESS * self.l1 / self.dimension)

    @property
    def sensitivity(self) -> Sensitivity:
        """The L1 bound that the caller gave, before rounding."""
        return Sensitivity(l1=self.l1)

    @property
    def lattice_l1(self) -> int:
        """Δ₁/g + dimension, in whole steps."""
        return math.floor(self.l1 / self.step * (1 + FLOAT_SLACK)) + self.dimension

    @property
    def lattice_l2(self) -> float:
        """At most the L1 bound."""
        return float(self.lattice_l1)

    def checked(self, value: Any) -> NDArray[np.int64]:
        """A finite vector, on the lattice."""
        return rounded_to_lattice(checked_vector(value, self.dimension), self.step)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(LatticeMechanism):
    """A vector with L2 sensitivity Δ₂, rounded to a lattice of step g, plus discrete Gaussian noise: (ε, δ)-DP by zCDP.

    Proof: rounding moves each coordinate of both neighbours by at most g/2, so their integers differ by at most
    Δ₂/g + √dimension in L2; the rest is the theorem of `LatticeMechanism`.
    """

    name: ClassVar[str] = "discrete gaussian"
    summary: ClassVar[str] = "exact discrete Gaussian noise on a lattice, (ε, δ) from Δ₂ by zCDP"

    l2: float
    dimension: int = 1
    grid: float | None = None
    """The step of the lattice, a power of two; chosen from Δ₂ and the dimension if it is not given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("l2", self.l2)
        check_count("dimension", self.dimension)
        check_delta(self.delta)
        if self.grid is not None:
            checked_step(self.grid)
        self.scale  # noqa: B018 - refuses a calibration or lattice that cannot be had

    @property
    def step(self) -> float:
        """The lattice's step."""
        return self.grid or power_of_two_at_most(FINENESS * self.l2 / math.sqrt(self.dimension))

    @property
    def sensitivity(self) -> Sensitivity:
        """The L2 bound that the caller gave, before rounding."""
        return Sensitivity(l2=self.l2)

    @property
    def lattice_l1(self) -> int:
        """At most √dimension times the L2 bound."""
        return math.ceil(self.lattice_l2 * math.sqrt(self.dimension))

    @property
    def lattice_l2(self) -> float:
        """Δ₂/g + √dimension, in steps."""
        return (self.l2 / self.step + math.sqrt(self.dimension)) * (1 + FLOAT_SLACK)

    def checked(self, value: Any) -> NDArray[np.int64]:
        """A finite vector, on the lattice."""
        return rounded_to_lattice(checked_vector(value, self.dimension), self.step)
