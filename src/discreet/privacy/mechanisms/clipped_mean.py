"""Mean of H clipped vectors, in which one click has little influence; with H = 1, PrivateRec's noised user vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.mechanisms.checks import (
    check_count,
    check_one_of_many,
    check_positive,
    check_presence,
    checked_matrix,
)
from discreet.privacy.mechanisms.lattice import FINENESS, LatticeMechanism, power_of_two_at_most, truncated_to_lattice
from discreet.privacy.mechanisms.mechanism import Calibration, Sensitivity


@dataclass(frozen=True, kw_only=True)
class ClippedMean(LatticeMechanism):
    """The mean of H vectors of d dimensions, each clipped to L2 norm θ, plus noise; H is public.

    **Sensitivity.** Replacing one vector moves the sum by the difference of two vectors of norm at most θ: Δ₂ = 2θ/H,
    and Δ₁ ≤ √d·Δ₂ = 2θ√d/H, attained by opposite vectors with equal coordinates.

    **Lattice.** Each vector is clipped, put on a lattice with rounding towards 0 (which keeps its norm at most θ), and
    the integers are summed. So the sum's sensitivity is exact and rounding adds nothing.

    **As published** (calibration "paper", H = 1; "VDP" in PrivateRec, section 3.2.1) the user vector is clipped and
    the noise scaled to S = 2θ, for Laplace noise too, which needs Δ₁: the true ε is √d times the claim.
    """

    name: ClassVar[str] = "clipped mean"
    summary: ClassVar[str] = "mean of H vectors clipped to θ, which one click moves by 2θ/H"

    theta: float
    dimension: int
    history_length: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("theta", self.theta)
        check_count("dimension", self.dimension)
        check_count("history_length", self.history_length)
        check_presence(self.unit, self.adjacency)
        if self.history_length > 1:
            check_one_of_many(self.unit, self.adjacency)
        if self.calibration is Calibration.PAPER and self.history_length != 1:
            raise ValueError("the published scale 2θ is that of one user vector: history_length must be 1")
        self.scale  # noqa: B018 - refuses a lattice that cannot be had

    @property
    def sensitivity(self) -> Sensitivity:
        """Δ₁ and Δ₂ of the mean; of any two inputs if there is but one vector."""
        l2 = 2 * self.theta / self.history_length
        return Sensitivity(l1=l2 * math.sqrt(self.dimension), l2=l2, diameter=self.history_length == 1)

    @property
    def _grid(self) -> float:
        return power_of_two_at_most(FINENESS * self.theta / max(math.sqrt(self.dimension), self.epsilon))

    @property
    def step(self) -> float:
        """The lattice's step over H, since the integers are sums."""
        return self._grid / self.history_length

    @property
    def lattice_l1(self) -> int:
        """2θ√d in whole steps of the lattice."""
        return math.floor(2 * self.theta / self._grid * math.sqrt(self.dimension) * (1 + 1e-12))

    @property
    def lattice_l2(self) -> float:
        """2θ in steps of the lattice."""
        return 2 * self.theta / self._grid * (1 + 1e-12)

    def published_sensitivity(self) -> float:
        """S = 2θ."""
        return 2 * self.theta / self._grid

    def checked(self, value: Any) -> NDArray[np.int64]:
        """H finite rows, clipped, put on the lattice and summed."""
        rows = checked_matrix(value, self.history_length, self.dimension)
        with np.errstate(over="ignore"):  # an infinite norm clips to 0, whereas the square of a small row would vanish
            norms = np.linalg.norm(rows / self.theta, axis=1, keepdims=True)
        clipped = rows / np.maximum(1.0, norms)
        return np.asarray(truncated_to_lattice(clipped, self._grid).sum(axis=0))
