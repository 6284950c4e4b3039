"""How much noise the vendors add together, and what their users are promised for it.

Vendor v adds to what it gives to the secure sum discrete Gaussian noise of variance σ²/(N − 1 − t). A vendor that reads
the sum knows its own noise, and t others who collude with it tell theirs, so noise of variance σ² at least hides every
user of the rest.

**Theorem.** Let the rounds' vectors have L2 sensitivities Δ_r, and let σ_r/Δ_r = m/√s_r with Σ s_r = 1. Then all rounds
together, each free to depend on the earlier ones' results, are (ε, δ)-DP for ε = ε₀ + η, δ = e^η·(δ₀ + e^ε₀·η), where
(ε₀, δ₀) is what the analytic Gaussian of multiplier m has, and η = Σ_r d_r·(1/(24·σ_r²) + τ_r) with
τ = 10·Σ_{k<n} e^{−2π²(σ²/n)·k/(k+1)} for the n = N − 1 − t parts (σ in lattice steps, d_r the number of values).

Proof. (1) A sum of n discrete Gaussians is pointwise within a factor e^τ of the discrete Gaussian of variance σ²
(Kairouz, Liu, Steinke 2021, on convolutions). (2) The discrete Gaussian P is at most e^{1/(24σ²)} times the rounded
continuous Gaussian Q: by Poisson summation Σ_m φ(m) ≥ 1, so P(k) ≤ φ(k), and by Jensen
Q(k) = φ(k)·∫ e^{−t²/2σ²}·cosh(kt/σ²) dt over |t| ≤ 1/2 is at least φ(k)·e^{−1/(24σ²)}, as t² has mean 1/12. (3) So the
joint distribution of all rounds is pointwise at most e^η times that with rounded continuous noise, and within η of it
in total variation. (4) Contributions are whole numbers, so rounding continuous noise is post-processing of the Gaussian
mechanism; adaptive rounds of it compose to the one of multiplier 1/√(Σ s_r/m²) = m (Dong, Roth, Su 2022). With P
for Q on one side and Q for P on the other this gives the claim. The lattice is so fine (`UNIT`) that η is below 10⁻¹⁶.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.gaussian import analytic_multiplier, gaussian_delta
from discreet.privacy.noise import rounded_up

LARGEST_EPSILON = 20.0
SMALLEST_EPSILON = 0.01
_RESERVE = 1e-6
"""The part of ε and of δ that is kept for what a lattice costs beside real numbers."""


@dataclass(frozen=True)
class Budget:
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
        if not SMALLEST_EPSILON <= self.epsilon <= LARGEST_EPSILON:
            raise DiscreetError(f"epsilon must be from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}, not {self.epsilon}")
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
        return rounded_up(self.hidden_deviation(sensitivity, share) / math.sqrt(self.honest) * (1 + 1e-12))

    def reader_deviation(self, sensitivity: float, share: float) -> float:
        """σ of the noise that is left to a reader who takes off its own and colludes with nobody."""
        return float(self.vendor_deviation(sensitivity, share)) * math.sqrt(self.vendors - 1)

    def true_cost(self, rounds: list[tuple[float, float, int]]) -> tuple[float, float]:
        """(ε, δ) by the theorem, for rounds of (sensitivity, share, number of values).

        Raises:
            DiscreetError: they cost more than the budget.
        """
        squared, eta = 0.0, 0.0
        for sensitivity, share, size in rounds:
            sigma = float(self.vendor_deviation(sensitivity, share))
            hidden = sigma * math.sqrt(self.honest)
            squared += (sensitivity / hidden) ** 2
            eta += size * (1 / (24 * hidden**2) + kls_distance(sigma, self.honest))
        epsilon = self.epsilon * (1 - _RESERVE)
        delta = math.exp(eta) * (gaussian_delta(epsilon, 1 / math.sqrt(squared)) + math.exp(epsilon) * eta)
        if delta > self.delta or epsilon + eta > self.epsilon:
            raise DiscreetError(f"these rounds cost more than ε = {self.epsilon}, δ = {self.delta}")
        return epsilon + eta, delta

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


def kls_distance(sigma: float, parts: int) -> float:
    """τ: how far, in log-probability, a sum of discrete Gaussians of this σ is from one (Kairouz, Liu, Steinke)."""
    return 10 * math.fsum(math.exp(-2 * math.pi**2 * sigma**2 * k / (k + 1)) for k in range(1, parts))
