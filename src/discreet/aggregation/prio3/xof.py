"""XofTurboShake128: from seeds to other seeds and to vectors of field elements, a row a report."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.prio3.fields import Field
from discreet.aggregation.prio3.keccak import padded, squeeze, squeeze_elements
from discreet.errors import DiscreetError

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

SEED_SIZE = 32
MAX_DST_SIZE = 65535


def constant(rows: int, value: bytes) -> Bytes:
    """The same bytes in every row."""
    return np.broadcast_to(np.frombuffer(value, np.uint8), (rows, len(value)))


def derive_seeds(seeds: Bytes, dst: bytes, *binder: Bytes) -> Bytes:
    """One new seed from each row's seed and binder (which may come in parts)."""
    out = np.empty((len(seeds), SEED_SIZE // 8), np.uint64)
    squeeze(_messages(seeds, dst, binder), out)
    return cast(Bytes, out.astype("<u8", copy=False).view(np.uint8))


def expand_into_vecs(field: Field, seeds: Bytes, dst: bytes, *binder: Bytes, length: int) -> Words:
    """A vector of `length` elements from each row's seed and binder."""
    out = field.empty(len(seeds), length)
    modulus = np.frombuffer(field.modulus.to_bytes(field.encoded_size, "little"), "<u8").astype(np.uint64)
    squeeze_elements(_messages(seeds, dst, binder), modulus, out.reshape(len(seeds), length, field.words))
    return out


def _messages(seeds: Bytes, dst: bytes, binder: tuple[Bytes, ...]) -> Words:
    if len(dst) > MAX_DST_SIZE:
        raise DiscreetError(
            f"the context is too long: with its tag it has {len(dst)} bytes, {MAX_DST_SIZE} are allowed"
        )
    head = len(dst).to_bytes(2, "little") + dst + seeds.shape[1].to_bytes(1, "little")
    return padded(np.concatenate([constant(len(seeds), head), seeds, *binder], axis=1))
