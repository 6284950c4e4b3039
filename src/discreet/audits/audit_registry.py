"""What is audited: each claim with the examination that tries to refute it.

A module that ships a mechanism or a method registers its audits next to it; a plugin does so with `discreet.register`:

    register(Audit("my sketch", "ε=1", Status.PROVED, 1.0, BlackBox(MechanismSampler(m, a), MechanismSampler(m, b))))
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from discreet.errors import DiscreetError
from discreet.plugins import Registry
from discreet.privacy.guarantee import Status


class Measure(StrEnum):
    """In what a claim and its lower bound are expressed."""

    EPSILON = "ε"
    MU = "μ"
    IMPOSSIBLE = "share of impossible outputs"
    INFLUENCE = "how far one report moves a sum"
    AUC_LOST = "AUC lost"

    @property
    def symbol(self) -> str:
        """A short form for tables."""
        return {Measure.IMPOSSIBLE: "share", Measure.INFLUENCE: "moves"}.get(self, str(self))


class Examination(Protocol):
    """Finds, by running the shipped code, a value that the claim cannot be below."""

    @property
    def measure(self) -> Measure:
        """In what the bound is expressed."""

    @property
    def is_statistical(self) -> bool:
        """Whether the bound may be wrong by chance, and so needs its part of the permitted error."""

    def lower_bound(self, error: float, seed: int) -> float:
        """A bound that is wrong with probability at most `error`. `seed` is for simulated noise; secure has none."""


class Exact:
    """What every examination is that computes an ε and samples nothing."""

    @property
    def measure(self) -> Measure:
        """ε."""
        return Measure.EPSILON

    @property
    def is_statistical(self) -> bool:
        """Never."""
        return False


@dataclass(frozen=True)
class Audit:
    """One claim: of which mechanism in which setting, proved here or claimed by a paper, and how to examine it."""

    mechanism: str
    setting: str
    status: Status
    claim: float
    examination: Examination

    def __post_init__(self) -> None:
        if not self.claim >= 0:
            raise ValueError(f"a claim is a number of at least 0, not {self.claim}")

    @property
    def name(self) -> str:
        """Mechanism and setting."""
        return f"{self.mechanism} ({self.setting})" if self.setting else self.mechanism

    def holds(self, lower_bound: float) -> bool:
        """Whether the claim is compatible with the bound (to the rounding of float64)."""
        return lower_bound <= self.claim * (1 + 1e-9) and not math.isnan(lower_bound)


AUDITS: Registry[Audit] = Registry("audit", {})
register = AUDITS.register


def registered() -> list[Audit]:
    """All audits, in the order of their registration."""
    return AUDITS.own()


def selected(names: Iterable[str]) -> list[Audit]:
    """The audits of the mechanisms with these names (or the audits with these full names); all if there are none."""
    wanted, audits = list(names), registered()
    for name in wanted:
        if not any(name in (audit.mechanism, audit.name) for audit in audits):
            known = ", ".join(dict.fromkeys(audit.mechanism for audit in audits))
            raise DiscreetError(f"there is no audit of {name!r}; there are: {known}")
    return [audit for audit in audits if not wanted or {audit.mechanism, audit.name} & set(wanted)]
