"""Fields, polynomials and TurboSHAKE against plain Python integers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregation.prio3 import keccak
from discreet.aggregation.prio3.fields import FIELD64, FIELD128, Field
from discreet.aggregation.prio3.polynomials import domain, extension, interpolate, lagrange, ntt
from discreet.aggregation.prio3.xof import MAX_DST_SIZE, derive_seeds, expand_into_vecs
from discreet.errors import DiscreetError

FIELDS = (FIELD64, FIELD128)
EDGES = (0, 1, 2, 2**32 - 1, 2**32, 2**64 - 2**32, 2**64 - 1, 2**64, 2**66 - 1, 28 << 64, (2**64 - 29) << 64)


def elements(field: Field) -> st.SearchStrategy[int]:
    edges = sorted({sign * edge % field.modulus for edge in EDGES for sign in (1, -1)})
    return st.one_of(st.sampled_from(edges), st.integers(0, field.modulus - 1))


def vectors(field: Field, size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(elements(field), min_size=size, max_size=size)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
@settings(deadline=None)
@given(data=st.data())
def test_arithmetic_is_that_of_integers(field: Field, data: st.DataObject) -> None:
    a, b = data.draw(vectors(field, 50)), data.draw(vectors(field, 50))
    x, y, p = field.from_ints(a), field.from_ints(b), field.modulus
    assert field.to_ints(field.add(x, y)) == [(i + j) % p for i, j in zip(a, b, strict=True)]
    assert field.to_ints(field.sub(x, y)) == [(i - j) % p for i, j in zip(a, b, strict=True)]
    assert field.to_ints(field.mul(x, y)) == [i * j % p for i, j in zip(a, b, strict=True)]
    assert field.to_ints(field.sum(np.stack([x, y, y]))) == [(i + 2 * j) % p for i, j in zip(a, b, strict=True)]
    assert field.to_ints(field.weighted(x[None, None], b)[0])[0] == sum(i * j for i, j in zip(a, b, strict=True)) % p


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_edges_of_multiplication(field: Field) -> None:
    edges = [sign * edge % field.modulus for edge in EDGES for sign in (1, -1)]
    a, b = [i for i in edges for _ in edges], edges * len(edges)
    products = field.to_ints(field.mul(field.from_ints(a), field.from_ints(b)))
    assert products == [i * j % field.modulus for i, j in zip(a, b, strict=True)]


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_encoding_is_little_endian_and_strict(field: Field) -> None:
    numbers = [0, 1, 2**33 + 5, field.modulus - 1]
    encoded = b"".join(number.to_bytes(field.encoded_size, "little") for number in numbers)
    assert field.encode_vec(field.from_ints(numbers)) == encoded
    assert field.to_ints(field.decode_vec(encoded, 4)) == numbers
    for wrong in (encoded[:-1], encoded + b"\0", b""):
        with pytest.raises(DiscreetError, match="bytes, not"):
            field.decode_vec(wrong, 4)
    for number in (field.modulus, field.modulus + 1, 256**field.encoded_size - 1):
        with pytest.raises(DiscreetError, match="not below the modulus"):
            field.decode_vec(number.to_bytes(field.encoded_size, "little"), 1)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
@settings(deadline=None, max_examples=20)
@given(data=st.data(), log_size=st.integers(0, 5))
def test_polynomials(field: Field, data: st.DataObject, log_size: int) -> None:
    size, p = 2**log_size, field.modulus
    known = data.draw(st.integers(1, size))
    coefficients = data.draw(vectors(field, known))
    point = data.draw(elements(field))
    root = field.nth_root(size)

    def at(x: int) -> int:
        return sum(c * pow(x, power, p) for power, c in enumerate(coefficients)) % p

    table = domain(field, size)
    values = field.from_ints(coefficients + [0] * (size - known))
    ntt(values, table.roots)
    truth = [at(pow(root, power, p)) for power in range(size)]
    assert field.to_ints(values) == truth
    weights = field.empty(size)
    assert lagrange(table.roots, table.inverse_size, field.from_ints([point]), weights) == (pow(point, size, p) != 1)
    assert sum(w * v for w, v in zip(field.to_ints(weights), truth, strict=True)) % p == at(point)
    for row, expected in zip(extension(field, known, size), truth[known:], strict=True):
        assert sum(w * v for w, v in zip(field.to_ints(row), truth, strict=False)) % p == expected
    interpolate(values, table.inverse_roots, table.inverse_size)
    assert field.to_ints(values)[:known] == coefficients


def turboshake128(message: bytes) -> Iterator[int]:
    """The bytes of TurboSHAKE128 with domain byte 1, by FIPS 202's own description."""
    state = [[0] * 5 for _ in range(5)]

    def turned(word: int, by: int) -> int:
        return ((word << by) | (word >> (64 - by))) & (2**64 - 1) if by else word

    def permuted() -> None:
        register = 1
        for number in range(24):
            constant = 0
            for power in range(7):
                constant |= (register & 1) << (2**power - 1)
                register = (register << 1) ^ (0x171 if register & 0x80 else 0)
            if number < 12:
                continue
            columns = [a ^ b ^ c ^ d ^ e for a, b, c, d, e in state]
            for x in range(5):
                for y in range(5):
                    state[x][y] ^= columns[(x + 4) % 5] ^ turned(columns[(x + 1) % 5], 1)
            x, y, current = 1, 0, state[1][0]
            for step in range(24):
                x, y = y, (2 * x + 3 * y) % 5
                current, state[x][y] = state[x][y], turned(current, (step + 1) * (step + 2) // 2 % 64)
            for y in range(5):
                row = [state[x][y] for x in range(5)]
                for x in range(5):
                    state[x][y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]) & (2**64 - 1)
            state[0][0] ^= constant

    message += b"\x01" + bytes(-(len(message) + 1) % keccak.RATE)
    message = message[:-1] + bytes([message[-1] ^ 0x80])
    for place in range(0, len(message), 8):
        lane = place % keccak.RATE // 8
        state[lane % 5][lane // 5] ^= int.from_bytes(message[place : place + 8], "little")
        if (place + 8) % keccak.RATE == 0:
            permuted()
    while True:
        for lane in range(keccak.RATE // 8):
            yield from state[lane % 5][lane // 5].to_bytes(8, "little")
        permuted()


@pytest.mark.parametrize("size", [0, 1, 100, 166, 167, 168, 169, 335, 336, 700])
def test_turboshake_of_messages_around_a_block(size: int) -> None:
    message = bytes(7 * place % 256 for place in range(size))
    out = np.empty((2, 60), np.uint64)
    keccak.squeeze(keccak.padded(np.frombuffer(message * 2, np.uint8).reshape(2, size)), out)
    stream = turboshake128(message)
    expected = bytes(next(stream) for _ in range(480))
    assert out.astype("<u8").tobytes() == 2 * expected


def test_seeds_and_vectors_come_from_the_stream() -> None:
    seed, dst, binder = bytes(range(32)), b"tag", b"binder"
    rows = [np.frombuffer(part, np.uint8)[None] for part in (seed, binder)]
    stream = turboshake128(b"\x03\x00tag\x20" + seed + b"binder")
    expected = bytes(next(stream) for _ in range(40 * 16))
    assert derive_seeds(rows[0], dst, rows[1]).tobytes() == expected[:32]
    for field in FIELDS:
        vector = expand_into_vecs(field, rows[0], dst, rows[1], length=40)
        assert field.encode_vec(vector) == expected[: 40 * field.encoded_size]
    with pytest.raises(DiscreetError, match="too long"):
        derive_seeds(rows[0], bytes(MAX_DST_SIZE + 1))


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_what_is_not_below_the_modulus_is_thrown_away(field: Field) -> None:
    """A stream has such words once in 2³² or 2⁵⁹; here they are put into the state by hand, across a block too."""
    state = np.arange(1, 26, dtype=np.uint64)
    top = np.frombuffer(field.modulus.to_bytes(field.encoded_size, "little"), "<u8").astype(np.uint64)
    state[: field.words] = top
    state[2 * field.words : 3 * field.words] = 2**64 - 1
    state[21 - field.words : 21] = top + np.uint64(1) * (np.arange(field.words) == 0)
    after = state.copy()
    keccak.permute(after)
    words = np.concatenate([state[:21], after[:21]]).reshape(-1, field.words)
    numbers = [sum(int(word) << (64 * place) for place, word in enumerate(row)) for row in words]
    kept = [number for number in numbers if number < field.modulus]
    assert len(kept) < len(numbers) - 1
    out = field.empty(len(kept))
    keccak.sample(state.copy(), top, out.reshape(len(kept), field.words))
    assert field.to_ints(out) == kept
