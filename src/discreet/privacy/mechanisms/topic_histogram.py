"""Topic histogram: how much of a history falls on each of K public topics, with noise that does not grow with K."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.mechanisms.base import Sensitivity
from discreet.privacy.mechanisms.checks import check_count, check_one_of_many, check_simplex, checked_matrix
from discreet.privacy.mechanisms.lattice import LatticeMechanism

POINTS = 1024
"""Each click distributes this many points among the topics."""


@dataclass(frozen=True, kw_only=True)
class TopicHistogram(LatticeMechanism):
    """The mean of H points of the simplex over K topics, one per click, plus noise; H is public.

    **Sensitivity.** Replacing one click takes away one point of the simplex and adds another: Δ₁ = 2/H and Δ₂ = √2/H,
    whatever K is. Both are attained by clicks that lie wholly on different topics.

    **Lattice.** Each click gives exactly 1024 whole points to the topics (the largest remainders are rounded up), and
    the points are summed. Replacing a click moves the sums by at most 2·1024 in L1: rounding adds nothing.
    """

    name: ClassVar[str] = "topic histogram"
    summary: ClassVar[str] = "share of a history on each of K public topics, which one click moves by 2/H"

    topics: int
    history_length: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("topics", self.topics, 2)
        check_count("history_length", self.history_length)
        if self.history_length > 1:
            check_one_of_many(self.unit, self.adjacency)
        self.scale  # noqa: B018 - refuses a calibration that does not exist

    @property
    def sensitivity(self) -> Sensitivity:
        """2/H in L1 and √2/H in L2."""
        h = self.history_length
        return Sensitivity(l1=2 / h, l2=math.sqrt(2) / h, diameter=h == 1)

    @property
    def step(self) -> float:
        """One point of one click, as a share of the history."""
        return 1 / (POINTS * self.history_length)

    @property
    def lattice_l1(self) -> int:
        """All points of one click moved."""
        return 2 * POINTS

    @property
    def lattice_l2(self) -> float:
        """All points of one click moved from one topic to another."""
        return math.sqrt(2) * POINTS * (1 + 1e-12)

    def checked(self, value: Any) -> NDArray[np.int64]:
        """H points of the simplex as sums of whole points."""
        rows = checked_matrix(value, self.history_length, self.topics)
        check_simplex(rows)
        shares = POINTS * rows / rows.sum(axis=1, keepdims=True)
        points = np.floor(shares).astype(np.int64)
        missing = POINTS - points.sum(axis=1)
        order = np.argsort(points - shares, axis=1, kind="stable")
        extra = np.arange(self.topics) < missing[:, None]
        np.put_along_axis(points, order, np.take_along_axis(points, order, axis=1) + extra, axis=1)
        return np.asarray(points.sum(axis=0))
