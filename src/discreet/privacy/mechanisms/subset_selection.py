"""Subset selection: report a small set of shown articles that more likely than not holds the clicked one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.checks import check_count, check_epsilon, check_substitution, checked_index
from discreet.privacy.mechanisms.choice import ONE, exp_weight
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.noise import Noise
from discreet.privacy.release import LatticePayload

if TYPE_CHECKING:
    from dp_accounting import DpEvent


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(Mechanism):
    """A set Z of ω ≈ C/(e^ε + 1) of C choices, the true one in it with probability ωe^ε/(ωe^ε + C − ω): ε-DP.

    Proof: given whether the truth x is in it, Z is uniform, so P(Z) is proportional to w if x ∈ Z and to 2⁴⁰ if not:
    with q = ωw/(ωw + (C−ω)·2⁴⁰) the ratio q/(1−q) · binom(C−1, ω)/binom(C−1, ω−1) is w/2⁴⁰ = ⌊e^ε·2⁴⁰⌋/2⁴⁰ ≤ e^ε. All
    random choices are uniform integers, so the probabilities are exact.

    A model that gives the choices probabilities p is trained on Z with the likelihood of what was reported, which is
    proportional to 1 + (e^ε − 1)·Σ_{c∈Z} p_c (`log_likelihood`); it needs no correction afterwards. With ω = 1 this is
    randomised response.
    """

    name: ClassVar[str] = "subset selection"
    summary: ClassVar[str] = "about C/(e^ε + 1) of C choices, among them probably the clicked one"

    epsilon: float
    choices: int

    def __post_init__(self) -> None:
        check_substitution(self.adjacency)
        check_epsilon(self.epsilon)
        check_count("choices", self.choices, 2)

    @property
    def subset_size(self) -> int:
        """ω, at least 1 and at most C/2."""
        return max(1, min(self.choices // 2, round(self.choices / (1 + math.exp(min(self.epsilon, 700.0))))))

    @property
    def inclusion(self) -> Fraction:
        """The exact probability that the true choice is in the set."""
        inside = self.subset_size * exp_weight(self.epsilon)
        return Fraction(inside, inside + (self.choices - self.subset_size) * ONE)

    @property
    def sensitivity(self) -> Sensitivity:
        """Any choice may become any other; no norm plays a part."""
        return Sensitivity(diameter=True)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        return (
            f"a uniform set of {self.subset_size} of {self.choices} choices that holds the true one with probability "
            f"{float(self.inclusion):.6g} is {self.epsilon:.6g}-DP"
        )

    def log_likelihood(self, probability_in_subset: ArrayLike) -> NDArray[np.float64]:
        """ln(1 + (e^ε − 1)·Σ_{c∈Z} p_c), the log-likelihood of the report up to a constant, for one or many reports."""
        return np.asarray(np.log1p(math.expm1(self.epsilon) * np.asarray(probability_in_subset, dtype=np.float64)))

    def event(self) -> DpEvent:
        """Pure ε."""
        from discreet.privacy.accounting.events import ApproximateDpEvent

        return ApproximateDpEvent(self.epsilon)

    def guarantee(self) -> Guarantee:
        """Pure ε."""
        return self.proved(self.epsilon)

    def checked(self, value: Any) -> int:
        """The position of the true choice."""
        return checked_index("choice", value, self.choices)

    def sample(self, value: int, noise: Noise) -> LatticePayload:
        """The set's positions in ascending order."""
        inside = self.subset_size * exp_weight(self.epsilon)
        kept = noise.below(inside + (self.choices - self.subset_size) * ONE) < inside
        others = [choice for choice in range(self.choices) if choice != value]
        subset = uniform_subset(others, self.subset_size - kept, noise) + [value] * kept
        return LatticePayload(np.array(sorted(subset), np.int64))


def uniform_subset(items: list[int], size: int, noise: Noise) -> list[int]:
    """`size` of `items`, all sets equally likely (the first steps of a Fisher-Yates shuffle)."""
    items = list(items)
    for place in range(size):
        chosen = place + noise.below(len(items) - place)
        items[place], items[chosen] = items[chosen], items[place]
    return items[:size]
