"""Random numbers that depend on what they are for, not on the thread that draws them.

Each row of factors has a stream of its own, keyed by the seed, the iteration, the side and the row. The numbers are
SplitMix64's (Steele, Lea and Flood, 2014): a counter put through a mixing function.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


@njit(cache=True, error_model="numpy")
def _mixed(number: np.uint64) -> np.uint64:
    number = (number ^ (number >> np.uint64(30))) * _FIRST
    number = (number ^ (number >> np.uint64(27))) * _SECOND
    return number ^ (number >> np.uint64(31))


@njit(cache=True, error_model="numpy")
def row_stream(key: np.uint64, row: int) -> np.uint64:
    """Where the stream of a row begins."""
    return _mixed(_mixed(key) ^ _mixed(np.uint64(row) * _STEP + _STEP))


@njit(cache=True, error_model="numpy")
def fill_normal(stream: np.uint64, out: NDArray[np.float64]) -> None:
    """Fill `out` with standard normal numbers (Box and Muller's pairs)."""
    counter = np.uint64(stream)
    for position in range(0, len(out), 2):
        counter += _STEP
        radius = np.sqrt(-2.0 * np.log(((_mixed(counter) >> np.uint64(11)) + 1.0) * _UNIT))
        counter += _STEP
        angle = 2.0 * np.pi * ((_mixed(counter) >> np.uint64(11)) * _UNIT)
        out[position] = radius * np.cos(angle)
        if position + 1 < len(out):
            out[position + 1] = radius * np.sin(angle)
