"""Laplace noise as real numbers: the ideal that papers speak of, for simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.checks import check_count, check_epsilon, check_positive, checked_vector
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.noise import Noise
from discreet.privacy.release import FloatPayload, simulated_only

if TYPE_CHECKING:
    from dp_accounting import DpEvent


@dataclass(frozen=True)
class Laplace(Mechanism):
    """value + independent Laplace noise of scale Δ₁/ε, which is ε-DP for real-valued noise.

    Proof: at each output z the densities under neighbouring values v and v' have the ratio
    ∏ᵢ e^{(|zᵢ−v'ᵢ| − |zᵢ−vᵢ|)·ε/Δ₁} ≤ e^{‖v−v'‖₁·ε/Δ₁} ≤ e^ε. The L1 norm is needed: with an L2 bound in its place, ε
    is up to √dimension times as large.

    The theorem is about real numbers. Noise in float64 breaks it, so this serves simulation only; what leaves a
    device uses `DiscreteLaplace`.
    """

    name: ClassVar[str] = "laplace"
    summary: ClassVar[str] = "real-valued Laplace noise of scale Δ₁/ε (simulation only)"

    epsilon: float
    l1: float
    dimension: int = 1

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_positive("l1", self.l1)
        check_count("dimension", self.dimension)

    @property
    def scale(self) -> float:
        """The noise's scale, Δ₁/ε."""
        return self.l1 / self.epsilon

    @property
    def sensitivity(self) -> Sensitivity:
        """The L1 bound that the caller gave."""
        return Sensitivity(l1=self.l1)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        values = f"{self.dimension} values with Δ₁ = {self.l1:.6g}"
        return f"adding Laplace({self.scale:.6g}) to {values} is {self.epsilon:.6g}-DP"

    def event(self) -> DpEvent:
        """Laplace noise of 1/ε sensitivities."""
        from dp_accounting import LaplaceDpEvent

        return LaplaceDpEvent(1 / self.epsilon)

    def guarantee(self) -> Guarantee:
        """Pure ε."""
        return self.proved(self.epsilon)

    def checked(self, value: Any) -> NDArray[Any]:
        """A finite vector."""
        return checked_vector(value, self.dimension)

    def sample(self, value: NDArray[Any], noise: Noise) -> FloatPayload:
        """The vector with float64 noise."""
        return FloatPayload(value + simulated_only(noise).laplace(self.scale, self.dimension))
