"""What all devices of a data set send: a sketch for each reader's history, a label for each impression.

This simulates the devices with their own code (`discreet.edge.reader.reports`) and seeded noise. A reader's clicks are
released once: the history before the first impression in one sketch, or `epochs` of them; clicks that have come since
in one more sketch when the reader next appears in a later split. A release is never made twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.edge.reader.reports import LabelMechanism, label, sketch_mechanism
from discreet.privacy.noise import SimulatedNoise

Ints = NDArray[np.int64]
Read = NDArray[np.int32]
Sender = Callable[[Read, SimulatedNoise], NDArray[np.float64]]

_SKETCH, _LABEL = 1, 2


@dataclass(frozen=True, eq=False)
class Sketches:
    """What the server holds of each reader: the sum of the released vectors, of how many releases and clicks.

    `row[reader]` is the reader's row, or -1 for one of whom nothing came.
    """

    row: Ints
    values: NDArray[np.float64]
    releases: Ints
    clicks: Ints

    def rows_of(self, impressions: Impressions) -> Ints:
        """The row of each impression's reader."""
        return self.row[impressions.reader]


def histories_at_first_sight(impressions: Impressions) -> dict[int, Read]:
    """Each reader's history at the reader's first impression of this split."""
    readers, first = np.unique(impressions.reader, return_index=True)
    return {int(reader): impressions.history(int(i)) for reader, i in zip(readers, first, strict=True)}


def release_plan(train: Impressions, later: Impressions | None, epochs: int) -> dict[int, list[Read]]:
    """The clicks of each release of each reader: no click is in two.

    `later` is the split to be served, or None while training.
    """
    before = histories_at_first_sight(train)
    plan = {reader: list(np.array_split(history, epochs)) for reader, history in before.items()}
    if later is not None:
        for reader, history in histories_at_first_sight(later).items():
            if reader in before:
                plan[reader].append(_since(before[reader], history))
            else:
                plan[reader] = list(np.array_split(history, epochs))
    return {reader: [clicks for clicks in parts if len(clicks)] for reader, parts in plan.items()}


def _since(before: Read, now: Read) -> Read:
    """The clicks of `now` without those of `before`, in their order."""
    left = Counter(before.tolist())
    fresh = []
    for position, article in enumerate(now.tolist()):
        if left[article]:
            left[article] -= 1
        else:
            fresh.append(position)
    return now[fresh]


def collect_sketches(plan: dict[int, list[Read]], readers: int, size: int, send: Sender, seed: int) -> Sketches:
    """Every device's releases, added up; each is made by `send` from its clicks with the reader's own randomness."""
    sending = sorted(reader for reader, parts in plan.items() if parts)
    row = np.full(readers, -1, np.int64)
    row[sending] = np.arange(len(sending))
    values = np.zeros((len(sending), size))
    for place, reader in enumerate(sending):
        for number, clicks in enumerate(plan[reader]):
            noise = SimulatedNoise(np.random.SeedSequence([seed, _SKETCH, reader, number]))
            values[place] += send(clicks, noise)
    releases = np.array([len(plan[reader]) for reader in sending], np.int64)
    lengths = np.array([sum(map(len, plan[reader])) for reader in sending], np.int64)
    return Sketches(row, values, releases, lengths)


def topic_counts(topic_of_article: Ints, topics: int, epsilon: float) -> Sender:
    """The sender of click reports: noised topic counts (exact ones at ε = ∞)."""
    if math.isinf(epsilon):
        return lambda clicks, _: np.bincount(topic_of_article[clicks], minlength=topics).astype(np.float64)
    mechanism = sketch_mechanism(topics, epsilon)
    return lambda clicks, noise: mechanism.release(topic_of_article[clicks], noise).values


@dataclass(frozen=True, eq=False)
class Labels:
    """The label reports of some impressions, as the server holds them.

    `inside[j]` says whether the shown article at position j of the flat slates was in its impression's reported set;
    `reported[i]` whether impression i has a report.
    """

    inside: NDArray[np.bool_]
    reported: NDArray[np.bool_]


def collect_labels(
    impressions: Impressions, epsilon: float, mechanism_for: Callable[[int], LabelMechanism], seed: int
) -> Labels:
    """One report for each impression with a click and at least two articles to choose from; none at ε = 0."""
    inside = np.zeros(len(impressions.shown), np.bool_)
    reported = np.zeros(len(impressions), np.bool_)
    if epsilon == 0 or not impressions.labelled:
        return Labels(inside, reported)
    mechanisms = (
        {}
        if math.isinf(epsilon)
        else {int(size): mechanism_for(int(size)) for size in np.unique(impressions.slate_sizes) if size > 1}
    )
    noise = SimulatedNoise(np.random.SeedSequence([seed, _LABEL, int(impressions.time[0]) if len(impressions) else 0]))
    for i, (start, stop) in enumerate(_slates(impressions)):
        clicked = np.flatnonzero(impressions.clicked[start:stop]).tolist()
        if not clicked or stop - start < 2:
            continue
        if mechanisms:
            chosen = label(clicked, mechanisms[stop - start], noise).values.astype(np.int64)
        else:
            chosen = np.array([clicked[noise.below(len(clicked))]])
        inside[start + chosen] = True
        reported[i] = True
    return Labels(inside, reported)


def _slates(impressions: Impressions) -> Iterable[tuple[int, int]]:
    bounds = impressions.slate.tolist()
    return pairwise(bounds)
