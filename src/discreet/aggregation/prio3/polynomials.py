"""Polynomials in the Lagrange basis: their values at the powers of a root of unity, and the NTT."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.aggregation.prio3.elements import add, load, mul, store, sub
from discreet.aggregation.prio3.fields import Field

Words = NDArray[np.uint64]


class Domain(NamedTuple):
    """The n powers of the principal n-th root of unity, in both directions, with 1/n."""

    roots: Words
    inverse_roots: Words
    inverse_size: Words


@lru_cache(maxsize=64)
def domain(field: Field, size: int) -> Domain:
    """The domain of `size` points, a power of two."""
    root = field.nth_root(size)
    one = field.from_ints([1])
    return Domain(
        powers(one, field.from_ints([root]), size),
        powers(one, field.from_ints([pow(root, -1, field.modulus)]), size),
        field.from_ints([pow(size, -1, field.modulus)]),
    )


@lru_cache(maxsize=64)
def extension(field: Field, known: int, size: int) -> Words:
    """The matrix that gives a polynomial's last values from its first.

    A polynomial of degree below `known` is fixed by its values at the first `known` of `size` points. Row k of the
    result, times these, is its value at point known + k. Where one value is missing, the highest coefficient, which is
    Σ vᵢ·wⁱ/n, is zero: vₙ₋₁ = −Σ vᵢ·wⁱ⁺¹.
    """
    if size - known == 1:
        return field.sub(field.zeros(known), domain(field, size).roots[1:])[None]
    return _extension(domain(field, size).roots, known, field.from_ints([1, field.modulus - 2]))


def next_power_of_2(number: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()


@njit(cache=True, nogil=True)
def powers(one: Words, base: Words, count: int) -> Words:
    """The powers of `base` from the zeroth on; both are vectors of one element."""
    out = np.empty((count, *base.shape[1:]), np.uint64)
    power = load(one, 0)
    for place in range(count):
        store(out, place, power)
        power = mul(power, load(base, 0))
    return out


@njit(cache=True, nogil=True)
def ntt(values: Words, roots: Words) -> None:
    """From coefficients to the values at `roots`, in place; with the inverse roots n times the way back."""
    size = len(roots)
    reverse = 0
    for place in range(1, size):
        bit = size >> 1
        while reverse & bit:
            reverse ^= bit
            bit >>= 1
        reverse |= bit
        if place < reverse:
            kept = load(values, place)
            store(values, place, load(values, reverse))
            store(values, reverse, kept)
    half = 1
    while half < size:
        stride = size // (2 * half)
        for offset in range(half):
            root = load(roots, offset * stride)
            for place in range(offset, size, 2 * half):
                even, odd = load(values, place), mul(load(values, place + half), root)
                store(values, place, add(even, odd))
                store(values, place + half, sub(even, odd))
        half *= 2


@njit(cache=True, nogil=True)
def interpolate(values: Words, inverse_roots: Words, inverse_size: Words) -> None:
    """From the values at the roots back to coefficients, in place."""
    ntt(values, inverse_roots)
    scale = load(inverse_size, 0)
    for place in range(len(inverse_roots)):
        store(values, place, mul(load(values, place), scale))


@njit(cache=True, nogil=True)
def lagrange(roots: Words, inverse_size: Words, point: Words, out: Words) -> bool:
    """Fill `out` with the weights of the values at `roots` in the value at `point`; False if that is a root.

    The i-th weight is xᵢ/n·Π(t − xₖ) over k ≠ i.
    """
    size = len(roots)
    t = load(point, 0)
    product = load(roots, 0)  # one
    for place in range(size):
        store(out, place, product)
        product = mul(product, sub(t, load(roots, place)))
    store(out, 0, mul(load(out, 0), load(inverse_size, 0)))
    after = load(inverse_size, 0)
    for place in range(size - 1, 0, -1):
        store(out, place, mul(load(out, place), mul(after, load(roots, place))))
        after = mul(after, sub(t, load(roots, place)))
    store(out, 0, after)
    return bool(product != sub(product, product))


@njit(cache=True, nogil=True)
def _extension(roots: Words, known: int, one_and_order: Words) -> Words:
    """Lagrange's formula with inverses by Fermat; of public constants only."""
    size = len(roots)
    out = np.empty((size - known, known, *roots.shape[1:]), np.uint64)
    one = load(one_and_order, 0)
    for place in range(known):
        divisor = one
        for other in range(known):
            if other != place:
                divisor = mul(divisor, sub(load(roots, place), load(roots, other)))
        inverse = one
        for word in range(one_and_order[1:].size - 1, -1, -1):
            for bit in range(63, -1, -1):
                inverse = mul(inverse, inverse)
                if (one_and_order[1:].ravel()[word] >> np.uint64(bit)) & np.uint64(1):
                    inverse = mul(inverse, divisor)
        for row in range(size - known):
            product = inverse
            for other in range(known):
                if other != place:
                    product = mul(product, sub(load(roots, known + row), load(roots, other)))
            store(out[row], place, product)
    return out
