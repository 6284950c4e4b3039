"""The non-interference test: what was released is all that depends on the private log.

Fix the releases, vary the private log, and require that everything else that leaves the device is the same, bit for
bit. It needs no statistics and catches what no accountant can see: a gradient that is said to be post-processing but
touches the raw history, a sample count sent in clear, a request whose size or timing follows the clicks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

from discreet.audits.audit_registry import Exact

Log = TypeVar("Log")
Releases = TypeVar("Releases")


@dataclass(frozen=True)
class Leak:
    """Two logs, by their positions, with which the device sent different bytes, and the first byte that differs."""

    first: int
    second: int
    offset: int


def leaks(device: Callable[[Log, Releases], bytes], logs: Sequence[Log], releases: Releases) -> list[Leak]:
    """Every pair of `logs` that can be distinguished by what `device` sends besides `releases`.

    Args:
        device: all that leaves the device, apart from the releases, as bytes. Its randomness must be fixed.
        logs: at least two private logs that differ as much as they may: other clicks, other lengths, other times.
        releases: what was released, the same for all.

    Raises:
        ValueError: fewer than two logs, or a device that sends something else each time it is asked, of which
            nothing can be said.
    """
    if len(logs) < 2:
        raise ValueError("at least two logs are needed, that differ")
    sent = [device(log, releases) for log in logs]
    if sent[0] != device(logs[0], releases):
        raise ValueError("the device sends different bytes for the same log and releases; fix its randomness first")
    return [
        Leak(i, j, _first_difference(sent[i], sent[j]))
        for i, j in combinations(range(len(logs)), 2)
        if sent[i] != sent[j]
    ]


@dataclass(frozen=True)
class NonInterference(Exact, Generic[Log, Releases]):
    """The test as an examination: nothing else leaks (0), or an observer knows the log (ε is infinite)."""

    device: Callable[[Log, Releases], bytes]
    logs: Sequence[Log]
    releases: Releases

    def lower_bound(self, error: float, seed: int) -> float:
        """Infinity if two logs can be distinguished, else 0."""
        return math.inf if leaks(self.device, self.logs, self.releases) else 0.0


def _first_difference(one: bytes, other: bytes) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
