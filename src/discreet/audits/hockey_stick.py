"""Exact examination at a δ: from two distributions over the integers to the ε that they really have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.audits.audit_registry import Exact

Masses = NDArray[np.float64]
Pair = tuple[Masses, Masses]

_MAX_EPSILON = 600.0


@dataclass(frozen=True)
class HockeyStick(Exact):
    """The ε at `delta` of a pair of distributions, given by their masses on the same integers. Nothing is sampled.

    Mass that is left out at the ends only lowers the bound.
    """

    masses: Callable[[], Pair]
    delta: float

    def lower_bound(self, error: float, seed: int) -> float:
        """The exact ε, rounded down."""
        return exact_epsilon(*self.masses(), self.delta)


def hockey_stick(first: Masses, second: Masses, epsilon: float) -> float:
    """Σ max(0, P − e^ε·Q), the larger of both orders: the least δ that goes with this ε."""
    grown = np.exp(epsilon)
    return max(
        float(np.maximum(first - grown * second, 0.0).sum()), float(np.maximum(second - grown * first, 0.0).sum())
    )


def exact_epsilon(first: Masses, second: Masses, delta: float) -> float:
    """The least ε of a pair at `delta`, by bisection, rounded down."""
    low, high = 0.0, 1.0
    if hockey_stick(first, second, low) <= delta:
        return 0.0
    while hockey_stick(first, second, high) > delta:
        low, high = high, 2 * high
        if high > _MAX_EPSILON:
            return math.inf
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if hockey_stick(first, second, middle) > delta else (low, middle)
    return low
