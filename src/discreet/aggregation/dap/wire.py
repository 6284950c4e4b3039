"""TLS's presentation language (RFC 8446, section 3), as far as DAP uses it: strict in both directions.

A message is a dataclass whose fields say how they are written. Reading takes every byte or fails: nothing is left over,
lengths are within their bounds, enumerations have known values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, Self

from discreet.errors import DiscreetError


class MessageError(DiscreetError):
    """Bytes that are not the message they should be, or a value that a message cannot hold."""


class Reader:
    """Bytes that are taken from the front."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def __len__(self) -> int:
        return len(self.content) - self.at

    def take(self, size: int) -> bytes:
        """The next bytes; an error if there are fewer."""
        if size > len(self):
            raise MessageError(f"{size} bytes should follow, there are {len(self)}")
        self.at += size
        return self.content[self.at - size : self.at]

    def end(self) -> None:
        """An error unless all was taken."""
        if len(self):
            raise MessageError(f"{len(self)} bytes are left over")


class Codec(Protocol):
    """How a value is written and read."""

    def write(self, value: Any) -> bytes:
        """The value's bytes."""
        ...

    def read(self, reader: Reader) -> Any:
        """The value at the front."""
        ...


@dataclass(frozen=True)
class Uint:
    """An unsigned integer of some bytes, the highest first."""

    size: int

    def write(self, value: int) -> bytes:
        """The value's bytes."""
        if not 0 <= value < 256**self.size:
            raise MessageError(f"a number of {self.size} bytes is from 0 to {256**self.size - 1}")
        return value.to_bytes(self.size, "big")

    def read(self, reader: Reader) -> int:
        """The value at the front."""
        return int.from_bytes(reader.take(self.size), "big")


@dataclass(frozen=True)
class Choice:
    """A value of an enumeration, in one byte."""

    kinds: type[IntEnum]

    def write(self, value: IntEnum) -> bytes:
        """The value's byte."""
        return self.read(Reader(Uint(1).write(value))).to_bytes(1, "big")

    def read(self, reader: Reader) -> IntEnum:
        """The value at the front."""
        number = reader.take(1)[0]
        try:
            return self.kinds(number)
        except ValueError:
            raise MessageError(f"{number} is no {self.kinds.__name__}") from None


@dataclass(frozen=True)
class Fixed:
    """So many bytes."""

    size: int

    def write(self, value: bytes) -> bytes:
        """The bytes."""
        if len(value) != self.size:
            raise MessageError(f"{self.size} bytes are needed, not {len(value)}")
        return value

    def read(self, reader: Reader) -> bytes:
        """The bytes at the front."""
        return reader.take(self.size)


@dataclass(frozen=True)
class Opaque:
    """Bytes with their length before them, in as many bytes as the longest needs."""

    minimum: int
    maximum: int

    @property
    def _length(self) -> Uint:
        return Uint((self.maximum.bit_length() + 7) // 8)

    def write(self, value: bytes) -> bytes:
        """The length and the bytes."""
        self._check(len(value))
        return self._length.write(len(value)) + value

    def read(self, reader: Reader) -> bytes:
        """The bytes at the front, without their length."""
        size = self._length.read(reader)
        self._check(size)
        return reader.take(size)

    def _check(self, size: int) -> None:
        if not self.minimum <= size <= self.maximum:
            raise MessageError(f"{self.minimum} to {self.maximum} bytes can stand here, not {size}")


@dataclass(frozen=True)
class Nested:
    """A message within a message."""

    kind: type[Message]

    def write(self, value: Message) -> bytes:
        """The message's bytes."""
        return value.encode()

    def read(self, reader: Reader) -> Message:
        """The message at the front."""
        return self.kind.read(reader)


@dataclass(frozen=True)
class Rest:
    """Messages up to the end of what is read."""

    kind: type[Message]

    def write(self, value: Sequence[Message]) -> bytes:
        """One after the other."""
        return b"".join(message.encode() for message in value)

    def read(self, reader: Reader) -> tuple[Message, ...]:
        """All that follow."""
        messages = []
        while len(reader):
            messages.append(self.kind.read(reader))
        return tuple(messages)


@dataclass(frozen=True)
class Vector:
    """Messages with the length of all their bytes before them."""

    kind: type[Message]
    minimum: int
    maximum: int

    def write(self, value: Sequence[Message]) -> bytes:
        """The length, and one after the other."""
        return Opaque(self.minimum, self.maximum).write(Rest(self.kind).write(value))

    def read(self, reader: Reader) -> tuple[Message, ...]:
        """The messages at the front."""
        return Rest(self.kind).read(Reader(Opaque(self.minimum, self.maximum).read(reader)))


def wire(codec: Codec) -> Any:
    """A field of a message that is written so."""
    return dataclasses.field(metadata={"codec": codec})


@dataclass(frozen=True)
class Message:
    """A struct: its fields one after the other."""

    def encode(self) -> bytes:
        """The message's bytes."""
        return b"".join(field.metadata["codec"].write(getattr(self, field.name)) for field in dataclasses.fields(self))

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """The message at the front."""
        return cls(**{field.name: field.metadata["codec"].read(reader) for field in dataclasses.fields(cls)})

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """The message that is exactly these bytes."""
        reader = Reader(encoded)
        try:
            message = cls.read(reader)
            reader.end()
        except MessageError as error:
            raise MessageError(f"this is no {cls.__name__}: {error}") from None
        return message
