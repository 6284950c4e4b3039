"""The exact sampler of discrete noise: compares random bytes with digits of probabilities, and does nothing else.

"Is a uniform real U below the number x?" is decided by comparing their digits in base 256, one random byte after the
other, until two differ: exactly with probability x, whatever x is, and with 1.004 bytes on average. The digits of
irrational x are rounded down in a table of finite length (`noise_tables`); should all of them agree with the random
bytes, the sampler asks for a longer table. No floating-point number takes part.

When a sample needs more bytes or digits than there are, the kernel gives back where in the source that sample began,
and the caller runs it again with the same bytes and more behind them. So the sample is continued and not drawn again,
which would favour samples that need few bytes.

numba compiles the sampler where it is installed (the extra `train`). Without it the same functions run as Python: the
same noise from the same bytes, a few hundred times slower, which is enough for one device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

DONE, MORE_BYTES, MORE_DIGITS = 0, 1, 2

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Function = TypeVar("Function", bound=Callable[..., object])


def _compiled(function: Function) -> Function:
    try:
        from numba import njit
    except ModuleNotFoundError:
        return function
    return cast(Function, njit(cache=True, error_model="numpy")(function))


@_compiled
def _below_digits(digits: Bytes, source: Bytes, state: Integers) -> bool:
    """Whether a fresh uniform real is below the number with these digits."""
    for digit in digits:
        if state[0] >= source.size:
            state[1] = MORE_BYTES
            return False
        byte = source[state[0]]
        state[0] += 1
        if byte != digit:
            return bool(byte < digit)
    state[1] = MORE_DIGITS
    return False


@_compiled
def _bits(count: int, source: Bytes, state: Integers) -> int:
    """A uniform integer of `count` bits."""
    drawn = np.int64(0)
    for _ in range((count + 7) // 8):
        if state[0] >= source.size:
            state[1] = MORE_BYTES
            return 0
        drawn = (drawn << 8) | np.int64(source[state[0]])
        state[0] += 1
    return int(drawn & ((np.int64(1) << count) - 1))


@_compiled
def _below(bound: int, source: Bytes, state: Integers) -> int:
    """A uniform integer of {0, …, bound − 1}: as many bits as hold it, drawn again while they are too large."""
    count = 0
    while (bound - 1) >> count:
        count += 1
    drawn = bound
    while drawn >= bound and state[1] == DONE:
        drawn = _bits(count, source, state)
    return drawn


@_compiled
def _cell(cumulative: Bytes, guide: Integers, source: Bytes, state: Integers) -> int:
    """The first cell whose cumulative probability is above a fresh uniform real."""
    start = state[0]
    if start >= source.size:
        state[1] = MORE_BYTES
        return 0
    furthest = start + 1
    for cell in range(guide[source[start]], cumulative.shape[0]):
        equal = True
        for place in range(cumulative.shape[1]):
            if start + place >= source.size:
                state[1] = MORE_BYTES
                return 0
            furthest = max(furthest, start + place + 1)
            byte = source[start + place]
            digit = cumulative[cell, place]
            if byte < digit:
                state[0] = furthest
                return cell
            if byte > digit:
                equal = False
                break
        if equal:
            break
    state[1] = MORE_DIGITS
    return 0


@_compiled
def _coin(kappa: Bytes, c: int, j: int, bits: int, quadratic: bool, source: Bytes, state: Integers) -> bool:
    """Bernoulli(e^{−f·κ}) with f = j/w, or f = (j/w)·(2c + j/w)/(2c + 1) if `quadratic`; w = 2^bits.

    A run whose i-th step succeeds with probability f·κ/i has length at least i with probability (f·κ)^i/i!, and is
    even in length with the alternating sum of these, which is e^{−f·κ} (von Neumann). The factor (2c + j/w)/(2c + 1)
    is a uniform choice among 2c + 1, of which 2c say yes and one asks Bernoulli(j/w).
    """
    length = 0
    while _below_digits(kappa, source, state):
        if _bits(bits, source, state) >= j:
            break
        if quadratic and _below(2 * c + 1, source, state) == 2 * c and _bits(bits, source, state) >= j:
            break
        if length > 0 and _below(length + 1, source, state) > 0:
            break
        length += 1
    return length % 2 == 0


@_compiled
def fill(
    cumulative: Bytes,
    guide: Integers,
    kappa: Bytes,
    coins: Integers,
    bits: int,
    quadratic: bool,
    source: Bytes,
    out: Integers,
    done: int,
) -> tuple[int, int, int]:
    """Write noise to out[done:]: a cell, a place in it, the coins, and a fair sign, with the second zero rejected.

    Returns:
        How many of `out` are now written, where in `source` the next sample begins, and what is wanting (`DONE` if
        nothing).
    """
    state = np.zeros(2, np.int64)
    while done < out.size:
        start = state[0]
        while True:
            c = _cell(cumulative, guide, source, state)
            j = _bits(bits, source, state) if bits else 0
            keep = True
            if j > 0:
                for _ in range(coins[c]):
                    keep = keep and _coin(kappa[c], c, j, bits, quadratic, source, state)
            if not keep and state[1] == DONE:
                continue
            size = (np.int64(c) << bits) + j
            negative = _bits(1, source, state) == 1
            if state[1] != DONE:
                return done, start, state[1]
            if not (negative and size == 0):
                out[done] = -size if negative else size
                break
        done += 1
    return done, state[0], DONE
