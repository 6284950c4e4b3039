"""Gaussian noise as real numbers, as small as (ε, δ)-DP allows: the analytic Gaussian of Balle and Wang (2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.checks import check_count, check_delta, check_epsilon, check_positive, checked_vector
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.noise import Noise
from discreet.privacy.release import FloatPayload, simulated_only

if TYPE_CHECKING:
    from dp_accounting import DpEvent


def gaussian_delta(epsilon: float, multiplier: float) -> float:
    """δ of Gaussian noise of `multiplier` sensitivities: Φ(Δ/2σ − εσ/Δ) − e^ε·Φ(−Δ/2σ − εσ/Δ) (Balle, Wang, Thm 8)."""
    from scipy.special import log_ndtr

    first = log_ndtr(0.5 / multiplier - epsilon * multiplier)
    second = epsilon + log_ndtr(-0.5 / multiplier - epsilon * multiplier)
    return float(math.exp(first) * -math.expm1(min(0.0, second - first)))


@lru_cache(maxsize=256)
def analytic_multiplier(epsilon: float, delta: float) -> float:
    """The least σ/Δ for which Gaussian noise is (ε, δ)-DP, rounded up (to a part in 10⁹, far above rounding error)."""
    check_epsilon(epsilon)
    check_delta(delta)
    low, high = 1e-9, 1.0
    while gaussian_delta(epsilon, high) > delta:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(epsilon, middle) > delta else (low, middle)
    return high * (1 + 1e-9)


@dataclass(frozen=True)
class AnalyticGaussian(Mechanism):
    """value + independent Gaussian noise of the least σ that is (ε, δ)-DP for real-valued noise.

    Proof (Balle, Wang 2018): for a shift of L2 norm Δ the privacy loss is N(η, 2η) with η = Δ²/2σ², whose
    hockey-stick divergence at e^ε is `gaussian_delta`. It grows with Δ/σ, so the least σ solves it for δ. The textbook
    σ = Δ/ε·√(2 ln(1.25/δ)) is proved for ε ≤ 1 only.

    The theorem is about real numbers, and in several dimensions it does not hold for the discrete Gaussian. So this
    serves simulation only; what leaves a device uses `DiscreteGaussian` or `DiscreteLaplace`.
    """

    name: ClassVar[str] = "analytic gaussian"
    summary: ClassVar[str] = "real-valued Gaussian noise with the least σ for (ε, δ) (simulation only)"

    epsilon: float
    delta: float
    l2: float
    dimension: int = 1

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_positive("l2", self.l2)
        check_count("dimension", self.dimension)

    @property
    def sigma(self) -> float:
        """The noise's standard deviation."""
        return self.l2 * analytic_multiplier(self.epsilon, self.delta)

    @property
    def sensitivity(self) -> Sensitivity:
        """The L2 bound that the caller gave."""
        return Sensitivity(l2=self.l2)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        return (
            f"adding N(0, {self.sigma:.6g}²) to {self.dimension} values with Δ₂ = {self.l2:.6g}"
            f" is ({self.epsilon}, {self.delta})-DP"
        )

    def event(self) -> DpEvent:
        """Gaussian noise of σ/Δ₂ sensitivities."""
        from dp_accounting import GaussianDpEvent

        return GaussianDpEvent(self.sigma / self.l2)

    def guarantee(self) -> Guarantee:
        """(ε, δ)."""
        return self.proved(self.epsilon, self.delta)

    def checked(self, value: Any) -> NDArray[Any]:
        """A finite vector."""
        return checked_vector(value, self.dimension)

    def sample(self, value: NDArray[Any], noise: Noise) -> FloatPayload:
        """The vector with float64 noise."""
        return FloatPayload(value + simulated_only(noise).gaussian(self.sigma, self.dimension))
