"""What a round costs: exact bytes of every message, what each party has to do, and constants fitted to measured times.

Bytes follow from the messages' own form; the tests compare them with real messages. Seconds are a sum of a few counts
(signatures, neighbours, shares, masked values) times a constant each, for every step of the two parties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from scipy.optimize import nnls

from discreet.aggregation.secure_sum import Step, SumPlan
from discreet.training.parties import Parties

HEAD, NUMBER, KEY, SIGNATURE, DIGEST, SHARE, TAG = 36, 4, 32, 64, 32, 33, 16
STEPS = (Step.ADVERTISE, Step.SHARE, Step.MASK, Step.AGREE, Step.UNMASK)
Point = TypeVar("Point")
Counts = Callable[[Point], tuple[float, ...]]


@dataclass(frozen=True)
class SumSize:
    """One secure sum: all share their keys, then `dropped` parties go silent, the worst moment. Values have 8 bytes."""

    plan: SumPlan
    length: int
    dropped: int = 0

    @property
    def survivors(self) -> int:
        """m, whose vectors are in the sum."""
        return self.plan.clients - self.dropped

    @property
    def pairs(self) -> float:
        """How many masks of a survivor with a dropout the server must take away; expected, on a sparse graph."""
        return self.dropped * self.plan.degree * self.survivors / (self.plan.clients - 1)

    @property
    def noise(self) -> float:
        """σ of the noise in the opened sum of all parties over the σ that must stay hidden."""
        honest = self.plan.quorum - Parties(self.plan.clients, self.plan.quorum).colluders
        return math.sqrt(self.plan.clients / honest)


def sent(size: SumSize) -> dict[Step, int]:
    """Bytes that a party sends at each step."""
    k, signed = size.plan.degree, HEAD + NUMBER + SIGNATURE
    return {
        Step.ADVERTISE: signed + 2 * KEY,
        Step.SHARE: signed + DIGEST + NUMBER + k * (NUMBER + 2 * SHARE + TAG),
        Step.MASK: signed + NUMBER + 8 * size.length,
        Step.AGREE: signed + DIGEST,
        Step.UNMASK: signed + 2 * NUMBER + (k + 1) * (NUMBER + SHARE),
    }


def received(size: SumSize) -> dict[Step, int]:
    """Bytes that a party is sent in answer to each step; after the last there is nothing to say."""
    n, k, m = size.plan.clients, size.plan.degree, size.survivors
    return {
        Step.ADVERTISE: HEAD + NUMBER + n * (NUMBER + 2 * KEY + SIGNATURE),
        Step.SHARE: HEAD + 3 * NUMBER + n * NUMBER + k * (NUMBER + 2 * SHARE + TAG),
        Step.MASK: HEAD + NUMBER + m * NUMBER,
        Step.AGREE: HEAD + NUMBER + m * (NUMBER + DIGEST + SIGNATURE),
        Step.UNMASK: 0,
    }


def wrapped_sent(size: SumSize) -> int:
    """What a survivor's answers have in all, each wrapped as `federated.nodes` does."""
    return sum(sent(size).values()) + len(STEPS) * (HEAD + NUMBER)


def wrapped_received(size: SumSize, task: int) -> int:
    """What a survivor's requests have in all, the task (the model's parameters) among them; no keys of the roster."""
    begin = HEAD + 16 + NUMBER * (1 + size.plan.clients) + 6 * NUMBER + 2 * DIGEST + NUMBER
    return begin + sum(received(size).values()) + 4 * (HEAD + 2 * NUMBER) + NUMBER + task


def server_in(size: SumSize) -> int:
    """Bytes that come to the server in one sum."""
    part = sent(size)
    early = part[Step.ADVERTISE] + part[Step.SHARE] + 2 * (HEAD + NUMBER)
    return size.survivors * wrapped_sent(size) + size.dropped * early


def server_out(size: SumSize, task: int) -> int:
    """Bytes that leave the server in one sum; a dropout goes silent after it is told the task."""
    late = received(size)[Step.MASK] + received(size)[Step.AGREE] + 2 * (HEAD + 2 * NUMBER)
    return size.plan.clients * wrapped_received(size, task) - size.dropped * late


