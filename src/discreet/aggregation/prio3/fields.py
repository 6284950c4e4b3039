"""The two fields of Prio3 and vectors over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.aggregation.prio3.elements import add, load, mul, store, sub
from discreet.errors import DiscreetError

Words = NDArray[np.uint64]
_WORD = 2**64 - 1


@dataclass(frozen=True)
class Field:
    """A prime field with roots of unity of order 2^order_bits.

    A vector of n elements is an array (n) of uint64 where an element is one word, and (n, 2), the low word first,
    where it is two. More axes may stand before.
    """

    name: str
    modulus: int
    words: int
    order_bits: int

    @property
    def encoded_size(self) -> int:
        """Bytes of an encoded element."""
        return 8 * self.words

    @property
    def element(self) -> tuple[int, ...]:
        """The axes of one element: none, or its words."""
        return () if self.words == 1 else (self.words,)

    def nth_root(self, n: int) -> int:
        """The principal n-th root of unity; n is a power of two."""
        generator = pow(7, self.modulus >> self.order_bits, self.modulus)
        return pow(generator, (1 << self.order_bits) // n, self.modulus)

    def zeros(self, *shape: int) -> Words:
        """Zeros."""
        return np.zeros((*shape, *self.element), np.uint64)

    def empty(self, *shape: int) -> Words:
        """Room for vectors."""
        return np.empty((*shape, *self.element), np.uint64)

    def from_ints(self, numbers: Iterable[int]) -> Words:
        """A vector of integers, each taken modulo the field's."""
        reduced = [number % self.modulus for number in numbers]
        encoded = b"".join(number.to_bytes(self.encoded_size, "little") for number in reduced)
        return np.frombuffer(encoded, "<u8").astype(np.uint64).reshape(len(reduced), *self.element)

    def from_small(self, numbers: NDArray[np.uint64]) -> Words:
        """Vectors of numbers below 2⁶⁴ − 2³² + 1, of any shape."""
        out = self.zeros(*numbers.shape)
        out.reshape(*numbers.shape, self.words)[..., 0] = numbers
        return out

    def to_ints(self, vector: Words) -> list[int]:
        """A vector as integers."""
        whole = np.ascontiguousarray(vector).reshape(-1, self.words).astype(object)
        return [int(number) for number in whole @ np.array([1 << (64 * word) for word in range(self.words)], object)]

    def encode_vec(self, vector: Words) -> bytes:
        """A vector as bytes."""
        return np.ascontiguousarray(vector).astype("<u8").tobytes()

    def decode_vec(self, encoded: bytes, length: int) -> Words:
        """A vector of `length` elements from bytes; an error if there are more or fewer, or one is not reduced."""
        if len(encoded) != length * self.encoded_size:
            raise DiscreetError(
                f"a vector of {length} elements has {length * self.encoded_size} bytes, not {len(encoded)}"
            )
        vector, valid = self.decode_rows(np.frombuffer(encoded, np.uint8).reshape(1, -1))
        if not valid[0]:
            raise DiscreetError(f"a vector has an element that is not below the modulus of {self.name}")
        return cast(Words, vector[0])

    def decode_rows(self, encoded: NDArray[np.uint8]) -> tuple[Words, NDArray[np.bool_]]:
        """One vector from each row of bytes, and whether all its elements are below the modulus."""
        rows = np.ascontiguousarray(encoded).view("<u8").astype(np.uint64, copy=False)
        words = rows.reshape(len(rows), -1, self.words)
        below = words[..., 0] < np.uint64(self.modulus & _WORD)
        for word in range(1, self.words):
            limit = np.uint64(self.modulus >> (64 * word) & _WORD)
            below = (words[..., word] < limit) | ((words[..., word] == limit) & below)
        return words.reshape(len(rows), -1, *self.element), np.all(below, axis=1)

    def encode_rows(self, vectors: Words) -> NDArray[np.uint8]:
        """The bytes of each row's vector."""
        return np.ascontiguousarray(vectors).astype("<u8", copy=False).reshape(len(vectors), -1).view(np.uint8)

    def add(self, a: Words, b: Words) -> Words:
        """The sum of two arrays of one shape."""
        return self._each(_added, a, b)

    def sub(self, a: Words, b: Words) -> Words:
        """The difference of two arrays of one shape."""
        return self._each(_subtracted, a, b)

    def mul(self, a: Words, b: Words) -> Words:
        """The product, element by element, of two arrays of one shape."""
        return self._each(_multiplied, a, b)

    def sum(self, vectors: Words) -> Words:
        """The sum over the first axis of (rows, n)."""
        return _summed(np.ascontiguousarray(vectors))

    def weighted(self, vectors: Words, weights: Sequence[int]) -> Words:
        """The sums (rows, n) of (rows, n, weights) along the last axis, each element times its weight."""
        return _weighted(np.ascontiguousarray(vectors), self.from_ints(weights))

    def _each(self, kernel: object, a: Words, b: Words) -> Words:
        if a.shape != b.shape:
            raise DiscreetError(f"vectors of shapes {a.shape} and {b.shape} do not go together")
        flat = -1, *self.element
        out = np.empty(a.shape, np.uint64)
        kernel(np.ascontiguousarray(a).reshape(flat), np.ascontiguousarray(b).reshape(flat), out.reshape(flat))  # type: ignore[operator]
        return out


FIELD64 = Field("Field64", 2**32 * 4294967295 + 1, words=1, order_bits=32)
FIELD128 = Field("Field128", 2**66 * 4611686018427387897 + 1, words=2, order_bits=66)


@njit(cache=True, nogil=True)
def _added(a: Words, b: Words, out: Words) -> None:
    for place in range(len(out)):
        store(out, place, add(load(a, place), load(b, place)))


@njit(cache=True, nogil=True)
def _subtracted(a: Words, b: Words, out: Words) -> None:
    for place in range(len(out)):
        store(out, place, sub(load(a, place), load(b, place)))


@njit(cache=True, nogil=True)
def _multiplied(a: Words, b: Words, out: Words) -> None:
    for place in range(len(out)):
        store(out, place, mul(load(a, place), load(b, place)))


@njit(cache=True, nogil=True)
def _summed(vectors: Words) -> Words:
    out = np.zeros_like(vectors[0]) if len(vectors) else np.zeros(vectors.shape[1:], np.uint64)
    for row in range(len(vectors)):
        for place in range(len(out)):
            store(out, place, add(load(out, place), load(vectors[row], place)))
    return out


@njit(cache=True, nogil=True)
def _weighted(vectors: Words, weights: Words) -> Words:
    out = np.zeros(vectors.shape[:2] + vectors.shape[3:], np.uint64)
    for row in range(len(vectors)):
        for place in range(vectors.shape[1]):
            total = load(out[row], place)
            for term in range(len(weights)):
                total = add(total, mul(load(vectors[row, place], term), load(weights, term)))
            store(out[row], place, total)
    return out
