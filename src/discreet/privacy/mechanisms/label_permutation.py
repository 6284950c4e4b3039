"""PrivateRec's label permutation (DPL) as published, which does not hide the clicked article."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.checks import check_count, check_epsilon, check_substitution, checked_index
from discreet.privacy.mechanisms.choice import ONE, exp_weight
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.mechanisms.subset_selection import uniform_subset
from discreet.privacy.noise import Noise
from discreet.privacy.release import LatticePayload

if TYPE_CHECKING:
    from dp_accounting import DpEvent


@dataclass(frozen=True, kw_only=True)
class LabelPermutation(Mechanism):
    """The clicked article and k others at random, one of these k + 1 labelled as clicked (Algorithm 3, lines 16 to 18).

    The clicked one gets the label with probability e^β/(k + e^β), β = max(0, ln(k·e^ε/(C−1))). The paper claims ε. But
    the gradient tells which k + 1 articles it was computed on, and the clicked one is always among them: a set without
    the article x' has probability 0 if x' was clicked, so the true ε is infinite. The exception is k = C − 1, where all
    articles are shown and this is randomised response.

    The payload is the labelled position, then the k + 1 positions in ascending order.
    """

    name: ClassVar[str] = "label permutation"
    summary: ClassVar[str] = "PrivateRec's labels as published, whose true ε is infinite"

    epsilon: float
    choices: int
    negatives: int

    def __post_init__(self) -> None:
        check_substitution(self.adjacency)
        check_epsilon(self.epsilon)
        check_count("choices", self.choices, 2)
        check_count("negatives", self.negatives)
        if self.negatives >= self.choices:
            raise ValueError(f"negatives must be below choices ({self.choices}), not {self.negatives}")

    @property
    def beta(self) -> float:
        """β of line 17."""
        return max(0.0, math.log(self.negatives / (self.choices - 1)) + self.epsilon)

    @property
    def label_epsilon(self) -> float:
        """What the label alone would cost: β + ln((C−1)/k), which is above the claim where β is cut off at 0."""
        return self.beta + math.log((self.choices - 1) / self.negatives)

    @property
    def _shows_all(self) -> bool:
        return self.negatives == self.choices - 1

    @property
    def sensitivity(self) -> Sensitivity:
        """Any choice may become any other; no norm plays a part."""
        return Sensitivity(diameter=True)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        if self._shows_all:
            return f"labelling one of all {self.choices} articles is {self.epsilon:.6g}-DP"
        return f"the clicked article is always among the {self.negatives + 1} revealed, so no finite ε holds"

    def event(self) -> DpEvent:
        """Not private at all, unless every article is shown."""
        from dp_accounting import NonPrivateDpEvent

        from discreet.privacy.accounting.events import ApproximateDpEvent

        return ApproximateDpEvent(self.epsilon) if self._shows_all else NonPrivateDpEvent()

    def guarantee(self) -> Guarantee:
        """The claim, and the truth."""
        return self.claimed(self.epsilon, self.epsilon if self._shows_all else math.inf)

    def checked(self, value: Any) -> int:
        """The position of the clicked article."""
        return checked_index("choice", value, self.choices)

    def sample(self, value: int, noise: Noise) -> LatticePayload:
        """The label and the revealed articles."""
        others = uniform_subset([item for item in range(self.choices) if item != value], self.negatives, noise)
        weight = exp_weight(self.beta)
        drawn = noise.below(weight + self.negatives * ONE)
        label = value if drawn < weight else others[(drawn - weight) // ONE]
        return LatticePayload(np.array([label, *sorted([*others, value])], np.int64))
