"""Exact examination of a discrete mechanism: its probabilities, output by output, for all pairs of inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.audits.audit_registry import Exact

Distribution = Mapping[Any, Fraction]


@dataclass(frozen=True)
class Enumeration(Exact):
    """The largest log-ratio of the exact probabilities of one output under two inputs. No chance is involved."""

    distributions: Callable[[], list[Distribution]]

    def lower_bound(self, error: float, seed: int) -> float:
        """The exact ε of the mechanism at this size."""
        return largest_log_ratio(self.distributions())


def largest_log_ratio(distributions: list[Distribution]) -> float:
    """The largest ln(P(output | one) / P(output | other)) over outputs and pairs of inputs; each must sum to 1."""
    for distribution in distributions:
        if sum(distribution.values()) != 1:
            raise ValueError(f"probabilities sum to {float(sum(distribution.values()))}, not to 1")
    largest = 0.0
    for output in set().union(*distributions):
        probabilities = [distribution.get(output, Fraction(0)) for distribution in distributions]
        if max(probabilities) > 0:
            low, high = min(probabilities), max(probabilities)
            largest = max(largest, math.log(high / low) if low > 0 else math.inf)
    return largest
