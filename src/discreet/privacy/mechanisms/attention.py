"""PrivateRec's differentially private attention (DPA): a clipped softmax over public basis vectors, with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.privacy.mechanisms.checks import (
    check_count,
    check_positive,
    check_presence,
    check_simplex,
    checked_vector,
)
from discreet.privacy.mechanisms.lattice import FINENESS, LatticeMechanism, power_of_two_at_most, truncated_to_lattice
from discreet.privacy.mechanisms.mechanism import Calibration, Sensitivity
from discreet.privacy.mechanisms.padding import RandomPadding, unpadded_epsilon


@dataclass(frozen=True, kw_only=True)
class ClippedAttention(LatticeMechanism):
    """Attention weights over B basis vectors, clipped to L2 norm θ, plus noise (PrivateRec, Algorithm 2, lines 7 to 9).

    **Sensitivity.** Two weight vectors a, b are non-negative, with sums at most 1 and norms at most r = min(θ, 1).
    Then ‖a − b‖₂² ≤ ‖a‖² + ‖b‖² ≤ 2r², so Δ₂ = √2·min(θ, 1). Let P be the coordinates where a ≥ b, N the others:
    ‖a − b‖₁ ≤ Σ_P a + Σ_N b ≤ h(|P|) + h(|N|) with h(m) = min(1, θ√m), which is concave, so the worst is the even
    split: Δ₁ = h(⌊B/2⌋) + h(⌈B/2⌉). Both are attained in the limit, by weights uniform on disjoint halves. They bound
    any two histories whatever, masked or not, so `RandomPadding` may stand around this.

    **Lattice.** Weights are rounded towards 0, which keeps all three conditions, so rounding adds nothing.

    **As published** (calibration "paper") the noise is scaled to S = θ: Laplace θ/ε, or Gaussian
    θ/ε·√(2 ln(1.25/δ)). The true ε is then that of the theorem for this scale: Δ₁/θ times the claim for Laplace.
    """

    name: ClassVar[str] = "clipped attention"
    summary: ClassVar[str] = "PrivateRec's attention over B basis vectors, clipped to θ, with exact noise"

    theta: float = 1.0
    dimension: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("theta", self.theta)
        check_count("dimension", self.dimension, 2)
        check_presence(self.unit, self.adjacency)
        self.scale  # noqa: B018 - refuses a lattice that cannot be had

    @property
    def sensitivity(self) -> Sensitivity:
        """Δ₁ and Δ₂ of the proof."""
        smaller, larger = self.dimension // 2, -(-self.dimension // 2)
        l1 = min(1.0, self.theta * math.sqrt(smaller)) + min(1.0, self.theta * math.sqrt(larger))
        return Sensitivity(l1=l1, l2=math.sqrt(2) * min(self.theta, 1.0), diameter=True)

    @property
    def step(self) -> float:
        """A power of two, fine enough for the smallest weights and for the noise."""
        return power_of_two_at_most(FINENESS * min(self.theta, 1.0) / max(math.sqrt(self.dimension), self.epsilon))

    @property
    def lattice_l1(self) -> int:
        """Δ₁ in whole steps."""
        return math.floor(self.sensitivity.l1 / self.step * (1 + 1e-12))

    @property
    def lattice_l2(self) -> float:
        """Δ₂ in steps."""
        return self.sensitivity.l2 / self.step * (1 + 1e-12)

    def published_sensitivity(self) -> float:
        """S = θ (Algorithm 2, line 1)."""
        return self.theta / self.step

    def checked(self, value: Any) -> NDArray[np.int64]:
        """A point of the simplex, clipped to θ and put on the lattice."""
        weights = checked_vector(value, self.dimension)
        check_simplex(weights[None])
        weights = weights / max(1.0, float(weights.sum()))
        with np.errstate(over="ignore"):  # an infinite norm clips to 0
            clipped = weights / max(1.0, float(np.linalg.norm(weights / self.theta)))
        return truncated_to_lattice(clipped, self.step)


def private_attention(
    *,
    epsilon: float,
    dimension: int,
    theta: float = 1.0,
    padding: float = 0.0,
    history_length: int | None = None,
    delta: float = 0.0,
    calibration: Calibration = Calibration.EXACT,
) -> ClippedAttention | RandomPadding:
    """GetPrivAttn of PrivateRec (Algorithm 2) with the target ε outside the padding, or without any if it is 0.

    With padding the inner mechanism has ε₀ = ln((e^ε − p)/(1 − p)) and δ₀ = δ/(1 − p), which turns its published
    Gaussian σ into that of line 9. A release then takes a function from the mask to the weights.
    """
    if not padding:
        return ClippedAttention(epsilon=epsilon, delta=delta, theta=theta, dimension=dimension, calibration=calibration)
    inner = ClippedAttention(
        epsilon=unpadded_epsilon(epsilon, padding),
        delta=delta / (1 - padding),
        theta=theta,
        dimension=dimension,
        calibration=calibration,
    )
    if history_length is None:
        raise ValueError("padding amplifies only among histories of one public length: say history_length")
    return RandomPadding(inner=inner, padding=padding, history_length=history_length)


def positive_weights(noised: ArrayLike) -> NDArray[np.float64]:
    """SoftPlus, then a sum of 1 (Algorithm 2, line 10): post-processing of a release, which costs nothing."""
    values = np.asarray(noised, dtype=np.float64)
    logs = np.where(values < -30, values, np.log(np.logaddexp(0.0, np.maximum(values, -30))))  # ln SoftPlus(x) → x
    positive = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(positive / positive.sum(axis=-1, keepdims=True))
