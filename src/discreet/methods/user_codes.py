"""User codes: one randomised entry of a public code-book for a reader's whole history, for life."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.edge.reader.reports import LabelMechanism
from discreet.errors import DiscreetError
from discreet.methods.click_reports.collect import Read, Sender, Sketches, histories_at_first_sight
from discreet.methods.click_reports.interest import CodePrior
from discreet.methods.click_reports.oneshot import OneShot
from discreet.methods.click_reports.public import PublicSpace
from discreet.methods.click_reports.public_side import PublicSide
from discreet.methods.method import State, TrainingTask
from discreet.privacy.guarantee import Guarantee, Unit
from discreet.privacy.mechanisms.subset_selection import SubsetSelection
from discreet.privacy.noise import SimulatedNoise


@dataclass(frozen=True, kw_only=True)
class UserCodes(OneShot):
    """The stronger unit: ε for everything that a reader ever did.

    The device names the public topic that is nearest to its history's mean title, by subset selection over all topics.
    Any history may become any other, and still no report changes its probability by more than e^ε: the unit is the
    user. So there is one release in a reader's life, and no labels, which would cost ε for each impression.

    An empty history is a history: every reader reports when first seen, one without clicks a code drawn at random.
    Otherwise silence would tell, with certainty, that nothing was clicked. That a reader is there, and since when, is
    public. This is simulated: no device makes such a report.

    Attributes:
        codes: How many topics the code-book has; 0 chooses by ε: 4·ε, from 4 to 32, and 128 without noise.
    """

    name: ClassVar[str] = "user_codes"

    label_share: float = 0.0
    codes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.label_share or self.epochs != 1:
            raise DiscreetError(f"{self.name}: one release for life, so no labels and one epoch")
        if self.codes not in (0, *range(2, 1025)):
            raise DiscreetError(f"{self.name}: codes must be 0 or from 2 to 1024, not {self.codes}")

    @property
    def topic_count(self) -> int:
        """The size of the code-book."""
        if self.codes:
            return self.codes
        return 128 if math.isinf(self.epsilon) else int(np.clip(round(4 * self.epsilon), 4, 32))

    def release_plan(self, task: TrainingTask, later: Impressions | None) -> dict[int, list[Read]]:
        """Each reader's history when first seen, even an empty one, and nothing after it."""
        seen = histories_at_first_sight(task.data.splits["train"])
        fresh = {} if later is None else histories_at_first_sight(later)
        return {reader: [history] for reader, history in (fresh | seen).items()}

    def sender(self, public: PublicSide, space: PublicSpace) -> Sender:
        """The reported set of codes, as zeros and ones."""

        def send(clicks: Read, noise: SimulatedNoise) -> NDArray[np.float64]:
            if len(clicks):
                code = int(space.topics.topics_of(public.vectors[clicks].mean(axis=0, keepdims=True))[0])
            else:
                code = noise.below(self.topic_count)
            code_bits = np.zeros(self.topic_count)
            if math.isinf(self.epsilon):
                code_bits[code] = 1
            else:
                mechanism = SubsetSelection(epsilon=self.epsilon, choices=self.topic_count, unit=Unit.USER)
                code_bits[mechanism.release(code, noise).values.astype(np.int64)] = 1
            return code_bits

        return send

    def learn_readers(self, sketches: Sketches) -> CodePrior:
        """How common each code is."""
        return CodePrior.learn(sketches.values, self.epsilon)

    def readers(self, state: State) -> CodePrior:
        """The shares that were learnt."""
        return CodePrior(state["prior_mean"], self.epsilon)

    def label_mechanism(self, slate_size: int) -> LabelMechanism:
        """None: there are no labels."""
        raise ValueError("user codes have no labels")

    def guarantee(self, state: State) -> Guarantee:
        """ε for the whole reader."""
        return self._promise(Unit.USER, "one entry of a public code-book from every reader, simulated")
