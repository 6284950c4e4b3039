"""What whole numbers cost more than real ones: from any account of continuous Gaussian noise to noise that many add.

Each of n parties adds to a sum discrete Gaussian noise of σ₁ on the integers; together they should hide as much as
continuous Gaussian noise of σ = √n·σ₁ does.

**Theorem.** Let M be any course of rounds. In round r the output is v_r plus independent noise on each of its d_r
values, where v_r is a vector of integers that may depend on the data, on private coins and on all earlier outputs. With
continuous noise of σ_r let M be (ε₀, δ₀)-DP, by whatever account: the analytic Gaussian, a cap on participations,
Poisson sampling. Then with sums of n_r discrete Gaussians of σ_r/√n_r each, M is (ε₀ + η, e^η·(δ₀ + e^ε₀·ω))-DP, where

    η = Σ_r d_r·(1/(24σ_r²) + τ_r)    ω = √(Σ_r d_r/σ_r⁴)/24 + Σ_r d_r·τ_r    τ = 5·Σ_{k<n} e^{−2π²(σ²/n)·k/(k+1)}

if σ_r ≥ 2 and σ_r/√n_r ≥ 1/2. (Where d_r or σ_r depend on earlier outputs, η and ω are the largest that can come.) It
stays so if independent noise of still more parties is in the sum, and if the sum is known modulo a number only: both
are post-processing.

**Proof.** Write ρ_s(x) = e^{−x²/2s²} and θ_s = 2·Σ_{j≥1} e^{−2π²s²j²}. By Poisson's summation formula
Σ_m ρ_s(m + a) = √(2π)·s·(1 + 2·Σ_j e^{−2π²s²j²}·cos 2πja), which is within √(2π)·s·(1 ± θ_s) and is largest for a = 0.

*(1) A sum of discrete Gaussians is nearly one* (Kairouz, Liu, Steinke 2021, on convolutions; here with its constant).
For parts of s and t let u² = s² + t², r = st/u. Since ρ_s(x)·ρ_t(z − x) = ρ_u(z)·ρ_r(x − zs²/u²), the probability of z
over that of one discrete Gaussian of u is (1 + θ_u)·(1 + θ')/((1 + θ_s)·(1 + θ_t)) with |θ'| ≤ θ_r. Its logarithm is
at most θ_r, as θ_u ≤ θ_s, and at least ln(1 − θ_r) − θ_s − θ_t. With s² = kσ₁², t = σ₁ ≥ 1/2 and E = e^{−2π²r²} both
are within 5E: for k = 1, E ≤ 0.085 and θ_s, θ_t ≤ 2.01·E², in all 2.6·E; for k ≥ 2, E ≤ 0.038, θ_t ≤ 2.01·E and
θ_s ≤ 2.01·E³, in all 4.2·E. Adding the parts one by one, and since adding an independent part keeps any bound on the
ratio of two distributions, the sum S is pointwise within e^{±τ} of the discrete Gaussian P of σ.

*(2) The discrete Gaussian P is nearly the rounded continuous one Q.* Let φ be the density. P(k) ≤ φ(k), as the sum over
ρ is at least √(2π)σ. With t uniform on [−½, ½], Q(k)/φ(k) = E e^{−t²/2σ²}·cosh(kt/σ²), and by Jensen and
ln cosh x ≥ x²/2 − x⁴/12 (its derivative is tanh x ≥ x − x³/3 for x ≥ 0)

    ln P(k)/Q(k) ≤ 1/(24σ²) − max(0, k²/(24σ⁴) − k⁴/(960σ⁸)).

So P ≤ e^{1/(24σ²)}·Q everywhere. (There is no such bound the other way: far out Q/P grows without limit.) In the mean
over P, whose moments are k² → σ² and k⁴ → 3σ⁴ up to 10⁻²⁵ for σ ≥ 2, this is KL(P ‖ Q) ≤ 1/(288σ⁴).

*(3) All values and rounds together.* For fixed data and coins the probability of a course of outputs is a product over
rounds and values, each factor given what came before. So that with S is pointwise at most e^η times that with Q, and
stays so in the mean over coins. KL adds up along the course as well, so by Pinsker the two are within
√(Σ d_r/(576·σ_r⁴)) of each other in total variation for P, and within ω for S: e^τ pointwise is at most τ in variation.

*(4) Rounded is as private as continuous.* The v_r are integers, so v_r plus rounded noise is v_r plus noise, rounded:
post-processing, also for later rounds that depend on it. For neighbours with courses S, S' and Q, Q', and any event A:
S(A) ≤ e^η·Q(A) ≤ e^η·(e^ε₀·Q'(A) + δ₀) ≤ e^η·(e^ε₀·(S'(A) + ω) + δ₀). ∎

**Where e^ε₀·ω is too much of δ**, as for an adversary whom the noise was not made for, zCDP gives another bound. The
discrete Gaussian of σ is Δ²/2σ²-zCDP in any dimension (Canonne, Kamath, Steinke 2020), so with P in the place of S a
user's rounds are ρ-zCDP together, hence (ε, δ)-DP. By (1) S is pointwise within e^{±η} of P in all rounds together:
S(A) ≤ e^η·(e^ε·P'(A) + δ) ≤ e^{ε+2η}·S'(A) + e^η·δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import DiscreetError
from discreet.privacy.accounting.zcdp import zcdp_epsilon
from discreet.privacy.noise import rounded_up

RESERVE = 1e-4
"""The part of δ that is kept for the lattice."""

EPSILON_RESERVE = 1e-6
"""The part of ε that is kept for the lattice where noise is chosen for a target."""

MIN_PART_NOISE = 0.5
MIN_HIDDEN_NOISE = 2.0


@dataclass(frozen=True)
class LatticePrice:
    """η and ω of the theorem; 0 and 0 for noise of real numbers.

    Attributes:
        ratio: η: how much larger, in log-probability, a course of outputs can be than with continuous noise.
        distance: ω: how far the two are apart in total variation.
    """

    ratio: float = 0.0
    distance: float = 0.0

    def carried(self, epsilon: float, delta: float) -> tuple[float, float]:
        """(ε, δ) on the lattice, from what continuous noise has."""
        return epsilon + self.ratio, math.exp(self.ratio) * (delta + _times_exp(self.distance, epsilon))

    def affordable(self, epsilon: float, delta: float) -> bool:
        """Whether the lattice leaves ε of continuous noise at δ within what is reserved for it."""
        return self.carried(epsilon, delta * (1 - RESERVE))[1] <= delta

    def epsilon(self, continuous: Callable[[float], float], delta: float, rho: float = math.inf) -> float:
        """ε on the lattice at `delta`, from an account of continuous noise that gives ε for a δ.

        Where the lattice is too coarse for that, ε of ρ-zCDP, if `rho` is known.

        Raises:
            DiscreetError: the lattice is so coarse that it would take more of δ than `RESERVE`.
        """
        epsilon = continuous(delta * (1 - RESERVE))
        if math.isinf(epsilon):
            return epsilon
        if self.affordable(epsilon, delta):
            return epsilon + self.ratio
        if math.isinf(rho):
            raise DiscreetError(
                f"the lattice is too coarse for δ = {delta:g} at ε = {epsilon:.4g}; sum more bits, fewer contributions"
                " or fewer values"
            )
        return zcdp_epsilon(rho, delta * math.exp(-self.ratio)) + 2 * self.ratio


NO_LATTICE = LatticePrice()
"""The price of real numbers."""


@dataclass(frozen=True)
class NoiseRound:
    """The noise of one round: so many parts of this σ, in lattice steps, that stay hidden, on so many values."""

    part: Fraction
    parts: int
    values: int

    @property
    def hidden(self) -> float:
        """σ of the noise that stays hidden."""
        return float(self.part) * math.sqrt(self.parts)


def lattice_price(rounds: Iterable[NoiseRound]) -> LatticePrice:
    """The price of all these rounds together, by the theorem.

    Raises:
        ValueError: the noise of a round, or of one part of it, is too small for the theorem.
    """
    ratios, squares, convolutions = [], [], []
    for noise in rounds:
        if noise.hidden < MIN_HIDDEN_NOISE:
            raise ValueError(f"noise of {noise.hidden:.3g} lattice steps is too small; at least {MIN_HIDDEN_NOISE:g}")
        ratios.append(noise.values / (24 * noise.hidden**2))
        squares.append(noise.values / noise.hidden**4)
        convolutions.append(noise.values * convolution_distance(float(noise.part), noise.parts))
    convolved = math.fsum(convolutions)
    return LatticePrice(
        (math.fsum(ratios) + convolved) * (1 + 1e-9), (math.sqrt(math.fsum(squares)) / 24 + convolved) * (1 + 1e-9)
    )


def convolution_distance(part: float, parts: int) -> float:
    """τ: how far, in log-probability, a sum of discrete Gaussians of σ = `part` is from one, by (1) above."""
    if part < MIN_PART_NOISE:
        raise ValueError(f"parts must have σ of at least {MIN_PART_NOISE:g} lattice steps, not {part:.3g}")
    return 5 * math.fsum(math.exp(-2 * math.pi**2 * part**2 * k / (k + 1)) for k in range(1, parts))


def part_deviation(hidden: float, parts: int) -> Fraction:
    """σ of each of so many parts that together have σ = `hidden`, rounded up."""
    return rounded_up(hidden / math.sqrt(parts) * (1 + 1e-12))


def _times_exp(factor: float, exponent: float) -> float:
    """factor·e^exponent, infinite where it overflows."""
    if factor == 0:
        return 0.0
    power = math.log(factor) + exponent
    return math.exp(power) if power < 700 else math.inf
