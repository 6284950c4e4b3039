"""Audits of mechanisms: the claim is what the mechanism's own guarantee says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.audits.audit_registry import Audit
from discreet.audits.black_box import BlackBox
from discreet.audits.enumeration import Distribution, Enumeration
from discreet.audits.paths import exact_distribution
from discreet.audits.sampling import MechanismSampler, numbers
from discreet.audits.scores import FitScore, Nearness
from discreet.privacy.mechanisms.gaussian import analytic_multiplier
from discreet.privacy.mechanisms.mechanism import Mechanism
from discreet.privacy.noise import Noise


def claimed_epsilon(mechanism: Mechanism) -> float:
    """The ε to be examined: the proved one, or a paper's."""
    guarantee = mechanism.guarantee()
    return guarantee.epsilon if guarantee.claimed_epsilon is None else guarantee.claimed_epsilon


def between(
    mechanism: Mechanism,
    first: Any,
    second: Any,
    setting: str,
    *,
    runs: int,
    scores: tuple[FitScore, ...] = (Nearness(1),),
    gaussian: bool = False,
    simulated: bool = False,
) -> Audit:
    """A black-box audit of a mechanism between two neighbouring inputs, which should be as far apart as they may.

    With `gaussian`, the claim is the μ that (ε, δ) allows Gaussian noise: Δ over the least σ of the analytic Gaussian.
    """
    guarantee, claim = mechanism.guarantee(), claimed_epsilon(mechanism)
    examination = BlackBox(
        MechanismSampler(mechanism, first, simulated),
        MechanismSampler(mechanism, second, simulated),
        runs=runs,
        delta=guarantee.delta,
        gaussian=gaussian,
        scores=scores,
    )
    claim = 1 / analytic_multiplier(claim, guarantee.delta) if gaussian else claim
    return Audit(mechanism.name, setting, guarantee.status, claim, examination)


def exactly(mechanism: Mechanism, values: Sequence[Any], setting: str) -> Audit:
    """An audit by the exact probabilities of a mechanism that draws whole numbers, between any two of `values`."""
    examination = Enumeration(PathsOf(mechanism, tuple(values)))
    return Audit(
        mechanism.name, f"{setting}, exact", mechanism.guarantee().status, claimed_epsilon(mechanism), examination
    )


@dataclass(frozen=True)
class PathsOf:
    """The exact distribution of a mechanism's release for each of some values."""

    mechanism: Mechanism
    values: tuple[Any, ...]

    def __call__(self) -> list[Distribution]:
        """Probabilities by payload."""
        return [self._distribution(value) for value in self.values]

    def _distribution(self, value: Any) -> dict[Any, Fraction]:
        checked = self.mechanism.checked(value)

        def released(noise: Noise) -> tuple[float, ...]:
            return tuple(numbers(self.mechanism.sample(checked, noise)).tolist())

        return exact_distribution(released)
