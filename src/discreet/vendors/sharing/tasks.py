"""A round as bytes: what the server sends to vendors on other machines. Strict, versioned, exact to the last bit.

    "DSR2", number, kind, share, items, popular, rank   <4sBBdIII
    Opening      emphasis, offset
    Pairs        offset, popular
    Projections  offset, popular, basis row by row, emphasis

Floats are float64, places of popular items int64, all little-endian. What a vendor is asked comes from a server that it
need not trust, and a bound on a user's norm is worth nothing for numbers that are none, or so small or large that
squares lose their digits. So values outside of generous limits are refused, as is everything that is not just so long.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.errors import DiscreetError
from discreet.vendors.sharing.contributions import Directions, Floats, Integers
from discreet.vendors.sharing.plan import MAX_DIRECTIONS, POPULAR
from discreet.vendors.sharing.sharing_rounds import Opening, Pairs, Projections, Round

MAX_ROUNDS = 255
_HEADER = struct.Struct("<4sBBdIII")
_MAGIC = b"DSR2"
_MAX_VALUE = 1e6
_MIN_EMPHASIS = 1e-6
_MAX_LOADING = 1e3


@dataclass(frozen=True, eq=False)
class SharingTask:
    """The round that is asked for, and its number in the conversation, counted from 0."""

    number: int
    round: Round

    def to_bytes(self) -> bytes:
        """The bytes that `from_bytes` reads."""
        asked = self.round
        if isinstance(asked, Opening):
            kind, sizes, parts = 1, (len(asked.emphasis), 0, 0), [_floats(asked.emphasis), _floats(asked.offset)]
        elif isinstance(asked, Pairs):
            kind, sizes = 2, (len(asked.offset), len(asked.popular), 0)
            parts = [_floats(asked.offset), _places(asked.popular)]
        elif isinstance(asked, Projections):
            d = asked.directions
            kind, sizes = 3, (len(d.offset), len(d.popular), d.rank)
            parts = [_floats(d.offset), _places(d.popular), _floats(d.basis), _floats(d.emphasis)]
        else:
            raise TypeError(f"a {type(asked).__name__} cannot be sent")
        return b"".join((_HEADER.pack(_MAGIC, self.number, kind, asked.share, *sizes), *parts))

    @classmethod
    def from_bytes(cls, data: bytes, items: int) -> SharingTask:
        """The task, if it is one for a catalogue of so many items.

        Raises:
            DiscreetError: it is not, in one line.
        """
        if len(data) < _HEADER.size or data[:4] != _MAGIC:
            raise DiscreetError("the task is not a round of sharing that this version knows")
        _, number, kind, share, size, popular, rank = _HEADER.unpack_from(data)
        if size != items:
            raise DiscreetError(f"the round is about {size} items, the job's catalogue has {items}")
        if not 0 < share <= 1:
            raise DiscreetError(f"a round spends a share of the budget above 0 and at most 1, not {share}")
        if (kind > 1 and not 2 <= popular <= min(POPULAR, items)) or (kind == 3 and not 1 <= rank <= MAX_DIRECTIONS):
            raise DiscreetError(f"the round has {popular} popular items and {rank} directions, which is not allowed")
        reader = _Reader(data[_HEADER.size :])
        asked = _read(kind, share, reader, items, popular, rank)
        if reader.rest or (kind < 3 and rank) or (kind == 1 and popular):
            raise DiscreetError("the round's bytes are not as its header says")
        return cls(number, asked)


def length(asked: Round) -> int:
    """How many values the answer to a round has."""
    if isinstance(asked, Opening):
        return 2 * len(asked.emphasis)
    if isinstance(asked, Pairs):
        return len(asked.popular) * (len(asked.popular) - 1) // 2
    if isinstance(asked, Projections):
        return len(asked.directions.offset) * asked.directions.rank
    raise TypeError(f"a {type(asked).__name__} cannot be sent")


def _read(kind: int, share: float, reader: _Reader, items: int, popular: int, rank: int) -> Round:
    if kind == 1:
        return Opening(share, reader.floats(items, _is_emphasis), reader.floats(items, _is_offset))
    if kind == 2:
        return Pairs(share, reader.floats(items, _is_offset), reader.places(popular, items))
    if kind == 3:
        offset, places = reader.floats(items, _is_offset), reader.places(popular, items)
        basis = reader.floats(popular * rank, _is_loading).reshape(popular, rank)
        return Projections(share, Directions(offset, places, basis, reader.floats(items, _is_emphasis)))
    raise DiscreetError(f"there is no round of kind {kind}")


class _Reader:
    """Takes arrays off the front of the bytes, each checked."""

    def __init__(self, rest: bytes) -> None:
        self.rest = rest

    def floats(self, count: int, allowed: Callable[[Floats], bool]) -> Floats:
        values = np.frombuffer(self._take(8 * count), "<f8").astype(np.float64)
        if not allowed(values):
            raise DiscreetError("the round has numbers outside of what is allowed")
        return values

    def places(self, count: int, items: int) -> Integers:
        places = np.frombuffer(self._take(8 * count), "<i8").astype(np.int64)
        if not ((places >= 0) & (places < items)).all() or len(np.unique(places)) != count:
            raise DiscreetError("the round's popular items are not different items of the catalogue")
        return places

    def _take(self, size: int) -> bytes:
        if len(self.rest) < size:
            raise DiscreetError("the round's bytes are not as its header says")
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken


def _is_emphasis(values: Floats) -> bool:
    return bool(((values == 0) | ((values >= _MIN_EMPHASIS) & (values <= _MAX_VALUE))).all())


def _is_offset(values: Floats) -> bool:
    return bool((np.abs(values) <= _MAX_VALUE).all())


def _is_loading(values: Floats) -> bool:
    return bool((np.abs(values) <= _MAX_LOADING).all())


def _floats(values: Floats) -> bytes:
    return np.ascontiguousarray(values, "<f8").tobytes()


def _places(values: Integers) -> bytes:
    return np.ascontiguousarray(values, "<i8").tobytes()
