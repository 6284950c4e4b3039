"""The bytes of messages: little-endian numbers, lists with their length before them, and a reader that trusts nothing.

Every message begins with

    offset  size  field
    0       2     "Ds"
    2       1     format version, 1
    3       1     kind of message
    4       32    context: the hash of the round's terms (first step) or of the session (later steps)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from discreet.aggregation.secure_sum.refusals import Duplicate, MalformedMessage
from discreet.protocol import versions

CONTEXT_BYTES = 32
MAX_ID = 2**32 - 1
_HEAD = struct.Struct("<2sBB32s")
_MAGIC = b"Ds"

Parcels = tuple[tuple[int, bytes], ...]
"""Something of fixed size for or from each of some clients, by ascending number."""


def head(kind: int, context: bytes) -> bytes:
    """What every message begins with."""
    return _HEAD.pack(_MAGIC, versions.SECURE_SUM, kind, context)


def number(value: int) -> bytes:
    """A number below 2³²."""
    return struct.pack("<I", value)


def numbers(values: Sequence[int]) -> bytes:
    """A list of numbers below 2³²."""
    return struct.pack(f"<I{len(values)}I", len(values), *values)


def lump(data: bytes) -> bytes:
    """Bytes of any length below 2³², with their length before them."""
    return number(len(data)) + data


def parcels(items: Parcels) -> bytes:
    """A list of parcels."""
    return number(len(items)) + b"".join(number(client) + data for client, data in items)


def check_ascending(clients: Iterable[int], what: str) -> None:
    """Raise Duplicate or MalformedMessage unless the numbers ascend and are in range: one set has one encoding."""
    last = -1
    for client in clients:
        if client == last:
            raise Duplicate(f"client {client} is named twice among the {what}")
        if not last < client <= MAX_ID:
            raise MalformedMessage(f"the {what} are not in ascending order")
        last = client


class ByteReader:
    """Takes a message's bytes apart, and refuses those that are too short, too long or of another kind."""

    def __init__(self, data: bytes, kind: int) -> None:
        self._data = data
        self._at = 0
        if len(data) < _HEAD.size or data[:2] != _MAGIC:
            raise MalformedMessage("these bytes are not a message of a secure sum")
        _, version, found, self.context = _HEAD.unpack(self.take(_HEAD.size))
        if version != versions.SECURE_SUM:
            raise MalformedMessage(f"message format {version} is not known here; this version of Discreet reads 1")
        if found != kind:
            raise MalformedMessage(f"a message of kind {found} where {kind} is expected")

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        if size > len(self._data) - self._at:
            raise MalformedMessage("a message ends too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self) -> int:
        """A number below 2³²."""
        return int.from_bytes(self.take(4), "little")

    def numbers(self) -> tuple[int, ...]:
        """A list of numbers."""
        count = self.number()
        return struct.unpack(f"<{count}I", self.take(4 * count))

    def lump(self) -> bytes:
        """Bytes of any length."""
        return self.take(self.number())

    def parcels(self, size: int) -> Parcels:
        """A list of parcels of `size` bytes each."""
        count = self.number()
        body = self.take((4 + size) * count)
        starts = range(0, len(body), 4 + size)
        return tuple((int.from_bytes(body[at : at + 4], "little"), body[at + 4 : at + 4 + size]) for at in starts)

    def finish(self) -> None:
        """Refuse bytes that are left over."""
        if self._at != len(self._data):
            raise MalformedMessage("a message has bytes left over")
