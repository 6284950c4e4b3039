"""What a release costs in privacy, said completely.

An ε alone means nothing. A `Guarantee` says whose secret is protected (unit), against which change (adjacency), from
whom (adversary), for how long (scope), and whether it is proved here or only claimed by a paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from typing import Any

from discreet.protocol.infinity import to_plain


class Unit(StrEnum):
    """What is protected: the smallest thing whose change the adversary must not notice.

    A history of clicks is less than a user: under substitution every click may be another, but how many there are, when
    they came and on which slates stays as it is. Of a user, everything may change. Where a reader declared some
    categories open, clicks on articles of others are secret, one of them or all together, and only these.
    """

    CLICK = "click"
    CLICKS = "history of clicks"
    RATING_VALUE = "rating value"
    RATING = "rating"
    USER = "user"
    SECRET_CLICK = "click outside open categories"
    SECRET_CLICKS = "history of clicks outside open categories"


class Adjacency(StrEnum):
    """How neighbouring inputs differ in one unit.

    Its value is replaced; or it is there or not; or all that it gives is there or counts as zero, while that there is
    such a unit is public.
    """

    SUBSTITUTE = "substitute"
    ADD_REMOVE = "add/remove"
    ZERO_OUT = "zero out"


class Adversary(StrEnum):
    """Who must not learn it."""

    SERVER = "server"
    OTHER_VENDORS = "other vendors"
    OUTSIDER = "outsider"
    BLIND_SERVER = "server that does not see who takes part"
    PUBLISHER_AND_AGGREGATOR = "publisher and one aggregator"
    OTHER_VENDORS_AND_AGGREGATOR = "other vendors and one aggregator"
    BOTH_AGGREGATORS = "two aggregators together"


class Scope(StrEnum):
    """How much of the unit's life the ε covers."""

    RELEASE = "one release"
    ROUND = "one round"
    LIFETIME = "lifetime"
    WINDOW = "one window"
    DAY = "one day"


class Status(StrEnum):
    """Whether the ε is proved here, or a paper's claim that is printed with the true value."""

    PROVED = "proved"
    CLAIMED = "claimed"


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-differential privacy, with everything needed to know what that means.

    `epsilon` is always a value that holds (infinity where nothing does). A paper's claim that fails has status
    `claimed`, the paper's figure in `claimed_epsilon`, and the true one in `epsilon`.
    """

    epsilon: float
    delta: float
    unit: Unit
    adjacency: Adjacency
    adversary: Adversary
    scope: Scope
    status: Status
    mechanism: str
    version: int = 1
    claimed_epsilon: float | None = None

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must be at least 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, not {self.delta}")
        if (self.status is Status.CLAIMED) != (self.claimed_epsilon is not None):
            raise ValueError("a claimed guarantee, and only that, carries claimed_epsilon")

    @classmethod
    def unprotected(cls, mechanism: str, scope: Scope) -> Guarantee:
        """What is sent without noise: nothing bounds what the server learns of a click."""
        return cls(
            epsilon=math.inf,
            delta=0.0,
            unit=Unit.CLICK,
            adjacency=Adjacency.SUBSTITUTE,
            adversary=Adversary.SERVER,
            scope=scope,
            status=Status.PROVED,
            mechanism=mechanism,
        )

    def __str__(self) -> str:
        if math.isinf(self.epsilon) and self.claimed_epsilon is None:
            return f"nothing is promised: ε = ∞ against the {self.adversary} [{self.mechanism} v{self.version}]"
        cost = f"ε = {shown_epsilon(self.epsilon)}" + (f", δ = {self.delta:.3g}" if self.delta else "")
        if self.claimed_epsilon is not None:
            cost = f"claimed ε = {shown_epsilon(self.claimed_epsilon)}, true {cost}"
        return (
            f"{cost} per {self.unit} ({self.adjacency}) against the {self.adversary}, {self.scope}"
            f" [{self.status}; {self.mechanism} v{self.version}]"
        )

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values; an infinite ε is the string "inf"."""
        return {
            "epsilon": to_plain(self.epsilon),
            "delta": self.delta,
            "unit": str(self.unit),
            "adjacency": str(self.adjacency),
            "adversary": str(self.adversary),
            "scope": str(self.scope),
            "status": str(self.status),
            "claimed_epsilon": to_plain(self.claimed_epsilon),
            "mechanism": self.mechanism,
            "version": self.version,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Guarantee:
        """The inverse of `to_json`."""
        claimed = fields["claimed_epsilon"]
        return cls(
            epsilon=float(fields["epsilon"]),
            delta=float(fields["delta"]),
            unit=Unit(fields["unit"]),
            adjacency=Adjacency(fields["adjacency"]),
            adversary=Adversary(fields["adversary"]),
            scope=Scope(fields["scope"]),
            status=Status(fields["status"]),
            claimed_epsilon=None if claimed is None else float(claimed),
            mechanism=str(fields["mechanism"]),
            version=int(fields["version"]),
        )


def shown_epsilon(epsilon: float) -> str:
    """ε for people: four digits, and never below the decimal that it stands for (a float holds 15 digits)."""
    if math.isinf(epsilon):
        return "∞"
    return f"{float(Context(prec=4, rounding=ROUND_CEILING).plus(Decimal(f'{epsilon:.15g}'))):.4g}"
