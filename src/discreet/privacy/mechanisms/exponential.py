"""The exponential mechanism: choose one of several things, the better ones more often."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.checks import check_count, check_epsilon, check_positive, checked_vector
from discreet.privacy.mechanisms.choice import ONE, exp_weight
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.noise import Noise
from discreet.privacy.release import LatticePayload

if TYPE_CHECKING:
    from dp_accounting import DpEvent

LEVELS = 64
"""Scores are rounded down to this many levels per sensitivity; one more is paid for, for the scores' own rounding."""

_MAX_LEVELS = 256 * LEVELS


@dataclass(frozen=True, kw_only=True)
class Exponential(Mechanism):
    """Choice i of C with probability proportional to e^{a·uᵢ/2Δ}, a = ε·64/65; a neighbour moves no score by over Δ.

    Scores are rounded down to whole levels of Δ/64, in whole numbers. Moving a score by Δ moves its level by at most
    64. But scores are float64, and where the true ones move by Δ these may move by a little more (0.4 − 0.3 is above
    0.1), which can be one level more. So 65 levels are paid for: that covers any error of the scores below Δ/128 each.
    What lies more than 256 Δ below the best is raised to there; the best moves by at most 65 levels too, so this adds
    nothing, and no score is refused for its size. The weight of level q is b^q with b = ⌊e^{ε/130}·2⁴⁰⌋/2⁴⁰.

    Proof: between neighbours each weight changes by a factor of at most b^65 ≤ e^{ε/2} (besides one that all share),
    and so does their sum, hence the probability of each choice by at most e^ε.
    """

    name: ClassVar[str] = "exponential"
    summary: ClassVar[str] = "one of C choices by its score, with exact whole-number weights"

    epsilon: float
    choices: int
    score_sensitivity: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_count("choices", self.choices, 2)
        check_positive("score_sensitivity", self.score_sensitivity)

    @property
    def sensitivity(self) -> Sensitivity:
        """The largest change of any one score."""
        return Sensitivity(linf=self.score_sensitivity)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        return (
            f"choosing one of {self.choices} with probability ∝ e^(a·score/2Δ), Δ = {self.score_sensitivity:.6g} and "
            f"a = ε·{LEVELS}/{LEVELS + 1}, is {self.epsilon:.6g}-DP"
        )

    def event(self) -> DpEvent:
        """Pure ε."""
        from discreet.privacy.accounting.events import ApproximateDpEvent

        return ApproximateDpEvent(self.epsilon)

    def guarantee(self) -> Guarantee:
        """Pure ε."""
        return self.proved(self.epsilon)

    def checked(self, value: Any) -> list[int]:
        """The level of each score, above the lowest."""
        scores = checked_vector(value, self.choices)
        level = Fraction(self.score_sensitivity) / LEVELS
        levels = [math.floor(Fraction(float(score)) / level) for score in scores]
        least = max(levels) - _MAX_LEVELS
        raised = [max(one, least) for one in levels]
        return [one - min(raised) for one in raised]

    def weights(self, levels: list[int]) -> list[int]:
        """Whole numbers in proportion to the probabilities."""
        base, top = exp_weight(self.epsilon / (2 * (LEVELS + 1))), max(levels)
        return [base**level * ONE ** (top - level) for level in levels]

    def sample(self, value: list[int], noise: Noise) -> LatticePayload:
        """The position of the choice."""
        weights = self.weights(value)
        drawn = noise.below(sum(weights))
        chosen = 0
        while drawn >= weights[chosen]:
            drawn -= weights[chosen]
            chosen += 1
        return LatticePayload(np.array([chosen], np.int64))
