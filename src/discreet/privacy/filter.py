"""What contributions cost a reader together, where each may be chosen by whoever saw the results of the earlier ones.

A composition of losses (`accounting`) is for a list that was fixed beforehand. A device does not know which tasks come,
so it needs a *filter*: a rule to stop that holds however the next task is chosen. `Spent` is one.

**Theorem.** Let contributions come one after the other, each ε_i-DP with δ = 0 or ρ_i-zCDP, where ε_i and ρ_i may
depend on all earlier results. If the device takes part only while, with the new one included, all are pure and
Σε_i ≤ ε, **or** the ε that ρ-zCDP implies at δ for ρ = Σρ_i is at most ε, then all of it together is (ε, δ)-DP.

**Proof.** Let L be the loss at the end of a course. On courses that end within the first rule L ≤ Σε_i ≤ ε, so they add
nothing to E[(1 − e^{ε−L})₊], which is the δ that goes with ε. On the others the second rule held at every step, so they
are, with the same loss, courses of the process that stops where Σρ_i would pass ρ. That process is ρ-zCDP (Whitehouse,
Ramdas, Rogers, Wu 2023, Theorem 1; Feldman, Zrnic 2021), so they add at most δ. ∎

What is paid per day is spread over the day's windows, between which other tasks come. Both sums are over steps, so the
order does not matter: a step of window w has ε_w = ‖x_w‖₁/t and ρ_w ≤ ε_w²/2, and Σε_w ≤ ε, Σε_w² ≤ ε².

A pure ε is ε²/2-zCDP (Bun, Steinke 2016). For discrete Gaussian noise ρ is that of the noise that (ε, δ) demands.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.privacy.accounting.zcdp import gaussian_rho, zcdp_epsilon
from discreet.privacy.mechanisms.lattice import zcdp_multiplier


@dataclass(frozen=True)
class Spent:
    """What contributions cost together: the sum of ε, infinite if one has none at δ = 0, and the sum of ρ."""

    epsilon: float = 0.0
    rho: float = 0.0

    @classmethod
    def of(cls, costs: Iterable[tuple[float, float]]) -> Spent:
        """Of contributions with these (ε, δ): discrete Laplace noise if δ is 0, discrete Gaussian noise otherwise."""
        epsilons, rhos = [0.0], [0.0]
        for epsilon, delta in costs:
            epsilons.append(math.inf if delta else epsilon)
            rhos.append(gaussian_rho(zcdp_multiplier(epsilon, delta)) if delta else epsilon**2 / 2)
        return cls(math.fsum(epsilons), math.fsum(rhos))

    def at(self, delta: float) -> float:
        """The ε of all of them together at δ."""
        if not self.rho or not delta:
            return self.epsilon
        return min(self.epsilon, zcdp_epsilon(self.rho, delta))
