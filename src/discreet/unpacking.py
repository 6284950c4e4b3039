"""How much a packed file may unpack to, so that a small file cannot fill the memory.

A file, or all that is read of an archive, may unpack to 256 MiB or to a hundred times its own size, whichever is more.
`$DISCREET_MAX_UNPACKED`, such as 20G, sets another limit.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Protocol

from discreet.errors import DiscreetError, InputError

VARIABLE = "DISCREET_MAX_UNPACKED"
MIN_LIMIT = 256 << 20
MAX_RATIO = 100
_AT_ONCE = 1 << 20
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


def max_unpacked(path: Path) -> int:
    """How many bytes the packed file at `path` may unpack to."""
    if given := os.environ.get(VARIABLE):
        match = re.fullmatch(r"(\d+)([KMGT]?)(i?B)?", given.strip(), re.IGNORECASE)
        if match is None:
            raise DiscreetError(f"{VARIABLE} is a number of bytes such as 20G, not '{given}'")
        return int(match[1]) * _UNITS[match[2].upper()]
    return max(MIN_LIMIT, MAX_RATIO * path.stat().st_size)


class Allowance:
    """What is left of that for one file, or for one archive as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._most = self._left = max_unpacked(path)

    def take(self, count: int) -> None:
        """Count bytes that were unpacked.

        Raises:
            InputError: They are too many.
        """
        self._left -= count
        if self._left < 0:
            most = f"more than {self._most / (1 << 20):,.0f} MiB"
            raise InputError(self._path, f"unpacks to {most}; if you trust it, set {VARIABLE} to more, such as 20G")


def counted(stream: _Readable, allowance: Allowance) -> io.BufferedReader:
    """A stream that unpacks, read within its allowance; closing it closes the other."""
    return io.BufferedReader(_Counted(stream, allowance), _AT_ONCE)


class _Counted(io.RawIOBase):
    def __init__(self, stream: _Readable, allowance: Allowance) -> None:
        self._stream = stream
        self._allowance = allowance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        some = self._stream.read(min(len(buffer), _AT_ONCE))
        self._allowance.take(len(some))
        buffer[: len(some)] = some
        return len(some)

    def readall(self) -> bytes:
        whole = bytearray()
        while some := self._stream.read(_AT_ONCE):
            self._allowance.take(len(some))
            whole += some
        return bytes(whole)

    def close(self) -> None:
        self._stream.close()
        super().close()
