"""Exact samplers of discrete noise, in integers only, fed from a buffer of random bytes.

Every decision is "is a uniform real U below the fraction n/d?". The digits of n/d in base 256 come from long division
and are compared with the bytes of U one by one until they differ, so the answer has exactly the probability n/d and
needs 1.004 bytes on average. No floating-point number takes part.

A kernel that runs out of bytes in the middle of a sample gives back where that sample began. The caller keeps the
bytes from there on and appends fresh ones, so the sample is continued and not drawn anew. (Drawing it anew would
favour samples that need few bytes.)
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

LARGEST = 1 << 46
"""Numerators and denominators stay below this, so that no product in a kernel leaves 64 bits."""

_MOST_ROUNDS = 1 << 14

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator]
def _bernoulli(n: int, d: int, source: Bytes, at: Integers) -> bool:
    """Bernoulli(n/d) for 0 ≤ n ≤ d."""
    while at[0] < source.size:
        n <<= 8
        digit = n // d
        n -= digit * d
        byte = np.int64(source[at[0]])
        at[0] += 1
        if byte != digit:
            return byte < digit  # type: ignore[no-any-return]
    at[0] = source.size + 1
    return False


@njit(cache=True)  # type: ignore[untyped-decorator]
def _below(n: int, source: Bytes, at: Integers) -> int:
    """A uniform integer of {0, …, n − 1}: the least number of bits, drawn again while they are too large."""
    mask = n - 1
    width = 0
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> shift
    while mask >> (8 * width):
        width += 1
    while at[0] + width <= source.size:
        drawn = 0
        for _ in range(width):
            drawn = (drawn << 8) | np.int64(source[at[0]])
            at[0] += 1
        drawn &= mask
        if drawn < n:
            return drawn
    at[0] = source.size + 1
    return 0


@njit(cache=True)  # type: ignore[untyped-decorator]
def _exp_minus(n: int, d: int, source: Bytes, at: Integers) -> bool:
    """Bernoulli(e^{−n/d}) for 0 ≤ n ≤ d: the run of successes of Bernoulli((n/d)/j), j = 1, 2, …, is even in length.

    The run has length at least j with probability (n/d)^j/j!, and the alternating sum of these is e^{−n/d}.
    """
    length = 0
    while _bernoulli(n, d, source, at) and (length == 0 or _bernoulli(1, length + 1, source, at)):
        length += 1
    return length % 2 == 0


@njit(cache=True)  # type: ignore[untyped-decorator]
def fill_discrete_laplace(a: int, b: int, source: Bytes, out: Integers, done: int) -> tuple[int, int]:
    """Write integers with P(y) ∝ e^{−|y|·b/a} to out[done:] (Canonne, Kamath, Steinke 2020, Algorithm 2).

    x = u + a·v with P(x) ∝ e^{−x/a} on x ≥ 0: u uniform below a and kept with probability e^{−u/a}, v geometric with
    ratio e^{−1}. Then ⌊x/b⌋ is geometric with ratio e^{−b/a}; a fair sign, with the second zero rejected, makes it
    two-sided.

    Returns:
        How many of `out` are now written, and where in `source` the next sample begins; −1 there if it left 64 bits.
    """
    at = np.zeros(1, np.int64)
    while done < out.size:
        start = at[0]
        while at[0] <= source.size:
            u = _below(a, source, at)
            if not _exp_minus(u, a, source, at):
                continue
            v = 0
            while at[0] <= source.size and v < _MOST_ROUNDS and _exp_minus(1, 1, source, at):
                v += 1
            y = (u + a * v) // b
            negative = _below(2, source, at) == 1
            if v == _MOST_ROUNDS:
                return done, -1
            if negative and y == 0:
                continue
            if at[0] <= source.size:
                out[done] = -y if negative else y
                break
        if at[0] > source.size:
            return done, start
        done += 1
    return done, at[0]


@njit(cache=True)  # type: ignore[untyped-decorator]
def _exp_minus_remainder(k: int, n: int, p: int, source: Bytes, at: Integers) -> bool:
    """Bernoulli(e^{−x(2k+x)/2}) for x = n/p in [0, 1): k + 1 times Bernoulli(e^{−x·(2k+x)/(2k+2)}), as Karney does.

    Each is again the parity of a run, whose j-th step succeeds with probability (1/j)·x·((2k+x)/(2k+2)); the last
    factor is a uniform choice among 2k + 2 of which 2k say yes, one says no and one asks Bernoulli(x).
    """
    for _ in range(k + 1):
        length = 0
        while _bernoulli(n, p, source, at):
            choice = _below(2 * k + 2, source, at)
            if choice > 2 * k or (choice == 2 * k and not _bernoulli(n, p, source, at)):
                break
            if length > 0 and not _bernoulli(1, length + 1, source, at):
                break
            length += 1
        if length % 2 == 1 or at[0] > source.size:
            return False
    return True


@njit(cache=True)  # type: ignore[untyped-decorator]
def fill_discrete_gaussian(p: int, q: int, source: Bytes, out: Integers, done: int) -> tuple[int, int]:
    """Write integers with P(i) ∝ e^{−i²/2σ²}, σ = p/q, to out[done:] (Karney 2016, Algorithm D, mean 0).

    Each i ≥ 0 is (k + x)·σ for one integer k and one x in [0, 1), and
    e^{−i²/2σ²} = e^{−k²/2}·e^{−x(2k+x)/2}. So: k ≥ 0 with weight e^{−k/2}·e^{−k(k−1)/2}, from coins of e^{−1/2}; then
    one of the ⌈σ⌉ integers from ⌈kσ⌉ on, rejected if it is (k+1)σ or more; then a coin for the second factor. A fair
    sign follows, with the second zero rejected. x is a fraction with denominator p, so p is the largest denominator.

    Returns:
        How many of `out` are now written, and where in `source` the next sample begins; −1 there if it left 64 bits.
    """
    at = np.zeros(1, np.int64)
    choices = (p + q - 1) // q
    while done < out.size:
        start = at[0]
        while at[0] <= source.size:
            k = 0
            while at[0] <= source.size and k < _MOST_ROUNDS and _exp_minus(1, 2, source, at):
                k += 1
            if k == _MOST_ROUNDS:
                return done, -1
            keep = True
            for _ in range(k * (k - 1)):
                if not _exp_minus(1, 2, source, at):
                    keep = False
                    break
            if not keep:
                continue
            i = -(-k * p // q) + _below(choices, source, at)
            n = i * q - k * p
            if n >= p:
                continue
            negative = _below(2, source, at) == 1
            if negative and i == 0:
                continue
            if _exp_minus_remainder(k, n, p, source, at) and at[0] <= source.size:
                out[done] = -i if negative else i
                break
        if at[0] > source.size:
            return done, start
        done += 1
    return done, at[0]
