"""K-ary randomised response: say truly or falsely which of C shown articles was clicked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.checks import check_count, check_epsilon, check_substitution, checked_index
from discreet.privacy.mechanisms.choice import ONE, exp_weight
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.noise import Noise
from discreet.privacy.release import LatticePayload

if TYPE_CHECKING:
    from dp_accounting import DpEvent


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Mechanism):
    """One of C choices, kept with probability e^ε/(e^ε + C − 1), otherwise one of the others at random: ε-DP.

    Proof: an output has probability w/(w + (C−1)·2⁴⁰) if it is the truth and 2⁴⁰/(…) if not, where w = ⌊e^ε·2⁴⁰⌋. The
    ratio is w/2⁴⁰ ≤ e^ε, and the true ε, ln(w/2⁴⁰), is below the target by less than 10⁻¹². One uniform integer
    decides, so the probabilities are exact.
    """

    name: ClassVar[str] = "randomized response"
    summary: ClassVar[str] = "the clicked one of C choices, true with probability e^ε/(e^ε + C − 1)"

    epsilon: float
    choices: int

    def __post_init__(self) -> None:
        check_substitution(self.adjacency)
        check_epsilon(self.epsilon)
        check_count("choices", self.choices, 2)

    @property
    def sensitivity(self) -> Sensitivity:
        """Any choice may become any other; no norm plays a part."""
        return Sensitivity(diameter=True)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        return f"keeping one of {self.choices} choices with probability {float(self.keep):.6g} is {self.epsilon:.6g}-DP"

    @property
    def keep(self) -> Fraction:
        """The exact probability of the truth."""
        weight = exp_weight(self.epsilon)
        return Fraction(weight, weight + (self.choices - 1) * ONE)

    def event(self) -> DpEvent:
        """Randomised response: the truth for sure, or a uniform choice with probability C/(e^ε + C − 1)."""
        from dp_accounting import RandomizedResponseDpEvent

        rest = (self.choices - 1) * math.exp(-self.epsilon)
        return RandomizedResponseDpEvent((rest + math.exp(-self.epsilon)) / (1 + rest), self.choices)

    def guarantee(self) -> Guarantee:
        """Pure ε."""
        return self.proved(self.epsilon)

    def checked(self, value: Any) -> int:
        """The position of the true choice."""
        return checked_index("choice", value, self.choices)

    def sample(self, value: int, noise: Noise) -> LatticePayload:
        """The reported position."""
        weight = exp_weight(self.epsilon)
        drawn = noise.below(weight + (self.choices - 1) * ONE)
        if drawn >= weight:
            other = (drawn - weight) // ONE
            value = other if other < value else other + 1
        return LatticePayload(np.array([value], np.int64))
