"""Floating-point noise as the papers' programs add it, so that its leak can be shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.checks import check_count, check_delta, check_epsilon, check_positive, checked_vector
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.noise import Noise
from discreet.privacy.release import FloatPayload, simulated_only

if TYPE_CHECKING:
    from dp_accounting import DpEvent


@dataclass(frozen=True, kw_only=True)
class FloatNoise(Mechanism):
    """value + numpy's float64 noise: Laplace of scale S/ε (δ = 0) or Gaussian of S/ε·√(2 ln(1.25/δ)) (δ > 0).

    float64 holds few of the numbers that exact noise could give, and which of them can occur depends on the value
    under the noise: most outputs for one value are impossible for another (Mironov 2012). One such output refutes any
    finite ε, and δ would have to be above one half. So the true ε is infinite, whatever the scale.
    """

    name: ClassVar[str] = "float noise"
    summary: ClassVar[str] = "float64 Laplace or Gaussian noise as published, whose true ε is infinite"

    epsilon: float
    noise_sensitivity: float
    delta: float = 0.0
    dimension: int = 1

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta, zero=True)
        check_positive("noise_sensitivity", self.noise_sensitivity)
        check_count("dimension", self.dimension)

    @property
    def scale(self) -> float:
        """The scale of the Laplace noise or σ of the Gaussian."""
        ratio = self.noise_sensitivity / self.epsilon
        return ratio * math.sqrt(2 * math.log(1.25 / self.delta)) if self.delta else ratio

    @property
    def sensitivity(self) -> Sensitivity:
        """What the noise was scaled to; the theorem that would use it does not hold for float64."""
        return Sensitivity(l2=self.noise_sensitivity) if self.delta else Sensitivity(l1=self.noise_sensitivity)

    @property
    def statement(self) -> str:
        """What holds instead of the theorem."""
        return "most float64 outputs for one value are impossible for another, so no finite ε holds"

    def event(self) -> DpEvent:
        """Not private."""
        from dp_accounting import NonPrivateDpEvent

        return NonPrivateDpEvent()

    def guarantee(self) -> Guarantee:
        """The claim, and that nothing holds."""
        return self.claimed(self.epsilon, math.inf, self.delta)

    def checked(self, value: Any) -> NDArray[Any]:
        """A finite vector."""
        return checked_vector(value, self.dimension)

    def sample(self, value: NDArray[Any], noise: Noise) -> FloatPayload:
        """The vector with float64 noise."""
        source = simulated_only(noise)
        draw = source.gaussian if self.delta else source.laplace
        return FloatPayload(value + draw(self.scale, self.dimension))
