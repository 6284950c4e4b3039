"""Arithmetic of single field elements, compiled.

A vector over Field64 is an array (n) of uint64; over Field128 it is (n, 2), the low word first. An element of the
first is one word, of the second a pair of words, always below the modulus. The functions here take either, so that
what is built on them is written once for both fields. Reductions use the moduli's form: 2⁶⁴ ≡ 2³² − 1 in Field64 and
2¹²⁸ ≡ 28·2⁶⁴ − 1 in Field128. No branch depends on a value.
"""

# ruff: noqa: ARG001 (an implementation is chosen by the types of arguments that the choice does not use)
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, register_jitable

Element = Any
Vector = Any

_P64 = np.uint64(2**64 - 2**32 + 1)
_LOW32 = np.uint64(2**32 - 1)
_SHIFT32 = np.uint64(32)
_TOP128 = np.uint64(2**64 - 28)
_ZERO, _ONE, _FOLD = np.uint64(0), np.uint64(1), np.uint64(28)


def _product_code(typing: Any, a: Any, b: Any) -> Any:
    pair: Any = types.UniTuple(types.uint64, 2)  # type: ignore[no-untyped-call]

    def code(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        high = builder.lshr(product, ir.Constant(wide, 64))
        return context.make_tuple(builder, pair, (builder.trunc(product, word), builder.trunc(high, word)))

    return pair(types.uint64, types.uint64), code


_product: Any = intrinsic(_product_code)
"""Both words of a product of two words, the low one first: one instruction of the processor."""


@register_jitable
def _reduced64(low: Any, high: Any) -> Any:
    upper, lower = high >> _SHIFT32, high & _LOW32
    value = low - upper
    value -= np.uint64(low < upper) * _LOW32
    added = value + lower * _LOW32
    added += np.uint64(added < value) * _LOW32
    return added - np.uint64(added >= _P64) * _P64


@register_jitable
def _folded(low: Any, high: Any, g0: Any, g1: Any) -> Any:
    """(low, high) + g·(28·2⁶⁴ − 1), which is congruent to the four words: two words, and what is above them."""
    p0, p1 = _product(g0, _FOLD)
    q1, p2 = _product(g1, _FOLD)
    p1 += q1
    p2 += np.uint64(p1 < q1)
    new_low = low - g0
    borrow = np.uint64(low < g0)
    sum_high = high + p0
    carry = np.uint64(sum_high < p0)
    less = sum_high - g1
    borrowed = np.uint64(sum_high < g1) + np.uint64(less < borrow)
    above = p1 + carry
    p2 += np.uint64(above < carry)
    p2 -= np.uint64(above < borrowed)
    return new_low, less - borrow, above - borrowed, p2


@register_jitable
def _below128(low: Any, high: Any) -> Any:
    """The residue of a value below twice the modulus and below 2¹²⁸."""
    least = np.uint64(low >= _ONE)
    over = np.uint64(high > _TOP128) | (np.uint64(high == _TOP128) & least)
    return low - over, high - over * _TOP128 - (over & (_ONE - least))


def load(vector: Vector, place: int) -> Element:
    """The element at a place."""
    raise NotImplementedError


def store(vector: Vector, place: int, element: Element) -> None:
    """Put an element at a place."""
    raise NotImplementedError


def add(a: Element, b: Element) -> Element:
    """The sum."""
    raise NotImplementedError


def sub(a: Element, b: Element) -> Element:
    """The difference."""
    raise NotImplementedError


def mul(a: Element, b: Element) -> Element:
    """The product."""
    raise NotImplementedError


@overload(load)
def _load(vector: Any, place: Any) -> Any:
    def one(vector: Any, place: Any) -> Any:
        return vector[place]

    def two(vector: Any, place: Any) -> Any:
        return vector[place, 0], vector[place, 1]

    return one if vector.ndim == 1 else two


@overload(store)
def _store(vector: Any, place: Any, element: Any) -> Any:
    def one(vector: Any, place: Any, element: Any) -> None:
        vector[place] = element

    def two(vector: Any, place: Any, element: Any) -> None:
        vector[place, 0] = element[0]
        vector[place, 1] = element[1]

    return one if vector.ndim == 1 else two


@overload(add)
def _add(a: Any, b: Any) -> Any:
    def one(a: Any, b: Any) -> Any:
        total = a + b
        return total - (np.uint64(total < a) | np.uint64(total >= _P64)) * _P64

    def two(a: Any, b: Any) -> Any:
        low = a[0] + b[0]
        carry = np.uint64(low < a[0])
        high = a[1] + b[1]
        over = np.uint64(high < a[1])
        high += carry
        over += np.uint64(high < carry)
        # Above 2¹²⁸ by less than the modulus: 2¹²⁸ ≡ 28·2⁶⁴ − 1, and the sum stays below the modulus.
        low, high, _, _ = _folded(low, high, over, _ZERO)
        return _below128(low, high)

    return one if isinstance(a, types.Integer) else two


@overload(sub)
def _sub(a: Any, b: Any) -> Any:
    def one(a: Any, b: Any) -> Any:
        return a - b + np.uint64(a < b) * _P64

    def two(a: Any, b: Any) -> Any:
        low = a[0] - b[0]
        borrow = np.uint64(a[0] < b[0])
        middle = a[1] - b[1]
        high = middle - borrow
        under = np.uint64(a[1] < b[1]) | np.uint64(middle < borrow)
        low += under
        return low, high + under * _TOP128 + (under & np.uint64(low == _ZERO))

    return one if isinstance(a, types.Integer) else two


@overload(mul)
def _mul(a: Any, b: Any) -> Any:
    def one(a: Any, b: Any) -> Any:
        low, high = _product(a, b)
        return _reduced64(low, high)

    def two(a: Any, b: Any) -> Any:
        r0, r1 = _product(a[0], b[0])
        m0, m1 = _product(a[0], b[1])
        n0, n1 = _product(a[1], b[0])
        r2, r3 = _product(a[1], b[1])
        r1 += m0
        carry = np.uint64(r1 < m0)
        r1 += n0
        carry += np.uint64(r1 < n0)
        m1 += carry
        over = np.uint64(m1 < carry)
        r2 += m1
        over += np.uint64(r2 < m1)
        r2 += n1
        over += np.uint64(r2 < n1)
        r3 += over
        # Above 2¹²⁸ stand 128, then 69, then 10 bits, then one, then nothing.
        r0, r1, r2, r3 = _folded(r0, r1, r2, r3)
        r0, r1, r2, r3 = _folded(r0, r1, r2, r3)
        r0, r1, r2, r3 = _folded(r0, r1, r2, r3)
        r0, r1, _, _ = _folded(r0, r1, r2, _ZERO)
        return _below128(r0, r1)

    return one if isinstance(a, types.Integer) else two
