"""Digits of the probabilities that the noise kernel compares with random bytes, as many as anybody asks for.

Both kinds of noise are cut into cells of w = 2^bits integers: |y| = c·w + j with j from 0 to w − 1. Then

    discrete Laplace    e^{−|y|/t}    = e^{−cw/t}     · e^{−(j/w)·κ},                 κ = w/t
    discrete Gaussian   e^{−y²/2σ²}  = e^{−(cw)²/2σ²} · e^{−(j/w)·((2c + j/w)/(2c+1))·κ},  κ = (2c+1)·w²/2σ²

so a cell is drawn by its first factor, j uniformly, and the second factor is a coin. w is at most a quarter of t or σ,
so that the coin mostly says yes; below 8 it is 1, every cell is one integer, and there is no coin.

A table holds the first digits in base 256, rounded down, of the cells' cumulative probabilities and of κ. They are
certified: computed with error bounds, and again with more precision if the bounds leave a digit open.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MAX_SCALE = 1 << 50
MIN_SCALE = Fraction(1, 1 << 20)


@dataclass(frozen=True, eq=False)
class DigitTables:
    """What the kernel needs to draw one kind of noise, to a certain number of digits."""

    cumulative: NDArray[np.uint8]
    """One row per cell: the digits of the probability of this cell or one before it."""
    guide: NDArray[np.int64]
    """By first byte: the first cell whose cumulative digits do not begin below it."""
    kappa: NDArray[np.uint8]
    """One row per cell: the digits of κ divided by the cell's number of coins."""
    coins: NDArray[np.int64]
    """One per cell: how many coins e^{−…κ/coins} must all say yes, so that each exponent is below 1."""
    bits: int
    quadratic: bool


@lru_cache(maxsize=1024)
def laplace_tables(scale: Fraction, digits: int) -> DigitTables:
    """Tables of P(y) ∝ e^{−|y|/scale}."""
    bits = _cell_bits(scale)
    rate = Fraction(1 << bits) / scale
    cumulative = _cumulative(rate, 1, digits)
    kappa = np.tile(_digits(rate, digits), (len(cumulative), 1)) if bits else np.zeros_like(cumulative)
    return DigitTables(cumulative, _guide(cumulative), kappa, np.ones(len(cumulative), np.int64), bits, False)


@lru_cache(maxsize=1024)
def gaussian_tables(sigma: Fraction, digits: int) -> DigitTables:
    """Tables of P(y) ∝ e^{−y²/2·sigma²}."""
    bits = _cell_bits(sigma)
    rate = (Fraction(1 << bits) / sigma) ** 2 / 2
    cumulative = _cumulative(rate, 2, digits)
    kappa = [(2 * c + 1) * rate for c in range(len(cumulative))]
    coins = [int(k) + 1 for k in kappa]
    rows = [_digits(k / n, digits) for k, n in zip(kappa, coins, strict=True)]
    return DigitTables(cumulative, _guide(cumulative), np.array(rows), np.array(coins, np.int64), bits, True)


def _cell_bits(scale: Fraction) -> int:
    return 0 if scale < 8 else int(scale / 4).bit_length() - 1


def _cumulative(rate: Fraction, power: int, digits: int) -> NDArray[np.uint8]:
    """Digits of Σ_{c' ≤ c} e^{−rate·c'^power} / Σ_{all c'}, for all c for which they are not yet all 255."""
    whole = 256**digits
    precision = int(2.41 * digits) + 20
    while True:
        weights = _weights(rate, power, precision)
        total = sum(weights)
        slack = max(1, 10**12 * total // 10**precision)
        floors, running = [], 0
        for weight in weights:
            running += weight
            low = (running - slack) * whole // (total + slack)
            high = min(whole - 1, (running + slack) * whole // (total - slack))
            if low != high:
                break
            floors.append(low)
            if low == whole - 1:
                break
        if floors and (floors[-1] == whole - 1 or len(floors) == len(weights)):
            return np.array([list(low.to_bytes(digits, "big")) for low in floors], np.uint8)
        precision *= 2


def _weights(rate: Fraction, power: int, precision: int) -> list[int]:
    """e^{−rate·c^power}·10^precision, c = 0, 1, …, to the last that is not below 1, each within 10⁶ of the truth.

    `Decimal.exp` is correctly rounded, and ten more digits than `precision` are carried: the exponent, at most
    2.4·precision, and its exponential then err by less than one part in 10^precision. What the sum leaves out is a
    tail whose terms fall by a factor e^{−1/8} or faster, less than ten times the last.
    """
    context = Context(prec=precision + 10, Emax=MAX_EMAX, Emin=MIN_EMIN)
    numerator, denominator = Decimal(rate.numerator), Decimal(rate.denominator)
    unit = Decimal(10) ** precision
    weights: list[int] = []
    while True:
        exponent = context.divide(context.multiply(numerator, Decimal(len(weights) ** power)), denominator)
        if exponent > Decimal("2.31") * precision:
            return weights
        weights.append(int(context.multiply(context.exp(exponent.copy_negate()), unit)))


def _digits(probability: Fraction, digits: int) -> list[int]:
    return list(int(probability * 256**digits).to_bytes(digits, "big"))


def _guide(cumulative: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.searchsorted(cumulative[:, 0], np.arange(256)).astype(np.int64)
