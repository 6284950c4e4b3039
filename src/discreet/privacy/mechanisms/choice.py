"""Whole-number weights for random choices."""

from __future__ import annotations

from decimal import MAX_EMAX, ROUND_FLOOR, Context, Decimal
from functools import lru_cache

ONE = 1 << 40
"""The weight that stands for 1."""


@lru_cache(maxsize=1024)
def exp_weight(exponent: float) -> int:
    """⌊e^exponent·2⁴⁰⌋ for an exponent ≥ 0, or one less where the product is within 10⁻⁶ above a whole number.

    Never more, and never below 2⁴⁰. The weights of two choices, this and 2⁴⁰, then have a ratio from 1 to e^exponent:
    rounding is towards privacy.
    """
    context = Context(prec=40 + int(0.44 * abs(exponent)), Emax=MAX_EMAX, rounding=ROUND_FLOOR)
    product = context.multiply(context.exp(Decimal(exponent)), Decimal(ONE))
    return max(ONE, int(context.subtract(product, Decimal("1e-6"))))
