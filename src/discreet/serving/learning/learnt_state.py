"""What sums have taught, as it is kept: arrays by name, of popularity and of weights, in one file of bytes."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes; the same for the same arrays."""
    place = io.BytesIO()
    np.savez(place, allow_pickle=False, **{name: arrays[name] for name in sorted(arrays)})
    return place.getvalue()


def unpacked(state: bytes) -> Arrays:
    """The arrays; none before the first sum."""
    if not state:
        return {}
    with np.load(io.BytesIO(state), allow_pickle=False) as kept:
        return dict(kept)
