"""Randomness of a simulation by counter: a draw depends on what it is for, never on what was drawn before it.

The draw of (seed, round, purpose, reader, …) is a hash of exactly these numbers. So the loop over single clients and
the simulator of a whole round draw the same negatives, masks and noise; it does not matter who else takes part; and
nothing but the round's number is needed to resume. This is for simulation: what a device releases takes its noise from
`discreet.privacy`, never from here.
"""

from __future__ import annotations

import zlib

import numpy as np
import torch
from numpy.typing import NDArray

Uniforms = NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014): each input bit flips half the output bits."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


def _hash(parts: tuple[int | NDArray[np.integer], ...]) -> NDArray[np.uint64]:
    state = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for part in parts:
            state = _mix((state + _GOLDEN) ^ _mix(np.asarray(part, dtype=np.int64).astype(np.uint64) + _GOLDEN))
    return state


def purpose_key(purpose: str) -> int:
    """A number for a purpose's name, the same on every machine."""
    return zlib.crc32(purpose.encode())


def uniforms(seed: int, round_: int, purpose: str, *counters: NDArray[np.integer]) -> Uniforms:
    """Uniform numbers strictly between 0 and 1, one for each entry of the `counters` broadcast against each other."""
    bits = _hash((seed, round_, purpose_key(purpose), *counters))
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def round_generator(seed: int, round_: int, purpose: str, node: int = 0) -> np.random.Generator:
    """A generator of its own for one purpose in one round at one node, for what concerns no single client."""
    return np.random.default_rng([seed, round_, purpose_key(purpose), node])


def laplace(uniform: Uniforms, scale: float) -> Uniforms:
    """Laplace noise of the given scale from uniform numbers, by the inverse distribution function."""
    centred = uniform - 0.5
    return np.asarray(-scale * np.sign(centred) * np.log1p(-2 * np.abs(centred)))


def gaussian(uniform: Uniforms, scale: float) -> Uniforms:
    """Gaussian noise of the given standard deviation from uniform numbers, by the inverse distribution function."""
    quantile = torch.special.ndtri(torch.from_numpy(uniform))
    return np.asarray(scale * quantile.numpy())
