"""Arrays of a round as bytes, and a reader that trusts nothing.

What a vendor is asked comes from a server that it need not trust, and a bound on a user's norm is worth nothing for
numbers that are none, or so small or large that squares lose their digits. So values outside of generous limits are
refused, as is everything that is not just so long. Floats are float64, places of items int64, all little-endian.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.errors import DiscreetError
from discreet.vendors.sharing.contributions import Floats, Integers

_MAX_VALUE = 1e6
_MIN_EMPHASIS = 1e-6
_MAX_LOADING = 1e3


class RoundReader:
    """Takes arrays off the front of the bytes, each checked."""

    def __init__(self, rest: bytes, items: int) -> None:
        self.rest = rest
        self._items = items

    def emphasis(self) -> Floats:
        """How much each item's ratings weigh."""
        return self._floats(self._items, lambda v: (v == 0) | ((v >= _MIN_EMPHASIS) & (v <= _MAX_VALUE)))

    def offset(self) -> Floats:
        """An expected residual of each item."""
        return self._floats(self._items, lambda v: np.abs(v) <= _MAX_VALUE)

    def basis(self, rows: int, rank: int) -> Floats:
        """For each of some items a row with its loading on each direction."""
        return self._floats(rows * rank, lambda v: np.abs(v) <= _MAX_LOADING).reshape(rows, rank)

    def places(self, count: int) -> Integers:
        """Different items of the catalogue, by number."""
        places = np.frombuffer(self._take(8 * count), "<i8").astype(np.int64)
        if not ((places >= 0) & (places < self._items)).all() or len(np.unique(places)) != count:
            raise DiscreetError("the round names items that are not different ones of the catalogue")
        return places

    def _floats(self, count: int, allowed: Callable[[Floats], np.ndarray]) -> Floats:
        values = np.frombuffer(self._take(8 * count), "<f8").astype(np.float64)
        if not allowed(values).all():
            raise DiscreetError("the round has numbers outside of what is allowed")
        return values

    def _take(self, size: int) -> bytes:
        if len(self.rest) < size:
            raise DiscreetError("the round's bytes are not as its header says")
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken


def floats(values: Floats) -> bytes:
    """For `RoundReader` to read."""
    return np.ascontiguousarray(values, "<f8").tobytes()


def places(values: Integers) -> bytes:
    """For `RoundReader.places`."""
    return np.ascontiguousarray(values, "<i8").tobytes()
