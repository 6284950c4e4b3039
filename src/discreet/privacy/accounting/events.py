"""Events that dp-accounting does not have, in its style: what happened, as a frozen value, and nothing of its cost.

Throughout Discreet the noise multiplier of an event is the noise's scale over the sensitivity *under the adjacency of
the mechanism that reports it*, so that two neighbouring inputs are always one sensitivity apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from dp_accounting import DpEvent


@dataclass(frozen=True)
class ApproximateDpEvent(DpEvent):  # type: ignore[misc]
    """A mechanism of which only (ε, δ)-DP is known; δ = 0 for pure ones such as the exponential mechanism.

    It is accounted as the worst mechanism with this guarantee: with probability δ everything leaks, otherwise one
    bit is released with the likelihood ratio e^ε (Kairouz, Oh, Viswanath 2015).
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must be at least 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, not {self.delta}")


@dataclass(frozen=True)
class PaddedDpEvent(DpEvent):  # type: ignore[misc]
    """`event` run on an input that a fresh secret coin replaced by public padding with probability `padding`.

    The sensitivity of `event` must also bound the distance from any input to the padding.
    """

    padding: float
    event: DpEvent

    def __post_init__(self) -> None:
        if not 0 <= self.padding < 1:
            raise ValueError(f"padding must be at least 0 and below 1, not {self.padding}")
