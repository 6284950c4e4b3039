"""Audits of the noise in sums, registered when this module is imported.

The adversary is the publisher together with one aggregator. It knows the shares that it was given and its own noise,
and takes both from the sum; what the honest aggregator gave is the shipped code's output, in the field.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.aggregator_noise import add_to_share, share_noise, signed
from discreet.aggregation.task import Kind, NoiseKind, Task
from discreet.audits.audit_registry import Audit, register
from discreet.audits.black_box import BlackBox
from discreet.audits.hockey_stick import HockeyStick, Pair
from discreet.audits.sampling import AHEAD
from discreet.audits.scores import Nearness, Outputs
from discreet.privacy.guarantee import Status
from discreet.privacy.noise import SecureNoise

_DEVIATIONS = 30
_BLOCK_VALUES = 1 << 18


class OtherAggregator(StrEnum):
    """What the aggregator that may lie does."""

    HONEST = "the other aggregator honest"
    SILENT = "the other aggregator adds no noise"
    TELLS = "the other aggregator tells its noise"


@dataclass(frozen=True)
class NoisySumView:
    """What the adversary makes of sums in which one reader contributes `values`, a row for each sum."""

    task: Task
    values: tuple[int, ...]
    other: OtherAggregator

    def __call__(self, runs: int, seed: int) -> Outputs:
        """The sums of the shipped code. Secure noise has no seed."""
        noise, most = SecureNoise(AHEAD), max(1, _BLOCK_VALUES // self.task.length)
        blocks = [min(most, runs - done) for done in range(0, runs, most)]
        return np.concatenate([self._sums(block, noise) for block in blocks]).astype(np.float64)

    def _sums(self, runs: int, noise: SecureNoise) -> NDArray[np.int64]:
        """Many windows as one long vector: the noise of each value is independent."""
        task = replace(self.task, length=runs * self.task.length)
        assert task.noise_scale == self.task.noise_scale, "a long vector has other noise"
        field = task.prio3().circuit.field
        drawn = noise.random_bytes(8 * task.length)
        known_share = field.from_small(np.frombuffer(drawn, np.uint64) >> np.uint64(1))
        measurement = self.task.measurement(self.task.checked(self.values))
        reader = field.from_small(np.tile(np.asarray(measurement).astype(np.uint64), runs))
        honest_share = add_to_share(field, field.sub(reader, known_share), share_noise(task, noise))
        own = np.zeros(task.length, np.int64) if self.other is OtherAggregator.SILENT else share_noise(task, noise)
        total = field.add(honest_share, add_to_share(field, known_share, own))
        known = own if self.other is OtherAggregator.TELLS else 0
        return self.task.summed(signed(field, total) - known, 1).reshape(runs, -1)


@dataclass(frozen=True)
class ShareMasses:
    """One value with one aggregator's noise, with the reader who moves it most and without; by its formula."""

    task: Task

    def __call__(self) -> Pair:
        """The masses, exact but for float64 and the tails."""
        scale, moved = float(self.task.noise_scale), self.task.max_value
        reach = int(_DEVIATIONS * scale)
        places = np.arange(-reach, reach + moved + 1)
        without, with_reader = (np.abs(places - value) / scale for value in (0, moved))
        power = 1 if self.task.noise is NoiseKind.LAPLACE else 2
        masses = np.exp(-(with_reader**power) / power), np.exp(-(without**power) / power)
        return masses[0] / masses[0].sum(), masses[1] / masses[1].sum()


def audited_task(kind: Kind, length: int, max_value: int, max_total: int, epsilon: float, delta: float) -> Task:
    """A task as audits need it."""
    return Task(
        name="audited",
        purpose="",
        kind=kind,
        length=length,
        max_value=max_value,
        max_total=max_total,
        start=0,
        window_seconds=3600,
        windows=1,
        epsilon=epsilon,
        delta=delta,
        noise=NoiseKind.GAUSSIAN if delta else NoiseKind.LAPLACE,
    )


def _register() -> None:
    for kind, length, max_value, values, epsilon, delta in (
        (Kind.MULTIHOT, 4, 1, (1, 0, 1, 0), 1.0, 0.0),
        (Kind.SUMVEC, 3, 60, (20, 0, 40), 3.0, 0.0),
        (Kind.MULTIHOT, 4, 1, (1, 1, 1, 0), 3.0, 1e-5),
        (Kind.SIGNEDVEC, 3, 60, (-20, 0, 40), 3.0, 0.0),
    ):
        task = audited_task(kind, length, max_value, sum(map(abs, values)), epsilon, delta)
        scores = (Nearness(2 if delta else 1, (values, (0,) * length)),)
        lying = [OtherAggregator.TELLS] if kind is Kind.SIGNEDVEC else list(OtherAggregator)
        for other in lying:
            views = NoisySumView(task, values, other), NoisySumView(task, (0,) * length, other)
            examination = BlackBox(*views, runs=60_000, delta=delta, scores=scores)
            setting = f"{kind}, {task.noise} ε={epsilon:g}" + (f" δ={delta:g}" if delta else "") + f", {other}"
            register(Audit("sums", setting, Status.PROVED, epsilon, examination))
    for epsilon, delta in ((0.1, 0.0), (3.0, 0.0), (1.0, 1e-6)):
        task = audited_task(Kind.SUMVEC, 5, 60, 60, epsilon, delta)
        setting = f"one share, {task.noise} ε={epsilon:g}" + (f" δ={delta:g}" if delta else "") + ", exact"
        register(Audit("sums", setting, Status.PROVED, epsilon, HockeyStick(ShareMasses(task), delta)))


_register()
