"""TurboSHAKE128 (RFC 9861), many messages at once.

Messages of one length are absorbed row by row. Their bytes come in blocks of 21 words, padded by `padded`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

Words = NDArray[np.uint64]

RATE = 168
_RATE_WORDS = RATE // 8
_DOMAIN = 1
_CONSTANTS = np.array(
    [
        0x000000008000808B,
        0x800000000000008B,
        0x8000000000008089,
        0x8000000000008003,
        0x8000000000008002,
        0x8000000000000080,
        0x000000000000800A,
        0x800000008000000A,
        0x8000000080008081,
        0x8000000000008080,
        0x0000000080000001,
        0x8000000080008008,
    ],
    np.uint64,
)


def padded(messages: NDArray[np.uint8]) -> Words:
    """The rows of bytes as whole blocks of words, with the domain byte 1 and the last bit that TurboSHAKE appends."""
    rows, size = messages.shape
    blocks = np.zeros((rows, (size // RATE + 1) * RATE), np.uint8)
    blocks[:, :size] = messages
    blocks[:, size] = _DOMAIN
    blocks[:, -1] ^= 0x80
    return blocks.view("<u8").astype(np.uint64, copy=False)


@register_jitable
def _turned(word: Any, by: int) -> Any:
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@njit(cache=True, nogil=True)
def permute(state: Words) -> None:
    """Keccak-p[1600, 12]: the last 12 of Keccak's 24 rounds."""
    a00, a01, a02, a03, a04 = state[0], state[1], state[2], state[3], state[4]
    a05, a06, a07, a08, a09 = state[5], state[6], state[7], state[8], state[9]
    a10, a11, a12, a13, a14 = state[10], state[11], state[12], state[13], state[14]
    a15, a16, a17, a18, a19 = state[15], state[16], state[17], state[18], state[19]
    a20, a21, a22, a23, a24 = state[20], state[21], state[22], state[23], state[24]
    for number in range(12):
        c0 = a00 ^ a05 ^ a10 ^ a15 ^ a20
        c1 = a01 ^ a06 ^ a11 ^ a16 ^ a21
        c2 = a02 ^ a07 ^ a12 ^ a17 ^ a22
        c3 = a03 ^ a08 ^ a13 ^ a18 ^ a23
        c4 = a04 ^ a09 ^ a14 ^ a19 ^ a24
        d0 = c4 ^ _turned(c1, 1)
        d1 = c0 ^ _turned(c2, 1)
        d2 = c1 ^ _turned(c3, 1)
        d3 = c2 ^ _turned(c4, 1)
        d4 = c3 ^ _turned(c0, 1)
        b00 = a00 ^ d0
        b10 = _turned(a01 ^ d1, 1)
        b20 = _turned(a02 ^ d2, 62)
        b05 = _turned(a03 ^ d3, 28)
        b15 = _turned(a04 ^ d4, 27)
        b16 = _turned(a05 ^ d0, 36)
        b01 = _turned(a06 ^ d1, 44)
        b11 = _turned(a07 ^ d2, 6)
        b21 = _turned(a08 ^ d3, 55)
        b06 = _turned(a09 ^ d4, 20)
        b07 = _turned(a10 ^ d0, 3)
        b17 = _turned(a11 ^ d1, 10)
        b02 = _turned(a12 ^ d2, 43)
        b12 = _turned(a13 ^ d3, 25)
        b22 = _turned(a14 ^ d4, 39)
        b23 = _turned(a15 ^ d0, 41)
        b08 = _turned(a16 ^ d1, 45)
        b18 = _turned(a17 ^ d2, 15)
        b03 = _turned(a18 ^ d3, 21)
        b13 = _turned(a19 ^ d4, 8)
        b14 = _turned(a20 ^ d0, 18)
        b24 = _turned(a21 ^ d1, 2)
        b09 = _turned(a22 ^ d2, 61)
        b19 = _turned(a23 ^ d3, 56)
        b04 = _turned(a24 ^ d4, 14)
        a00 = b00 ^ (~b01 & b02) ^ _CONSTANTS[number]
        a01 = b01 ^ (~b02 & b03)
        a02 = b02 ^ (~b03 & b04)
        a03 = b03 ^ (~b04 & b00)
        a04 = b04 ^ (~b00 & b01)
        a05 = b05 ^ (~b06 & b07)
        a06 = b06 ^ (~b07 & b08)
        a07 = b07 ^ (~b08 & b09)
        a08 = b08 ^ (~b09 & b05)
        a09 = b09 ^ (~b05 & b06)
        a10 = b10 ^ (~b11 & b12)
        a11 = b11 ^ (~b12 & b13)
        a12 = b12 ^ (~b13 & b14)
        a13 = b13 ^ (~b14 & b10)
        a14 = b14 ^ (~b10 & b11)
        a15 = b15 ^ (~b16 & b17)
        a16 = b16 ^ (~b17 & b18)
        a17 = b17 ^ (~b18 & b19)
        a18 = b18 ^ (~b19 & b15)
        a19 = b19 ^ (~b15 & b16)
        a20 = b20 ^ (~b21 & b22)
        a21 = b21 ^ (~b22 & b23)
        a22 = b22 ^ (~b23 & b24)
        a23 = b23 ^ (~b24 & b20)
        a24 = b24 ^ (~b20 & b21)
    state[0], state[1], state[2], state[3], state[4] = a00, a01, a02, a03, a04
    state[5], state[6], state[7], state[8], state[9] = a05, a06, a07, a08, a09
    state[10], state[11], state[12], state[13], state[14] = a10, a11, a12, a13, a14
    state[15], state[16], state[17], state[18], state[19] = a15, a16, a17, a18, a19
    state[20], state[21], state[22], state[23], state[24] = a20, a21, a22, a23, a24


@njit(cache=True, nogil=True)
def absorb(blocks: Words, state: Words) -> None:
    """Start again and take in one padded message."""
    state[:] = 0
    for first in range(0, len(blocks), _RATE_WORDS):
        for place in range(_RATE_WORDS):
            state[place] ^= blocks[first + place]
        permute(state)


@njit(cache=True, nogil=True)
def squeeze(blocks: Words, out: Words) -> None:
    """Fill each row of `out` with the first words of the stream of that row's message."""
    state = np.empty(25, np.uint64)
    for row in range(len(blocks)):
        absorb(blocks[row], state)
        at = 0
        for place in range(out.shape[1]):
            if at == _RATE_WORDS:
                permute(state)
                at = 0
            out[row, place] = state[at]
            at += 1


@njit(cache=True, nogil=True)
def sample(state: Words, modulus: Words, out: Words) -> None:
    """Fill `out`, (n, words), from an absorbed state; what is not below the modulus is thrown away."""
    words = len(modulus)
    at = filled = 0
    while filled < len(out):
        below = False
        for word in range(words):
            if at == _RATE_WORDS:
                permute(state)
                at = 0
            out[filled, word] = state[at]
            below = state[at] < modulus[word] or (state[at] == modulus[word] and below)
            at += 1
        filled += below


@njit(cache=True, nogil=True)
def squeeze_elements(blocks: Words, modulus: Words, out: Words) -> None:
    """Fill each row of `out`, (rows, n, words), with uniform elements from the stream of that row's message."""
    state = np.empty(25, np.uint64)
    for row in range(len(blocks)):
        absorb(blocks[row], state)
        sample(state, modulus, out[row])
