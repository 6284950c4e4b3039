"""Click reports: each click is reported once in a sketch and once as a label; all else is post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.edge.reader.reports import LabelMechanism, label_mechanism
from discreet.errors import DiscreetError
from discreet.methods.click_reports.collect import Sender, Sketches, topic_counts
from discreet.methods.click_reports.interest import TopicPrior
from discreet.methods.click_reports.oneshot import OneShot
from discreet.methods.click_reports.public import PublicSpace
from discreet.methods.click_reports.public_side import PublicSide
from discreet.methods.method import State


@dataclass(frozen=True, kw_only=True)
class ClickReports(OneShot):
    """One-shot reports that train and serve, with ε for the life of a click.

    Devices release topic counts of their histories (`TopicCounts`) and a set of articles for each impression
    (`SubsetSelection`). From these alone the server learns what readers have in common, how popular articles are, and
    how interest and articles meet; see the package's docstring for the parts.

    Attributes:
        topics: K; 0 chooses it by ε: 9·√ε of the sketch, from 4 to 32, and 128 without noise.
    """

    name: ClassVar[str] = "click_reports"

    topics: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topics not in (0, *range(2, 1025)):
            raise DiscreetError(f"{self.name}: topics must be 0 or from 2 to 1024, not {self.topics}")

    @property
    def topic_count(self) -> int:
        """K. More noise leaves fewer topics worth telling apart; the rule was found on MIND's train split."""
        if self.topics:
            return self.topics
        return 128 if math.isinf(self.epsilon) else int(np.clip(round(9 * math.sqrt(self.epsilon_sketch)), 4, 32))

    def sender(self, public: PublicSide, space: PublicSpace) -> Sender:
        """Noised topic counts."""
        return topic_counts(public.topic, self.topic_count, self.epsilon_sketch)

    def learn_readers(self, sketches: Sketches) -> TopicPrior:
        """The prior of topic counts, from the noised counts themselves."""
        return TopicPrior.learn(sketches.values, sketches.clicks, sketches.releases, self.epsilon_sketch)

    def readers(self, state: State) -> TopicPrior:
        """The prior that was learnt."""
        return TopicPrior(state["prior_mean"], float(state["prior_concentration"][0]), self.epsilon_sketch)

    def label_mechanism(self, slate_size: int) -> LabelMechanism:
        """A small set of the slate."""
        return label_mechanism(slate_size, self.epsilon_label)
