"""The validity circuits of Prio3: what a measurement may be, how it is encoded, and what is summed.

A circuit feeds its encoded measurement to one gadget, the only part that is not affine, and checks that affine forms
of the gadget's outputs and of the measurement are zero. How the gadget is fed is the circuit's wiring.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.prio3.fields import FIELD64, FIELD128, Field
from discreet.aggregation.prio3.polynomials import next_power_of_2
from discreet.errors import DiscreetError

Words = NDArray[np.uint64]


class Wiring(IntEnum):
    """How a gadget is fed, and what it computes."""

    SQUARE = 0
    """Called once, with the measurement twice: x·x."""
    EACH = 1
    """Called for each element: a polynomial of it."""
    CHUNKS = 2
    """Called for each chunk: Σ rʲ·xⱼ·(xⱼ − 1)."""


class Circuit(ABC):
    """A validity circuit over a field."""

    field: Field
    wiring: Wiring
    chunk_length: int = 1
    polynomial: tuple[int, ...] = ()
    """The gadget's coefficients, the constant first; empty where it sums products of pairs of wires."""
    affine_weights: tuple[int, ...] = ()
    """A second output, if there is one: these weights times the measurement, less `affine_constant`."""
    affine_constant: int = 0

    @property
    @abstractmethod
    def meas_len(self) -> int:
        """Elements of an encoded measurement."""

    @property
    @abstractmethod
    def output_len(self) -> int:
        """Elements that are summed."""

    @property
    def calls(self) -> int:
        """How often the gadget is called."""
        return -(-self.meas_len // self.chunk_length)

    @property
    def joint_rand_len(self) -> int:
        """Random elements on which client and aggregators agree."""
        return self.calls if self.wiring == Wiring.CHUNKS else 0

    @property
    def eval_output_len(self) -> int:
        """Outputs that must be zero."""
        return self.calls if self.wiring == Wiring.EACH else 1 + bool(self.affine_weights)

    @property
    def arity(self) -> int:
        """Input wires of the gadget; as many random elements blind a proof."""
        return 1 if self.wiring == Wiring.EACH else 2 * self.chunk_length

    @cached_property
    def wire_poly_len(self) -> int:
        """Values of each wire's polynomial."""
        return next_power_of_2(1 + self.calls)

    @cached_property
    def gadget_poly_len(self) -> int:
        """Values of the gadget's polynomial."""
        degree = len(self.polynomial) - 1 if self.polynomial else 2
        return degree * (self.wire_poly_len - 1) + 1

    @property
    def query_rand_len(self) -> int:
        """Random elements of a query."""
        return 1 + (self.eval_output_len if self.eval_output_len > 1 else 0)

    @property
    def proof_len(self) -> int:
        """Elements of a proof."""
        return self.arity + self.gadget_poly_len

    @property
    def verifier_len(self) -> int:
        """Elements of a verifier."""
        return self.arity + 2

    @abstractmethod
    def encode(self, measurement: Any) -> Words:
        """The encoded measurement; an error, without the measurement in it, if that is not valid."""

    def truncate(self, meas: Words) -> Words:
        """What is summed of each row's encoded measurement (share)."""
        return meas

    @abstractmethod
    def decode(self, output: Words, num_measurements: int) -> Any:
        """The result from a sum of outputs."""


@dataclass(frozen=True)
class Count(Circuit):
    """How many measurements are 1, the others being 0."""

    field: Field = FIELD64
    wiring = Wiring.SQUARE
    meas_len = 1
    output_len = 1

    def encode(self, measurement: int) -> Words:
        """0 or 1 as it is."""
        return self.field.from_small(_whole([measurement], 1, 1).astype(np.uint64))

    def decode(self, output: Words, num_measurements: int) -> int:
        """The count."""
        return self.field.to_ints(output)[0]


@dataclass(frozen=True)
class HigherDegree(Circuit):
    """The sum of measurements 0, 1 and 2, by a gadget of degree three; it is there to test such gadgets."""

    field: Field = FIELD64
    wiring = Wiring.EACH
    polynomial = (0, 2, -3, 1)
    meas_len = 1
    output_len = 1

    def encode(self, measurement: int) -> Words:
        """The number as it is."""
        return self.field.from_small(_whole([measurement], 2, 1).astype(np.uint64))

    def decode(self, output: Words, num_measurements: int) -> int:
        """The sum."""
        return self.field.to_ints(output)[0]


@dataclass(frozen=True)
class Sum(Circuit):
    """The sum of integers from 0 to `max_measurement`."""

    max_measurement: int
    field: Field = FIELD64
    wiring = Wiring.EACH
    polynomial = (0, -1, 1)
    output_len = 1

    def __post_init__(self) -> None:
        _check("max_measurement", self.max_measurement, self.field.modulus - 1)

    @property
    def meas_len(self) -> int:
        """One element a bit."""
        return self.max_measurement.bit_length()

    def encode(self, measurement: int) -> Words:
        """The measurement's bits."""
        return self.field.from_small(range_checked([measurement], self.max_measurement, 1).ravel())

    def truncate(self, meas: Words) -> Words:
        """The number again."""
        return self.field.weighted(meas.reshape(len(meas), 1, *meas.shape[1:]), bit_weights(self.max_measurement))

    def decode(self, output: Words, num_measurements: int) -> int:
        """The sum."""
        return self.field.to_ints(output)[0]


@dataclass(frozen=True)
class SumVec(Circuit):
    """The sum of vectors of `length` integers from 0 to `max_measurement`."""

    length: int
    max_measurement: int
    chunk_length: int
    field: Field = FIELD128
    wiring = Wiring.CHUNKS

    def __post_init__(self) -> None:
        _check("length", self.length)
        _check("max_measurement", self.max_measurement, self.field.modulus - 1)
        _check("chunk_length", self.chunk_length)

    @property
    def meas_len(self) -> int:
        """One element a bit."""
        return self.length * self.max_measurement.bit_length()

    @property
    def output_len(self) -> int:
        """One element a number."""
        return self.length

    def encode(self, measurement: Sequence[int]) -> Words:
        """All numbers' bits."""
        return self.field.from_small(range_checked(measurement, self.max_measurement, self.length).ravel())

    def truncate(self, meas: Words) -> Words:
        """The numbers again."""
        bits = meas.reshape(len(meas), self.length, -1, *self.field.element)
        return self.field.weighted(bits, bit_weights(self.max_measurement))

    def decode(self, output: Words, num_measurements: int) -> list[int]:
        """The sums."""
        return self.field.to_ints(output)


@dataclass(frozen=True)
class Histogram(Circuit):
    """How many measurements fall into each of `length` buckets."""

    length: int
    chunk_length: int
    field: Field = FIELD128
    wiring = Wiring.CHUNKS
    affine_constant = 1

    def __post_init__(self) -> None:
        _check("length", self.length)
        _check("chunk_length", self.chunk_length)

    @cached_property
    def affine_weights(self) -> tuple[int, ...]:  # type: ignore[override]
        """The buckets sum to 1."""
        return (1,) * self.length

    @property
    def meas_len(self) -> int:
        """One element a bucket."""
        return self.length

    @property
    def output_len(self) -> int:
        """One element a bucket."""
        return self.length

    def encode(self, measurement: int) -> Words:
        """1 in the bucket, 0 elsewhere."""
        bucket = _whole([measurement], self.length - 1, 1)
        return self.field.from_small((np.arange(self.length) == bucket).astype(np.uint64))

    def decode(self, output: Words, num_measurements: int) -> list[int]:
        """The counts."""
        return self.field.to_ints(output)


@dataclass(frozen=True)
class MultihotCountVec(Circuit):
    """The sums of vectors of `length` zeros and ones, at most `max_weight` of them ones."""

    length: int
    max_weight: int
    chunk_length: int
    field: Field = FIELD128
    wiring = Wiring.CHUNKS

    def __post_init__(self) -> None:
        _check("length", self.length, self.field.modulus - 1)
        _check("max_weight", self.max_weight, self.length)
        _check("chunk_length", self.chunk_length)

    @cached_property
    def affine_weights(self) -> tuple[int, ...]:  # type: ignore[override]
        """The ones are as many as the measurement says."""
        return (1,) * self.length + tuple(-weight for weight in bit_weights(self.max_weight))

    @property
    def meas_len(self) -> int:
        """One element for each entry, and for each bit of their sum."""
        return self.length + self.max_weight.bit_length()

    @property
    def output_len(self) -> int:
        """One element for each entry."""
        return self.length

    def encode(self, measurement: Sequence[bool]) -> Words:
        """The entries, and the bits of their sum."""
        entries = _whole(measurement, 1, self.length)
        weight = range_checked([int(entries.sum())], self.max_weight, 1).ravel()
        return self.field.from_small(np.concatenate([entries.astype(np.uint64), weight]))

    def truncate(self, meas: Words) -> Words:
        """The entries."""
        return np.ascontiguousarray(meas[:, : self.length])

    def decode(self, output: Words, num_measurements: int) -> list[int]:
        """The sums."""
        return self.field.to_ints(output)


def best_chunk_length(meas_len: int) -> int:
    """The chunk length that makes the proof of `meas_len` checked elements shortest."""
    lengths = {-(-meas_len // ((1 << power) - 1)) for power in range(1, meas_len.bit_length() + 1)}
    return min(sorted(lengths), key=lambda chunk: chunk + next_power_of_2(1 - (-meas_len // chunk)))


def bit_weights(largest: int) -> tuple[int, ...]:
    """What each bit is worth: powers of two, but the last so much that all together make `largest`."""
    powers = [1 << place for place in range(largest.bit_length() - 1)]
    return (*powers, largest - sum(powers))


def range_checked(values: Any, largest: int, length: int) -> Words:
    """The bits (length, bits) of integers from 0 to `largest`, by the weights above."""
    numbers = _whole(values, largest, length)
    *powers, last_weight = bit_weights(largest)
    last = (numbers > sum(powers)).astype(numbers.dtype)
    rest = numbers - last * last_weight
    bits = (rest[:, None] >> np.arange(len(powers)).astype(numbers.dtype)) & 1
    return np.concatenate([bits, last[:, None]], axis=1).astype(np.uint64)


def _whole(values: Any, largest: int, length: int) -> NDArray[Any]:
    """`length` integers from 0 to `largest`: int64 where that is wide enough, else Python's own."""
    try:
        numbers = np.asarray(values, object if largest >= 2**63 else None)
    except ValueError:  # rows of different lengths
        numbers = np.empty(0)
    integers = numbers.dtype.kind in "bui" or all(isinstance(value, (int, np.integer)) for value in numbers.flat)
    if numbers.shape != (length,) or not integers or np.any((numbers < 0) | (numbers > largest)):
        raise DiscreetError(f"a measurement has integers from 0 to {largest}, {length} of them")
    return numbers if largest >= 2**63 else numbers.astype(np.int64)


def _check(name: str, value: Any, largest: int | None = None) -> None:
    if not isinstance(value, int) or value < 1 or (largest is not None and value > largest):
        raise DiscreetError(f"{name} is an integer from 1" + (f" to {largest}" if largest is not None else " on"))
