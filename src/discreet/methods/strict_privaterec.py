"""PrivateRec with a guarantee that holds (Liu et al., after Algorithms 1 and 3), as a one-shot method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.edge.reader.reports import LabelMechanism
from discreet.errors import DiscreetError
from discreet.methods.click_reports.collect import Read, Sender, Sketches
from discreet.methods.click_reports.interest import MeanReader
from discreet.methods.click_reports.oneshot import OneShot
from discreet.methods.click_reports.public import PublicSpace
from discreet.methods.click_reports.public_side import PublicSide
from discreet.methods.method import State
from discreet.privacy.mechanisms.attention import ClippedAttention, positive_weights
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.noise import SimulatedNoise

_SHARPNESS = 8.0
"""What similarities are multiplied with before the softmax; without it the attention of all readers is alike."""


@dataclass(frozen=True, kw_only=True)
class StrictPrivateRec(OneShot):
    """The reader's interest as noised attention over B public basis vectors; labels by randomised response.

    What differs from the paper, so that ε holds: the noise is exact and scaled to the true sensitivity; the basis is
    public text, not trained on raw histories; labels are randomised over the whole slate; and no gradient leaves a
    device. The server trains on what was released, which is post-processing (`OneShot`). There is no random padding:
    what it saves in noise on one release, it loses in clicks that are left out of the only one there is.

    Attributes:
        basis: B, the number of basis vectors.
        theta: The clip of the attention.
    """

    name: ClassVar[str] = "strict_privaterec"

    basis: int = 8
    theta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.basis < 2 or not 0 < self.theta < math.inf:
            raise DiscreetError(f"{self.name}: basis must be at least 2, theta above 0")

    @property
    def topic_count(self) -> int:
        """B."""
        return self.basis

    def sender(self, public: PublicSide, space: PublicSpace) -> Sender:
        """Noised attention of the mean title of the clicks (Algorithm 1)."""
        mechanism = (
            None
            if math.isinf(self.epsilon)
            else ClippedAttention(epsilon=self.epsilon_sketch, theta=self.theta, dimension=self.basis)
        )

        def send(clicks: Read, noise: SimulatedNoise) -> NDArray[np.float64]:
            attention = _attention(public.vectors[clicks].mean(axis=0), space.topics.centres)
            return positive_weights(attention if mechanism is None else mechanism.release(attention, noise).values)

        return send

    def learn_readers(self, sketches: Sketches) -> MeanReader:
        """The mean of what was released."""
        return MeanReader.learn(sketches.values, sketches.releases)

    def readers(self, state: State) -> MeanReader:
        """The mean that was learnt."""
        return MeanReader(state["prior_mean"])

    def label_mechanism(self, slate_size: int) -> LabelMechanism:
        """One article of the slate."""
        return RandomizedResponse(epsilon=self.epsilon_label, choices=slate_size)


def _attention(reader: NDArray[np.float32], basis: NDArray[np.float32]) -> NDArray[np.float64]:
    odds = np.exp(_SHARPNESS * (basis @ reader).astype(np.float64))
    return np.asarray(odds / odds.sum())
