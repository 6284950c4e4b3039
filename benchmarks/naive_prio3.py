"""Sharding a Prio3 histogram with loops over Python's integers, as the draft writes it down: a peer to measure against.

Streams of TurboSHAKE128 are the shipped ones, so that only the arithmetic differs.
"""

from __future__ import annotations

import numpy as np

from discreet.aggregation.prio3 import keccak
from discreet.aggregation.prio3.fields import FIELD128

P = FIELD128.modulus


def stream(seed: bytes, dst: bytes, binder: bytes, size: int) -> bytes:
    """The first bytes of XofTurboShake128."""
    message = len(dst).to_bytes(2, "little") + dst + bytes([len(seed)]) + seed + binder
    out = np.empty((1, -(-size // 8)), np.uint64)
    keccak.squeeze(keccak.padded(np.frombuffer(message, np.uint8)[None]), out)
    return out.astype("<u8").tobytes()[:size]


def expand(seed: bytes, dst: bytes, binder: bytes, length: int) -> list[int]:
    """A vector; what is not below the modulus would be thrown away, which happens once in 2⁵⁹."""
    encoded = stream(seed, dst, binder, 16 * length)
    return [int.from_bytes(encoded[place : place + 16], "little") for place in range(0, 16 * length, 16)]


def encode(vector: list[int]) -> bytes:
    """A vector's bytes."""
    return b"".join(number.to_bytes(16, "little") for number in vector)


def ntt(values: list[int], root: int) -> list[int]:
    """The values at the powers of a root of unity."""
    if len(values) == 1:
        return values
    even, odd = ntt(values[::2], root * root % P), ntt(values[1::2], root * root % P)
    out, power = [0] * len(values), 1
    for place, (a, b) in enumerate(zip(even, odd, strict=True)):
        out[place] = (a + power * b) % P
        out[place + len(even)] = (a - power * b) % P
        power = power * root % P
    return out


def prove(meas: list[int], prove_rand: list[int], joint_rand: list[int], chunk: int) -> list[int]:
    """The proof of zeros and ones, chunk by chunk."""
    calls = len(joint_rand)
    size = 1 << calls.bit_length()
    wires = [[seed] + [0] * (size - 1) for seed in prove_rand]
    for call in range(calls):
        power = joint_rand[call]
        for term in range(chunk):
            place = call * chunk + term
            value = meas[place] if place < len(meas) else 0
            wires[2 * term][call + 1] = power * value % P
            wires[2 * term + 1][call + 1] = (value - 1) % P
            power = power * joint_rand[call] % P
    root, inverse = FIELD128.nth_root(size), pow(size, -1, P)
    polynomials = []
    for wire in wires:
        coefficients = [value * inverse % P for value in ntt(wire, pow(root, -1, P))]
        polynomials.append(ntt(coefficients + [0] * size, FIELD128.nth_root(2 * size)))
    gadget = [0] * (2 * size - 1)
    for place in range(len(gadget)):
        for term in range(chunk):
            gadget[place] += polynomials[2 * term][place] * polynomials[2 * term + 1][place]
        gadget[place] %= P
    return prove_rand + gadget


def shard_histogram(
    length: int, chunk: int, ctx: bytes, bucket: int, nonce: bytes, rand: bytes
) -> tuple[bytes, list[bytes]]:
    """A report for two aggregators."""

    def tag(usage: int) -> bytes:
        return bytes([18, 0, 0, 0, 0, 4, 0, usage]) + ctx

    helper_seed, helper_blind, leader_blind, prove_seed = (rand[place : place + 32] for place in range(0, 128, 32))
    meas = [int(place == bucket) for place in range(length)]
    helper = expand(helper_seed, tag(1), b"\1", length)
    leader = [(a - b) % P for a, b in zip(meas, helper, strict=True)]
    parts = stream(leader_blind, tag(7), b"\0" + nonce + encode(leader), 32)
    parts += stream(helper_blind, tag(7), b"\1" + nonce + encode(helper), 32)
    joint_seed = stream(bytes(32), tag(6), parts, 32)
    joint_rand = expand(joint_seed, tag(3), b"\1", -(-length // chunk))
    proof = prove(meas, expand(prove_seed, tag(4), b"\1", 2 * chunk), joint_rand, chunk)
    helper_proof = expand(helper_seed, tag(2), b"\1\1", len(proof))
    leader_proof = [(a - b) % P for a, b in zip(proof, helper_proof, strict=True)]
    return parts, [encode(leader) + encode(leader_proof) + leader_blind, helper_seed + helper_blind]
