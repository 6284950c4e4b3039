"""Where randomness comes from: the operating system for what leaves a device, a seed for simulation.

Both feed the same exact samplers (`noise_kernels`). Which of the two was used decides the type of what a mechanism
gives back: `SecureNoise` makes a `Release`, `SimulatedNoise` a `SimulatedRelease`, which cannot be sent.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.noise_kernels import LARGEST, fill_discrete_gaussian, fill_discrete_laplace

_Kernel = Callable[[int, int, NDArray[np.uint8], NDArray[np.int64], int], tuple[int, int]]


class Noise(ABC):
    """Random integers of exactly known distribution, made from uniform random bytes."""

    @abstractmethod
    def random_bytes(self, count: int) -> bytes:
        """`count` independent uniform bytes."""

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """`size` independent integers with P(y) ∝ e^{−|y|/scale}."""
        a, b = _ratio("scale", scale)
        return self._fill(fill_discrete_laplace, a, b, size, 10 + (a.bit_length() + 7) // 8 * 2)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> NDArray[np.int64]:
        """`size` independent integers with P(y) ∝ e^{−y²/2σ²}. Their variance is at most σ², not exactly σ²."""
        p, q = _ratio("sigma", sigma)
        return self._fill(fill_discrete_gaussian, p, q, size, 18 + (p // q).bit_length() // 4)

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
        return np.array([self.below(denominator) < numerator for _ in range(size)], dtype=np.bool_)

    def _fill(self, kernel: _Kernel, a: int, b: int, size: int, bytes_each: int) -> NDArray[np.int64]:
        out = np.empty(size, np.int64)
        done, used = 0, 0
        source = np.empty(0, np.uint8)
        while done < size:
            fresh = np.frombuffer(self.random_bytes((size - done) * bytes_each + 64), np.uint8)
            source = np.concatenate((source[used:], fresh))
            done, used = kernel(a, b, source, out, done)
            if used < 0:
                raise OverflowError("a noise value left 64 bits, which has probability below e^-8000")
        return out


class SecureNoise(Noise):
    """Randomness of the operating system, which nobody can predict or repeat. The only kind that may leave a device."""

    def random_bytes(self, count: int) -> bytes:
        """Bytes of the operating system's generator."""
        return os.urandom(count)


class SimulatedNoise(Noise):
    """Randomness from a seed, for simulation: repeatable, hence predictable, hence not private.

    Only this kind gives floating-point noise, because a float64 sample of a continuous distribution betrays its mean
    (Mironov 2012).
    """

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.default_rng(seed)

    def random_bytes(self, count: int) -> bytes:
        """Bytes of the seeded generator."""
        return self._generator.bytes(count)

    def laplace(self, scale: float, size: int) -> NDArray[np.float64]:
        """numpy's float64 Laplace noise."""
        return self._generator.laplace(0.0, scale, size)

    def gaussian(self, sigma: float, size: int) -> NDArray[np.float64]:
        """numpy's float64 Gaussian noise."""
        return self._generator.normal(0.0, sigma, size)


def rounded_up(value: float | Fraction, bits: int = 32) -> Fraction:
    """The least fraction m/2^r ≥ value with m of at most `bits` bits: noise parameters are rounded towards privacy."""
    exact = Fraction(value)
    if exact <= 0:
        raise ValueError(f"noise must have a scale above 0, not {value}")
    shift = bits - 1
    while exact * 2**shift >= 2 ** (bits - 1):
        shift -= 1
    while shift < 1000 and exact * 2**shift < 2 ** (bits - 2):
        shift += 1
    return Fraction(-(-exact * Fraction(2) ** shift // 1)) / Fraction(2) ** shift


def _ratio(name: str, value: Fraction) -> tuple[int, int]:
    if not isinstance(value, Fraction):
        raise TypeError(f"{name} must be a Fraction, not {type(value).__name__}: exact noise needs exact parameters")
    if not 0 < value:
        raise ValueError(f"{name} must be above 0, not {value}")
    if max(value.numerator, value.denominator) > LARGEST:
        raise ValueError(f"{name} {float(value):.6g} needs more than {LARGEST.bit_length() - 1} bits; round it up")
    return value.numerator, value.denominator
