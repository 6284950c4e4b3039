"""Masks: long vectors of uniform integers mod 2^bits, each determined by a key of 32 bytes.

The stream is ChaCha20's. Its words are uniform on 0 … 2^bits − 1 and the modulus is a power of two, so nothing needs to
be reduced or rejected, and unsigned arithmetic that wraps around is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from numpy.typing import NDArray

Vector = NDArray[np.unsignedinteger[Any]]
DTYPES: dict[int, np.dtype[np.unsignedinteger[Any]]] = {
    16: np.dtype("<u2"),
    32: np.dtype("<u4"),
    64: np.dtype("<u8"),
}
KEY_BYTES = 32
_ZEROS = bytes(1 << 17)


def add_mask(vector: Vector, key: bytes, *, subtract: bool = False) -> None:
    """Add the mask of `key` to a vector, in place, mod 2^bits; or take it away.

    The nonce is zero: every key makes one mask only. The stream is made in pieces that stay in the processor's cache.
    """
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    piece = bytearray(len(_ZEROS))
    words = np.frombuffer(piece, vector.dtype)
    combine = np.subtract if subtract else np.add
    for start in range(0, len(vector), len(words)):
        part = vector[start : start + len(words)]
        stream.update_into(memoryview(_ZEROS)[: part.nbytes], piece)
        combine(part, words[: len(part)], out=part)


def to_lattice(vector: NDArray[np.integer[Any]], bits: int) -> Vector:
    """Integers as residues mod 2^bits, in a fresh array.

    Raises:
        ValueError: if they are not integers, or one is outside −2^(bits−1) … 2^bits − 1 and would be silently changed.
    """
    values = np.asarray(vector)
    if not np.issubdtype(values.dtype, np.integer) or values.ndim != 1:
        raise ValueError(f"a vector of integers is needed, not {values.ndim} dimensions of {values.dtype}")
    if values.size and (int(values.min()) < -(1 << bits - 1) or int(values.max()) >= 1 << bits):
        raise ValueError(f"the vector has entries that do not fit into {bits} bits")
    return values.astype(DTYPES[bits])


def signed(vector: Vector) -> NDArray[np.int64]:
    """Residues mod 2^bits as the integers nearest to zero, −2^(bits−1) … 2^(bits−1) − 1."""
    return vector.view(f"<i{vector.dtype.itemsize}").astype(np.int64)
