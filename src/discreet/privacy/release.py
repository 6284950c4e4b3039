"""What leaves a device: a payload with its guarantee, and the one door through which it goes.

`seal` is that door. With `SecureNoise` it makes a `Release`, which can be written to bytes; with `SimulatedNoise` a
`SimulatedRelease`, which cannot. There is no other way to make a `Release`, except to read one from bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise
from discreet.privacy.release_format import decode, encode

_DOOR = object()


@dataclass(frozen=True, eq=False)
class LatticePayload:
    """Integers times a step: all that a release may carry. A choice or a set of choices has step 1."""

    integers: NDArray[np.int64]
    step: float = 1.0

    @property
    def values(self) -> NDArray[np.float64]:
        """The released numbers."""
        return np.asarray(self.integers * self.step, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class FloatPayload:
    """Floating-point numbers, which exist in simulation only."""

    values: NDArray[np.float64]


Payload = LatticePayload | FloatPayload


@dataclass(frozen=True, eq=False)
class SimulatedRelease:
    """What a release would have carried. Its randomness came from a seed, so it has no way to be sent."""

    payload: Payload
    guarantee: Guarantee

    @property
    def values(self) -> NDArray[np.float64]:
        """The numbers."""
        return self.payload.values


class Release:
    """A payload, made with secure exact noise, together with its guarantee."""

    __slots__ = ("guarantee", "payload")

    payload: LatticePayload
    guarantee: Guarantee

    def __init__(self, payload: LatticePayload, guarantee: Guarantee, *, door: object = None) -> None:
        if door is not _DOOR:
            raise TypeError("a Release is made by a mechanism with SecureNoise, or read from bytes")
        integers = payload.integers.copy()
        integers.flags.writeable = False
        object.__setattr__(self, "payload", LatticePayload(integers, payload.step))
        object.__setattr__(self, "guarantee", guarantee)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Release cannot be changed")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __reduce__(self) -> tuple[Callable[[bytes], Release], tuple[bytes]]:
        return Release.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"Release({len(self.payload.integers)} values; {self.guarantee})"

    @property
    def values(self) -> NDArray[np.float64]:
        """The released numbers."""
        return self.payload.values

    def to_bytes(self) -> bytes:
        """The compact form in which it travels (see `release_format`)."""
        return encode(self.payload.integers, self.payload.step, self.guarantee)

    @classmethod
    def from_bytes(cls, data: bytes) -> Release:
        """The inverse of `to_bytes`.

        Raises:
            DiscreetError: if the bytes are not a release, or are damaged.
        """
        integers, step, guarantee = decode(data)
        return cls(LatticePayload(integers, step), guarantee, door=_DOOR)


@overload
def seal(payload: Payload, guarantee: Guarantee, noise: SecureNoise) -> Release: ...
@overload
def seal(payload: Payload, guarantee: Guarantee, noise: SimulatedNoise) -> SimulatedRelease: ...
@overload
def seal(payload: Payload, guarantee: Guarantee, noise: Noise) -> Release | SimulatedRelease: ...
def seal(payload: Payload, guarantee: Guarantee, noise: Noise) -> Release | SimulatedRelease:
    """Join a payload with its guarantee, as the kind of release that `noise`, which made it, allows."""
    if isinstance(noise, SimulatedNoise):
        return SimulatedRelease(payload, guarantee)
    if type(noise) is not SecureNoise:
        raise TypeError(f"only SecureNoise makes a Release, not {type(noise).__name__}")
    if not isinstance(payload, LatticePayload):
        raise TypeError("floating-point noise betrays the value under it and cannot be released; use a lattice")
    return Release(payload, guarantee, door=_DOOR)


def simulated_only(noise: Noise) -> SimulatedNoise:
    """`noise` if it is simulated; a refusal otherwise, before anything is sampled."""
    if not isinstance(noise, SimulatedNoise):
        raise TypeError("this mechanism uses floating-point noise and runs in simulation only; use a lattice mechanism")
    return noise
