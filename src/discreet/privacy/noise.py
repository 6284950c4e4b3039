"""Where randomness comes from: the operating system for what leaves a device, a seed for simulation.

Both feed the same exact sampler (`noise_tables`, `noise_kernels`). Which of the two was used decides the type of what
a mechanism gives back: `SecureNoise` makes a `Release`, `SimulatedNoise` a `SimulatedRelease`, which cannot be sent.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from os import getpid, urandom
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.noise_tables import MAX_SCALE, MIN_SCALE, DigitTables, gaussian_tables, laplace_tables


class Noise(ABC):
    """Random integers of exactly known distribution, made from uniform random bytes."""

    __slots__ = ()

    @abstractmethod
    def random_bytes(self, count: int) -> bytes:
        """`count` independent uniform bytes."""

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """`size` independent integers with P(y) ∝ e^{−|y|/scale}."""
        return self._fill(laplace_tables, _exact("scale", scale), size)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> NDArray[np.int64]:
        """`size` independent integers with P(y) ∝ e^{−y²/2σ²}. Their variance is at most σ², not exactly σ²."""
        return self._fill(gaussian_tables, _exact("sigma", sigma), size)

    def below(self, bound: int) -> int:
        """A uniform integer of {0, …, bound − 1}, of any size."""
        if bound < 1:
            raise ValueError(f"bound must be at least 1, not {bound}")
        bits = (bound - 1).bit_length()
        width = (bits + 7) // 8
        while True:
            drawn = int.from_bytes(self.random_bytes(width), "little") >> (8 * width - bits)
            if drawn < bound:
                return drawn

    def coins(self, probability: Fraction, size: int) -> NDArray[np.bool_]:
        """`size` independent coins, each true with exactly `probability`."""
        if not 0 <= probability <= 1:
            raise ValueError(f"probability must be from 0 to 1, not {probability}")
        numerator, denominator = probability.numerator, probability.denominator
        bits = max(1, (denominator - 1).bit_length())
        if bits > 63:
            return np.array([self.below(denominator) < numerator for _ in range(size)], dtype=np.bool_)
        drawn = np.empty(0, np.uint64)
        while len(drawn) < size:
            words = np.frombuffer(self.random_bytes(8 * (size - len(drawn))), "<u8") >> np.uint64(64 - bits)
            drawn = np.concatenate((drawn, words[words < denominator]))
        return np.asarray(drawn < numerator)

    def _fill(self, tables_of: Callable[[Fraction, int], DigitTables], scale: Fraction, size: int) -> NDArray[np.int64]:
        from discreet.privacy.noise_kernels import DONE, MORE_BYTES, fill

        out = np.empty(size, np.int64)
        digits, done, used, wanting = 8, 0, 0, MORE_BYTES
        source = np.empty(0, np.uint8)
        bytes_each = 4 + 2 * int(scale).bit_length() // 8
        while wanting != DONE:
            if wanting == MORE_BYTES:
                fresh = np.frombuffer(self.random_bytes((size - done) * bytes_each + 64), np.uint8)
                source = np.concatenate((source[used:], fresh))
            else:
                source = source[used:]
                digits *= 2
            t = tables_of(scale, digits)
            done, used, wanting = fill(t.cumulative, t.guide, t.kappa, t.coins, t.bits, t.quadratic, source, out, done)
        return out


@final
class SecureNoise(Noise):
    """Randomness of the operating system, which nobody can predict or repeat. The only kind that may leave a device.

    It has no seed and no subclass, so whatever holds one holds this.

    Args:
        ahead: How many bytes to ask the system for at a time, where millions of draws are wanted. No byte is handed out
            twice, neither here nor in a process that was forked off.
    """

    __slots__ = ("_ahead", "_drawn", "_process", "_used")

    def __init__(self, ahead: int = 0) -> None:
        self._ahead, self._drawn, self._used, self._process = ahead, b"", 0, getpid()

    def __init_subclass__(cls) -> None:
        raise TypeError("SecureNoise has no subclasses: what leaves a device has the system's own randomness")

    def random_bytes(self, count: int) -> bytes:
        """Bytes of the operating system's generator."""
        if count > self._ahead:
            return urandom(count)
        if self._used + count > len(self._drawn) or self._process != getpid():
            self._drawn, self._used, self._process = urandom(self._ahead), 0, getpid()
        self._used += count
        return self._drawn[self._used - count : self._used]


class SimulatedNoise(Noise):
    """Randomness from a seed, for simulation: repeatable, hence predictable, hence not private.

    Only this kind gives floating-point noise, because a float64 sample of a continuous distribution betrays its mean
    (Mironov 2012).
    """

    _AT_ONCE = 1024

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.default_rng(seed)
        self._drawn, self._used = b"", 0

    def random_bytes(self, count: int) -> bytes:
        """Bytes of the seeded generator, which are drawn many at a time: a call of numpy takes microseconds."""
        if self._used + count > len(self._drawn):
            self._drawn, self._used = self._generator.bytes(max(count, self._AT_ONCE)), 0
        self._used += count
        return self._drawn[self._used - count : self._used]

    def laplace(self, scale: float, size: int) -> NDArray[np.float64]:
        """Float64 Laplace noise of numpy."""
        return self._generator.laplace(0.0, scale, size)

    def gaussian(self, sigma: float, size: int) -> NDArray[np.float64]:
        """Float64 Gaussian noise of numpy."""
        return self._generator.normal(0.0, sigma, size)


@lru_cache(maxsize=1024)
def rounded_up(value: float | Fraction, bits: int = 32) -> Fraction:
    """The least fraction m/2^r ≥ value with m of about `bits` bits: noise parameters are rounded towards privacy."""
    exact = Fraction(value)
    if exact <= 0:
        raise ValueError(f"noise must have a scale above 0, not {value}")
    shift = bits - 1 - (exact.numerator.bit_length() - exact.denominator.bit_length())
    return Fraction(math.ceil(exact * Fraction(2) ** shift)) / Fraction(2) ** shift


def _exact(name: str, value: Fraction) -> Fraction:
    if not isinstance(value, Fraction):
        raise TypeError(f"{name} must be a Fraction, not {type(value).__name__}: exact noise needs exact parameters")
    if not MIN_SCALE <= value <= MAX_SCALE:
        raise ValueError(f"{name} must be from 2^-20 to 2^50 lattice steps, not {float(value):.6g}")
    return value