def _share(size: SumSize) -> tuple[float, ...]:
    n, k, t = size.plan.clients, size.plan.degree, size.plan.threshold
    return 1, n, k, 2 * (k + 1) * t


def _unmask_at_server(size: SumSize) -> tuple[float, ...]:
    k, t, m = size.plan.degree, size.plan.threshold, size.survivors
    weights = 1 if size.plan.is_complete else m + size.dropped
    return m, m * k, weights * t, weights * t * t, size.pairs, (m + size.pairs) * size.length


PARTY: Mapping[Step, tuple[tuple[str, ...], Counts[SumSize]]] = {
    Step.ADVERTISE: (("two keys, one signature",), lambda _: (1,)),
    Step.SHARE: (("fixed", "party listed", "neighbour", "share × threshold"), _share),
    Step.MASK: (
        ("fixed", "neighbour", "value × mask", "value"),
        lambda s: (1, s.plan.degree, (s.plan.degree + 1) * s.length, s.length),
    ),
    Step.AGREE: (("fixed", "survivor listed"), lambda s: (1, s.survivors)),
    Step.UNMASK: (("fixed", "signature checked"), lambda s: (1, s.plan.quorum)),
}
"""By step: what a party's constants are called, and how often each counts."""

SERVER: Mapping[Step, tuple[tuple[str, ...], Counts[SumSize]]] = {
    Step.ADVERTISE: (("party", "party × party"), lambda s: (s.plan.clients, s.plan.clients**2)),
    Step.SHARE: (
        ("party", "party × neighbour", "party × party"),
        lambda s: (s.plan.clients, s.plan.clients * s.plan.degree, s.plan.clients**2),
    ),
    Step.MASK: (("input", "input × value"), lambda s: (s.survivors, s.survivors * s.length)),
    Step.AGREE: (("agreement",), lambda s: (s.survivors,)),
    Step.UNMASK: (
        ("party", "party × neighbour", "rebuilt × t", "rebuilt × t²", "pair of keys", "mask × value"),
        _unmask_at_server,
    ),
}
"""The same for the server: to receive all, close the step, and write what it answers."""

PLAIN: tuple[tuple[str, ...], Counts[SumSize]] = (
    ("vector", "value"),
    lambda s: (s.survivors, s.survivors * s.length),
)
"""The same for the plain sum."""

MEMORY: tuple[tuple[str, ...], Counts[SumSize]] = (
    ("party", "party × neighbour", "party × party", "value"),
    lambda s: (s.plan.clients, s.plan.clients * s.plan.degree, s.plan.clients**2, s.length),
)
"""The same for the bytes that the server keeps."""


@dataclass(frozen=True)
class Fit(Generic[Point]):
    """Seconds (or bytes) as a sum of counts times constants, none of them negative."""

    names: tuple[str, ...]
    counts: Counts[Point]
    constants: tuple[float, ...]

    @classmethod
    def of(
        cls, names: tuple[str, ...], counts: Counts[Point], points: Sequence[Point], measured: Sequence[float]
    ) -> Fit[Point]:
        """Least squares of relative errors: Σ (fitted/measured − 1)²."""
        values = np.array(measured, np.float64)
        rows = np.array([counts(point) for point in points], np.float64) / values[:, None]
        scale = np.abs(rows).max(axis=0)
        found, _ = nnls(rows / scale, np.ones(len(values)))
        return cls(names, counts, tuple(found / scale))

    def __call__(self, point: Point) -> float:
        """What the model says of a point."""
        return float(np.dot(self.counts(point), self.constants))


Fits = dict[Step, Fit[SumSize]]


def fit_steps(
    model: Mapping[Step, tuple[tuple[str, ...], Counts[SumSize]]],
    sizes: Sequence[SumSize],
    measured: Sequence[Mapping[Step, float]],
) -> Fits:
    """The constants of every step of one party."""
    return {s: Fit.of(names, counts, sizes, [one[s] for one in measured]) for s, (names, counts) in model.items()}


def whole_round(fits: Fits, size: SumSize) -> float:
    """Seconds of a party in all five steps."""
    return sum(fit(size) for fit in fits.values())
