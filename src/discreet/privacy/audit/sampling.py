"""Many outputs of the shipped release path, quickly.

A release is `seal(sample(checked(value), noise), …)`. Here the first run is a whole release, and the others repeat its
random part: the same code, without checking the same value and writing the same guarantee a million times. Noise is
drawn by the shipped samplers in large blocks and handed out piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.audit.scores import Outputs
from discreet.privacy.mechanisms.base import Mechanism
from discreet.privacy.noise import SecureNoise, SimulatedNoise
from discreet.privacy.release import LatticePayload, Payload

_BLOCK_BYTES = 1 << 20
_BLOCK_VALUES = 1 << 16


@dataclass(frozen=True)
class MechanismSampler:
    """Outputs of `mechanism` on `value`, one row per run; lattice outputs as integers.

    Secure noise unless `simulated`, which floating-point mechanisms need.
    """

    mechanism: Mechanism
    value: Any
    simulated: bool = False

    def __call__(self, runs: int, seed: int) -> Outputs:
        """The outputs of `runs` runs."""
        noise = SimulatedNoiseAhead(seed) if self.simulated else SecureNoiseAhead()
        first = numbers(self.mechanism.release(self.value, noise).payload)
        outputs = np.empty((runs, len(first)))
        outputs[0] = first
        value, sample = self.mechanism.checked(self.value), self.mechanism.sample
        for run in range(1, runs):
            outputs[run] = numbers(sample(value, noise))
        return outputs


def numbers(payload: Payload) -> NDArray[Any]:
    """The integers of a lattice payload, the values of any other."""
    return payload.integers if isinstance(payload, LatticePayload) else payload.values


class SecureNoiseAhead(SecureNoise):
    """`SecureNoise`, drawn ahead in blocks."""

    def __init__(self) -> None:
        self._bytes, self._used = b"", 0
        self._laplace = _Blocks(super().discrete_laplace)
        self._gaussian = _Blocks(super().discrete_gaussian)

    def random_bytes(self, count: int) -> bytes:
        """Bytes of the operating system, fetched a megabyte at a time."""
        if self._used + count > len(self._bytes):
            self._bytes, self._used = super().random_bytes(max(count, _BLOCK_BYTES)), 0
        self._used += count
        return self._bytes[self._used - count : self._used]

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """The next `size` of a block of this scale."""
        return self._laplace.take(scale, size)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> NDArray[np.int64]:
        """The next `size` of a block of this σ."""
        return self._gaussian.take(sigma, size)


class SimulatedNoiseAhead(SimulatedNoise):
    """`SimulatedNoise`, drawn ahead in blocks."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._float_laplace = _Blocks(super().laplace)
        self._float_gaussian = _Blocks(super().gaussian)

    def laplace(self, scale: float, size: int) -> NDArray[np.float64]:
        """The next `size` of a block of this scale."""
        return self._float_laplace.take(scale, size)

    def gaussian(self, sigma: float, size: int) -> NDArray[np.float64]:
        """The next `size` of a block of this σ."""
        return self._float_gaussian.take(sigma, size)


class _Blocks:
    """For each parameter the rest of a block of samples; no sample is handed out twice."""

    def __init__(self, draw: Callable[[Any, int], NDArray[Any]]) -> None:
        self._draw = draw
        self._rest: dict[Any, tuple[NDArray[Any], int]] = {}

    def take(self, parameter: Any, size: int) -> NDArray[Any]:
        """`size` samples that nobody has had."""
        block, used = self._rest.get(parameter, (None, 0))
        if block is None or used + size > len(block):
            block, used = self._draw(parameter, max(size, _BLOCK_VALUES)), 0
        self._rest[parameter] = block, used + size
        return block[used : used + size]
