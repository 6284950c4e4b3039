"""Noise on a lattice: what real devices release. Values become integers times a step, and the noise is exact."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.accounting.zcdp import gaussian_rho, zcdp_epsilon
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.checks import check_delta, check_epsilon
from discreet.privacy.mechanisms.mechanism import Calibration, Mechanism
from discreet.privacy.noise import Noise, rounded_up
from discreet.privacy.release import LatticePayload

if TYPE_CHECKING:
    from dp_accounting import DpEvent

FLOAT_SLACK = 2.0**-40
"""More than float64 errs, relatively, on the way to the lattice; bounds are widened or values shrunk by it."""

FINENESS = 2.0**-10
"""A lattice is chosen so fine that rounding adds at most this share to the sensitivity."""


@lru_cache(maxsize=1024)
def zcdp_multiplier(epsilon: float, delta: float) -> float:
    """The least σ/Δ at which ρ-zCDP with ρ = Δ²/2σ² implies (ε, δ)-DP, rounded up."""
    low, high = 1e-6, 1.0
    while zcdp_epsilon(gaussian_rho(high), delta) > epsilon:
        high *= 2
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_epsilon(gaussian_rho(middle), delta) > epsilon else (low, middle)
    return high * (1 + 1e-9)


def power_of_two_at_most(value: float) -> float:
    """The largest 2^n, n an integer, that is not above `value`: multiplying by it is exact in float64."""
    return 2.0 ** (math.frexp(value)[1] - 1)


def checked_step(step: float) -> float:
    """`step` if it is a power of two."""
    if not (math.isfinite(step) and step > 0 and math.frexp(step)[0] == 0.5):
        raise ValueError(f"step must be a power of two, not {step}")
    return step


@dataclass(frozen=True, kw_only=True)
class LatticeMechanism(Mechanism):
    """Integers plus discrete Laplace noise (δ = 0) or discrete Gaussian noise (δ > 0).

    **δ = 0.** Discrete Laplace noise of scale s on integers with L1 sensitivity D is D/s-DP: the ratio of the
    probabilities of an output is at most e^{‖v−v'‖₁/s}. For composition, noise on several coordinates loses no more
    than noise on one that moves by D: the losses of both take the values (D − 2i)/s, and for shifts m and n the sum
    has smaller mass at both ends (p² < p with p = 1/(1 + e^{−1/s})) and larger mass at each value between (at least
    2p² ≥ p times (1 − e^{−1/s})·e^{−i/s}), with the same mean likelihood ratio. So its distribution is below the
    other in convex order, and every divergence is below.

    **δ > 0.** Discrete Gaussian noise of σ on integers with L2 sensitivity D satisfies ρ-zCDP with ρ = D²/2σ²
    (Canonne, Kamath, Steinke 2020, Thm 4 and its multivariate form), and from there (ε, δ). The analytic Gaussian's
    figures do not carry over in several dimensions.

    With calibration "paper" the noise has the published scale, and the guarantee states the claim and the true ε.
    """

    epsilon: float
    delta: float = 0.0
    calibration: Calibration = Calibration.EXACT

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta, zero=True)
        object.__setattr__(self, "calibration", Calibration(self.calibration))

    @property
    @abstractmethod
    def step(self) -> float:
        """What one integer of the payload is worth."""

    @property
    @abstractmethod
    def lattice_l1(self) -> int:
        """How far the integers can move in L1 between neighbours."""

    @property
    @abstractmethod
    def lattice_l2(self) -> float:
        """How far the integers can move in L2 between neighbours."""

    def published_sensitivity(self) -> float:
        """The sensitivity that a paper put into its noise scale, counted in steps."""
        raise ValueError(f"no paper published a scale for {self.name}; use calibration='exact'")

    @cached_property
    def scale(self) -> Fraction:
        """The scale t of the discrete Laplace noise, or σ of the discrete Gaussian, in steps; rounded up."""
        if self.calibration is Calibration.PAPER:
            published = self.published_sensitivity() / self.epsilon
            return rounded_up(published * (math.sqrt(2 * math.log(1.25 / self.delta)) if self.delta else 1))
        if self.delta:
            return rounded_up(self.lattice_l2 * zcdp_multiplier(self.epsilon, self.delta))
        return rounded_up(self.lattice_l1 / Fraction(self.epsilon))

    @property
    def true_epsilon(self) -> float:
        """The ε that is proved for this scale: the target itself, unless a paper's scale was asked for."""
        if self.calibration is Calibration.EXACT:
            return self.epsilon
        if self.delta:
            return zcdp_epsilon(self._rho, self.delta)
        return math.nextafter(float(self.lattice_l1 / self.scale), math.inf)

    @property
    def _rho(self) -> float:
        return gaussian_rho(float(self.scale) / self.lattice_l2) * (1 + 1e-12)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        if self.delta:
            return (
                f"integers with Δ₂ = {self.lattice_l2:.6g} steps plus discrete Gaussian noise of σ = "
                f"{float(self.scale):.6g} are {self._rho:.6g}-zCDP, hence ({self.true_epsilon:.6g}, {self.delta})-DP"
            )
        return (
            f"integers with Δ₁ = {self.lattice_l1} steps plus discrete Laplace noise of scale "
            f"{float(self.scale):.6g} are {self.true_epsilon:.6g}-DP"
        )

    def event(self) -> DpEvent:
        """Discrete Laplace noise on one coordinate that moves by Δ₁, or ρ-zCDP."""
        from dp_accounting import ZCDpEvent
        from dp_accounting.dp_event import DiscreteLaplaceDpEvent

        if self.delta:
            return ZCDpEvent(self._rho)
        return DiscreteLaplaceDpEvent(float(1 / self.scale), self.lattice_l1)

    def guarantee(self) -> Guarantee:
        """(ε, δ); with the claim, if the scale is a paper's."""
        if self.calibration is Calibration.PAPER:
            return self.claimed(self.epsilon, self.true_epsilon, self.delta)
        return self.proved(self.epsilon, self.delta)

    def sample(self, value: NDArray[np.int64], noise: Noise) -> LatticePayload:
        """The integers with noise."""
        draw = noise.discrete_gaussian if self.delta else noise.discrete_laplace
        return LatticePayload(value + draw(self.scale, len(value)), self.step)


def rounded_to_lattice(values: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Each value as the nearest integer number of steps."""
    return _integers(np.rint(values / step))


def float_slack(dimension: int) -> float:
    """More than a norm of so many values errs in float64, relatively, whatever the order of its sum."""
    return max(FLOAT_SLACK, (dimension + 16) * 2.0**-52)


def truncated_to_lattice(values: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Each row as integer numbers of steps, rounded towards 0: no norm grows, not even by float64's own errors."""
    return _integers(np.trunc(values * ((1 - float_slack(values.shape[-1])) / step)))


def _integers(steps: NDArray[Any]) -> NDArray[np.int64]:
    if (np.abs(steps) > 2.0**52).any():
        raise ValueError("values are too large for this lattice: choose a larger step or smaller values")
    return steps.astype(np.int64)
