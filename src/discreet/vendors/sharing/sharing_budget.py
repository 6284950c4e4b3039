"""How much noise the vendors add together, and what their users are promised for it.

Vendor v adds to what it gives to the secure sum discrete Gaussian noise of variance σ²/(N − 1 − t). A vendor that reads
the sum knows its own noise, and t others who collude with it tell theirs, so noise of variance σ² at least hides every
user of the rest.

**Theorem.** Let the rounds' vectors have L2 sensitivities Δ_r, and let σ_r/Δ_r = m/√s_r with Σ s_r = 1. Then all rounds
together, each free to depend on the earlier ones' results, are (ε, δ)-DP for the (ε₀, δ₀) of the analytic Gaussian of
multiplier m, and what the lattice costs in addition (`discreet.privacy.accounting.lattice_price`).

Proof. Contributions are whole numbers, so that theorem applies to the N − 1 − t parts that stay hidden, and continuous
noise remains to be accounted for. A round with share s is √s/m-GDP (Gaussian differential privacy). Which share the
next round spends may depend on earlier results, so the theorem on composition, with costs fixed beforehand, has to be
used step by step. Claim: while a share s is left, whatever follows is √s/m-GDP. Without any round left it is. If the
next one spends s', settled before its result is seen, it is √s'/m-GDP, and for every result what follows is
√(s − s')/m-GDP by induction; these two compose to √s/m (Dong, Roth, Su 2022). At the start s = 1: one Gaussian of
multiplier m. The lattice is so fine (`UNIT`) that η is below 10⁻¹⁶ on every course of less than 10⁷ values. ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from scipy.optimize import brentq

from discreet.errors import DiscreetError
from discreet.privacy.accounting.lattice_price import NoiseRound, lattice_price, part_deviation
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.gaussian import analytic_multiplier, gaussian_delta

MAX_EPSILON = 20.0
MIN_EPSILON = 0.01
_RESERVE = 1e-6
"""The part of ε and of δ that is kept for what a lattice costs more than real numbers."""


def usual_colluders(vendors: int) -> int:
    """How many colluders are allowed for where nobody says: one, if there is a third vendor to hide behind.

    It costs √((N − 1)/(N − 2)) times the noise: 6 % more with ten vendors, 0.5 % with a hundred.
    """
    return min(1, max(0, vendors - 2))


@dataclass(frozen=True)
class SharingBudget:
    """What all rounds together may cost a user, and among how many vendors.

    Attributes:
        epsilon: ε of all that ever leaves, at `delta`.
        delta: δ.
        vendors: How many take part, the one that reads the result among them.
        colluders: How many others tell the reader their noise.
    """

    epsilon: float
    delta: float
    vendors: int
    colluders: int = 0

    def __post_init__(self) -> None:
        if not MIN_EPSILON <= self.epsilon <= MAX_EPSILON:
            raise DiscreetError(f"epsilon must be from {MIN_EPSILON:g} to {MAX_EPSILON:g}, not {self.epsilon}")
        if not 1e-12 <= self.delta < 1:
            raise DiscreetError(f"delta must be at least 1e-12 and below 1, not {self.delta}")
        if self.vendors < 2:
            raise DiscreetError(f"sharing needs at least 2 vendors, not {self.vendors}")
        if not 0 <= self.colluders <= self.vendors - 2:
            raise DiscreetError(
                f"of {self.vendors} vendors at most {self.vendors - 2} can collude with one, not {self.colluders}"
            )

    @property
    def honest(self) -> int:
        """How many vendors' noise the reader does not know."""
        return self.vendors - 1 - self.colluders

    @property
    def multiplier(self) -> float:
        """m: the noise that stays hidden, in sensitivities, were all spent in one round."""
        return analytic_multiplier(self.epsilon * (1 - _RESERVE), self.delta * (1 - _RESERVE))

    def hidden_deviation(self, sensitivity: float, share: float) -> float:
        """σ of the noise that stays hidden in a round that spends `share` of the budget."""
        return sensitivity * self.multiplier / math.sqrt(share)

    def vendor_deviation(self, sensitivity: float, share: float) -> Fraction:
        """σ of the noise that each vendor adds."""
        return part_deviation(self.hidden_deviation(sensitivity, share), self.honest)

    def reader_deviation(self, sensitivity: float, share: float) -> float:
        """σ of the noise that is left to a reader who takes off its own and colludes with nobody."""
        return float(self.vendor_deviation(sensitivity, share)) * math.sqrt(self.vendors - 1)

    def true_cost(self, rounds: list[tuple[float, float, int]]) -> tuple[float, float]:
        """(ε, δ) by the theorem, for rounds of (sensitivity, share, number of values).

        Raises:
            DiscreetError: they cost more than the budget.
        """
        noise = [NoiseRound(self.vendor_deviation(moved, share), self.honest, size) for moved, share, size in rounds]
        squared = sum((moved / part.hidden) ** 2 for (moved, _, _), part in zip(rounds, noise, strict=True))
        continuous = self.epsilon * (1 - _RESERVE)
        epsilon, delta = lattice_price(noise).carried(continuous, gaussian_delta(continuous, 1 / math.sqrt(squared)))
        if delta > self.delta or epsilon > self.epsilon:
            raise DiscreetError(f"these rounds cost more than ε = {self.epsilon}, δ = {self.delta}")
        return epsilon, delta

    def guarantee_alone(self) -> Guarantee:
        """What is left to a user against those who see her vendor's answers alone: two aggregators that collude.

        The vendor's own noise is 1/√honest of what should hide her, and composes in the same way.
        """
        multiplier, delta = self.multiplier / math.sqrt(self.honest), self.delta * (1 - _RESERVE)
        high = self.epsilon
        while gaussian_delta(high, multiplier) > delta:
            high *= 2
        found = brentq(lambda epsilon: gaussian_delta(epsilon, multiplier) - delta, 0.0, high)
        epsilon = float(found) / (1 - 2 * _RESERVE)
        return replace(self.guarantee(), epsilon=epsilon, adversary=Adversary.BOTH_AGGREGATORS)

    def guarantee(self) -> Guarantee:
        """What a user of another vendor is promised for life, since each statistic is released once."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            unit=Unit.USER,
            adjacency=Adjacency.ADD_REMOVE,
            adversary=Adversary.OTHER_VENDORS,
            scope=Scope.LIFETIME,
            status=Status.PROVED,
            mechanism="sharing",
        )
