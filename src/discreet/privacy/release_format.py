"""Releases as bytes: version 1 of a small self-describing format (all numbers little-endian).

    offset  size  field
    0       2     "Dr"
    2       1     format version, 1
    3       5     unit, adjacency, adversary, scope, status: one byte each, the position in its enumeration
    8       24    ε, δ and the claimed ε (NaN if there is none), float64 each
    32      2     mechanism version
    34      1     length n of the mechanism's name
    35      n     the name, UTF-8
    …       8     step, float64
    …       1     bytes per integer: 1, 2, 4 or 8
    …       4     number of integers
    …       …     the integers, two's complement
    end     4     CRC-32 of everything before

A release of 12 topics takes about 80 bytes. New members are only ever appended to the enumerations.
"""

from __future__ import annotations

import math
import struct
import zlib
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.protocol import versions

_MAGIC = b"Dr"
_HEAD = struct.Struct("<2sB5B3dHB")
_SHAPE = struct.Struct("<dBI")
_CHECK = struct.Struct("<I")
_KINDS: tuple[type[StrEnum], ...] = (Unit, Adjacency, Adversary, Scope, Status)
_WIDTHS = {1: "<i1", 2: "<i2", 4: "<i4", 8: "<i8"}


def encode(integers: NDArray[np.int64], step: float, guarantee: Guarantee) -> bytes:
    """The bytes of a release."""
    g = guarantee
    fields = (g.unit, g.adjacency, g.adversary, g.scope, g.status)
    places = [list(kind).index(field) for kind, field in zip(_KINDS, fields, strict=True)]
    name = g.mechanism.encode()
    claim = math.nan if g.claimed_epsilon is None else g.claimed_epsilon
    head = _HEAD.pack(_MAGIC, versions.RELEASE, *places, g.epsilon, g.delta, claim, g.version, len(name))
    width = _width(integers)
    shape = _SHAPE.pack(step, width, len(integers))
    body = head + name + shape + integers.astype(_WIDTHS[width]).tobytes()
    return body + _CHECK.pack(zlib.crc32(body))


def decode(data: bytes) -> tuple[NDArray[np.int64], float, Guarantee]:
    """The integers, step and guarantee in `data`, or a DiscreetError if it is not exactly one intact release."""
    if len(data) < 3 or data[:2] != _MAGIC:
        raise DiscreetError("these bytes are not a release")
    if data[2] != versions.RELEASE:
        raise DiscreetError(
            f"release format {data[2]} is not known here; this version of Discreet reads {versions.RELEASE}"
        )
    try:
        return _decode(data)
    except (struct.error, ValueError, KeyError, IndexError) as error:
        raise DiscreetError(f"this release is damaged: {error}") from error


def _decode(data: bytes) -> tuple[NDArray[np.int64], float, Guarantee]:
    body, check = data[: -_CHECK.size], data[-_CHECK.size :]
    if _CHECK.unpack(check)[0] != zlib.crc32(body):
        raise ValueError("its checksum does not match")
    _, _, *places, epsilon, delta, claim, version, length = _HEAD.unpack_from(body)
    name = body[_HEAD.size : _HEAD.size + length]
    step, width, count = _SHAPE.unpack_from(body, _HEAD.size + length)
    start = _HEAD.size + length + _SHAPE.size
    if len(body) != start + width * count:
        raise ValueError("its length does not match its contents")
    if not (math.isfinite(step) and step > 0):
        raise ValueError("its step is not a number above 0")
    unit, adjacency, adversary, scope, status = (list(kind)[place] for kind, place in zip(_KINDS, places, strict=True))
    guarantee = Guarantee(
        epsilon=epsilon,
        delta=delta,
        unit=Unit(unit),
        adjacency=Adjacency(adjacency),
        adversary=Adversary(adversary),
        scope=Scope(scope),
        status=Status(status),
        mechanism=name.decode(),
        version=version,
        claimed_epsilon=None if math.isnan(claim) else claim,
    )
    return np.frombuffer(body, _WIDTHS[width], count, start).astype(np.int64), step, guarantee


def _width(integers: NDArray[np.int64]) -> int:
    if not len(integers):
        return 1
    low, high = int(integers.min()), int(integers.max())
    return next(width for width in _WIDTHS if -(1 << 8 * width - 1) <= low and high < 1 << 8 * width - 1)
