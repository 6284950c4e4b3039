"""The two reports of a click: once in a sketch of the history, once as the label of an impression.

Both are pure functions from private clicks to a release; `Device` pays for them first. Their ε add up: over its life a
click costs ε_sketch + ε_label, however long the server trains and serves on what it received.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from discreet.privacy.guarantee import Adjacency
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.mechanisms.subset_selection import SubsetSelection
from discreet.privacy.mechanisms.topic_counts import TopicCounts
from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise
from discreet.privacy.release import Release, SimulatedRelease


def sketch_mechanism(topics: int, epsilon: float, *, hide_length: bool = False) -> TopicCounts:
    """Noised topic counts of the clicks of one epoch.

    Under substitution the number of clicks is public; with `hide_length` neighbours have one click more or less, the
    number is secret, and to replace a click costs 2ε.
    """
    adjacency = Adjacency.ADD_REMOVE if hide_length else Adjacency.SUBSTITUTE
    return TopicCounts(epsilon=epsilon, topics=topics, adjacency=adjacency)


def label_mechanism(slate_size: int, epsilon: float) -> SubsetSelection:
    """A small set of the slate's articles that more likely than not holds the clicked one."""
    return SubsetSelection(epsilon=epsilon, choices=slate_size)


LabelMechanism = SubsetSelection | RandomizedResponse


@overload
def label(clicked: Sequence[int], mechanism: LabelMechanism, noise: SecureNoise) -> Release: ...
@overload
def label(clicked: Sequence[int], mechanism: LabelMechanism, noise: SimulatedNoise) -> SimulatedRelease: ...
def label(clicked: Sequence[int], mechanism: LabelMechanism, noise: Noise) -> Release | SimulatedRelease:
    """The report of one of the clicked positions of a slate, drawn at random where there are several.

    Whichever was drawn, the probability of any report changes by at most e^ε when a click is replaced, so it does for
    the mixture. A slate of one article has nothing to tell, and one without a click nothing to report.
    """
    if not clicked:
        raise ValueError("an impression without a click has no label to report")
    chosen = clicked[noise.below(len(clicked))]
    return mechanism.release(chosen, noise)  # type: ignore[call-overload, no-any-return]
