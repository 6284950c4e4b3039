"""What a ledger is opened with and keeps for life: how much a unit may cost, and the public schedule of epochs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Unit, shown_epsilon
from discreet.protocol.infinity import to_plain


@dataclass(frozen=True)
class Budget:
    """The most that any one unit may cost over its life: Σε ≤ `epsilon` and Σδ ≤ `delta`.

    Guarantees add up only if they speak of the same thing, so a ledger takes guarantees of its own unit, adjacency and
    adversary and no others. `epsilon` may be infinite: then everything is written down and nothing refused for its ε.
    """

    epsilon: float
    delta: float = 0.0
    unit: Unit = Unit.CLICK
    adjacency: Adjacency = Adjacency.SUBSTITUTE
    adversary: Adversary = Adversary.SERVER

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must be at least 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, not {self.delta}")
        if self.unit is Unit.CLICKS:
            raise ValueError("a ledger counts what each click pays, or each user; its statement adds up all clicks")

    def require_same_terms(self, guarantee: Guarantee) -> None:
        """Refuse, as a programming error, a guarantee whose ε does not add up with this budget's."""
        for term in ("unit", "adjacency", "adversary"):
            ours, theirs = getattr(self, term), getattr(guarantee, term)
            if ours != theirs:
                raise ValueError(
                    f"this ledger counts {term} '{ours}'; a guarantee for '{theirs}' does not add up with it"
                )

    def __str__(self) -> str:
        return f"{cost(self.epsilon, self.delta)} per {self.unit} ({self.adjacency}) against the {self.adversary}"

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values; an infinite ε is the string "inf"."""
        return {
            "epsilon": to_plain(self.epsilon),
            "delta": self.delta,
            "unit": str(self.unit),
            "adjacency": str(self.adjacency),
            "adversary": str(self.adversary),
        }


@dataclass(frozen=True)
class Schedule:
    """Epoch k lasts from `start` + k·`length` to `start` + (k+1)·`length`, the same for every device and known to all.

    Attributes:
        start: When epoch 0 begins; with a time zone, in whole seconds.
        length: How long each epoch lasts, in whole seconds.
    """

    start: datetime
    length: timedelta

    def __post_init__(self) -> None:
        if self.start.tzinfo is None:
            raise ValueError("the schedule's start needs a time zone")
        if self.start.microsecond or self.length.microseconds:
            raise ValueError("the schedule is kept in whole seconds")
        if self.length <= timedelta(0):
            raise ValueError(f"an epoch's length must be positive, not {self.length}")

    @property
    def start_seconds(self) -> int:
        """The start in seconds since 1970."""
        return int(self.start.timestamp())

    @property
    def length_seconds(self) -> int:
        """The length in seconds."""
        return int(self.length.total_seconds())

    def epoch_at(self, seconds: int) -> int:
        """The epoch that contains this moment (seconds since 1970); negative before the start."""
        return (seconds - self.start_seconds) // self.length_seconds

    def begins(self, epoch: int) -> datetime:
        """The moment an epoch begins, in UTC."""
        return (self.start + epoch * self.length).astimezone(UTC)

    def to_json(self) -> dict[str, Any]:
        """The start as an ISO date and time, the length in seconds."""
        return {"start": self.begins(0).isoformat(), "length_seconds": self.length_seconds}


def cost(epsilon: float, delta: float) -> str:
    """An (ε, δ) for people; δ = 0 is not worth saying."""
    return f"ε = {shown_epsilon(epsilon)}" + (f", δ = {delta:.3g}" if delta else "")
