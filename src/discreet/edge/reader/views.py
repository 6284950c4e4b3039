"""Views: what a device showed, and which arm of an experiment ranked it.

A device draws its arm by a secret of its own. The publisher does not choose it, and never learns it but in sums: all
that a device fetches is the same in every arm.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.protocol.quality_cells import EVERYBODY

VIEW = 20
"""How many articles of a front are a view."""


@dataclass(frozen=True)
class View:
    """What was shown: the arm whose weights ranked it, and of each article, in order, whether it was clicked.

    `features` has a row for each article as it was then (`protocol.weight_cells.FEATURES`, and what each direction
    of a head adds), or none were kept.
    """

    arm: str
    clicked: tuple[bool, ...]
    features: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Arm:
    """One way to rank in an experiment: what the weights of the terms are multiplied with."""

    name: str
    popularity: float
    content: float


NO_ARM = Arm(EVERYBODY, 1.0, 1.0)


@dataclass(frozen=True)
class OfferedExperiment:
    """An experiment of the publisher, as its terms say it."""

    id: str
    arms: tuple[Arm, ...]

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> OfferedExperiment:
        """An experiment that has been checked against the schema."""
        arms = (Arm(f"{fields['id']}/{arm['name']}", arm["popularity"], arm["content"]) for arm in fields["arms"])
        return cls(fields["id"], tuple(arms))

    def drawn(self, secret: bytes) -> Arm:
        """The arm of the device with this secret: the same for as long as the experiment and the secret are."""
        digest = hmac.digest(secret, b"arm of " + self.id.encode(), "sha256")
        return self.arms[int.from_bytes(digest[:4], "big") * len(self.arms) >> 32]
