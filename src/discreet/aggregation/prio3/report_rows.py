"""Prio3's steps for many reports at once: a row of bytes for each message, and whether it can be accepted.

Messages of one kind have one size, so a batch is a matrix. What is wrong with one row never touches another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.prio3.xof import SEED_SIZE, constant, derive_seeds, expand_into_vecs

if TYPE_CHECKING:
    from discreet.aggregation.prio3.prio3 import Prio3

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_MEAS_SHARE, _PROOF_SHARE, _JOINT_RANDOMNESS, _PROVE_RANDOMNESS = 1, 2, 3, 4
_QUERY_RANDOMNESS, _JOINT_RAND_SEED, _JOINT_RAND_PART = 5, 6, 7


class Verifying(NamedTuple):
    """What an aggregator has after its first step; rows that are not `valid` are refused."""

    out_shares: Words
    joint_rand_seeds: Bytes
    verifier_shares: Bytes
    valid: Flags


def shard(prio3: Prio3, ctx: bytes, meas: Words, nonces: Bytes, rand: Bytes) -> tuple[Bytes, list[Bytes]]:
    """The public shares, and for each aggregator the input shares, of encoded measurements."""
    circuit, field, rows = prio3.circuit, prio3.circuit.field, len(meas)
    seeds = list(rand.reshape(rows, -1, SEED_SIZE).transpose(1, 0, 2))
    joint = circuit.joint_rand_len > 0
    helpers = prio3.shares - 1
    helper_seeds, helper_blinds = (seeds[: 2 * helpers : 2], seeds[1 : 2 * helpers : 2]) if joint else (seeds[:-1], [])
    leader_meas, parts = meas, []
    for helper in range(helpers):
        share = _helper_meas(prio3, ctx, helper + 1, helper_seeds[helper])
        leader_meas = field.sub(leader_meas, share)
        if joint:
            parts.append(_joint_rand_part(prio3, ctx, helper + 1, helper_blinds[helper], share, nonces))
    public = np.empty((rows, 0), np.uint8)
    joint_rand = field.empty(rows, prio3.proofs, 0)
    if joint:
        parts.insert(0, _joint_rand_part(prio3, ctx, 0, seeds[-2], leader_meas, nonces))
        public = np.concatenate(parts, axis=1)
        joint_rand = _joint_rands(prio3, ctx, _joint_rand_seeds(prio3, ctx, public))
    length = circuit.arity * prio3.proofs
    dst = prio3.domain_separation_tag(_PROVE_RANDOMNESS, ctx)
    prove_rand = expand_into_vecs(field, seeds[-1], dst, constant(rows, bytes([prio3.proofs])), length=length)
    proofs = prio3.flp.prove(meas, _by_proof(prio3, prove_rand), joint_rand).reshape(rows, -1, *field.element)
    for helper in range(helpers):
        proofs = field.sub(proofs, _helper_proofs(prio3, ctx, helper + 1, helper_seeds[helper]))
    leader = [field.encode_rows(leader_meas), field.encode_rows(proofs)]
    inputs = [leader, *([seed] for seed in helper_seeds)]
    if joint:
        inputs = [[*parts, blind] for parts, blind in zip(inputs, [seeds[-2], *helper_blinds], strict=True)]
    return public, [np.concatenate(parts, axis=1) for parts in inputs]


def verify_init(
    prio3: Prio3,
    verify_key: bytes,
    ctx: bytes,
    agg_id: int,
    nonces: Bytes,
    public_shares: Bytes,
    input_shares: Bytes,
) -> Verifying:
    """One aggregator's first step."""
    circuit, field, rows = prio3.circuit, prio3.circuit.field, len(nonces)
    seeds = np.empty((rows, 0), np.uint8)
    joint_rand = field.empty(rows, prio3.proofs, 0)
    if agg_id == 0:
        split = circuit.meas_len * field.encoded_size
        end = split + circuit.proof_len * prio3.proofs * field.encoded_size
        meas, meas_valid = field.decode_rows(input_shares[:, :split])
        proofs, proofs_valid = field.decode_rows(input_shares[:, split:end])
        valid = meas_valid & proofs_valid
    else:
        end = SEED_SIZE
        meas = _helper_meas(prio3, ctx, agg_id, input_shares[:, :end])
        proofs = _helper_proofs(prio3, ctx, agg_id, input_shares[:, :end])
        valid = np.ones(rows, np.bool_)
    parts = np.empty((rows, 0), np.uint8)
    if circuit.joint_rand_len > 0:
        parts = _joint_rand_part(prio3, ctx, agg_id, input_shares[:, end:], meas, nonces)
        corrected = public_shares.copy()
        corrected[:, agg_id * SEED_SIZE : (agg_id + 1) * SEED_SIZE] = parts
        seeds = _joint_rand_seeds(prio3, ctx, corrected)
        joint_rand = _joint_rands(prio3, ctx, seeds)
    dst = prio3.domain_separation_tag(_QUERY_RANDOMNESS, ctx)
    binder = constant(rows, bytes([prio3.proofs])), nonces
    length = circuit.query_rand_len * prio3.proofs
    query_rand = _by_proof(prio3, expand_into_vecs(field, constant(rows, verify_key), dst, *binder, length=length))
    verifiers, safe = prio3.flp.query(meas, _by_proof(prio3, proofs), query_rand, joint_rand, prio3.shares)
    shares = np.concatenate([field.encode_rows(verifiers), parts], axis=1)
    return Verifying(circuit.truncate(meas), seeds, shares, valid & safe)


def verifier_shares_to_message(prio3: Prio3, ctx: bytes, verifier_shares: list[Bytes]) -> tuple[Bytes, Flags]:
    """The verifier messages from all aggregators' verifier shares; False where a proof fails."""
    field, rows = prio3.circuit.field, len(verifier_shares[0])
    end = prio3.circuit.verifier_len * prio3.proofs * field.encoded_size
    valid = np.ones(rows, np.bool_)
    verifiers = field.zeros(rows, prio3.circuit.verifier_len * prio3.proofs)
    for shares in verifier_shares:
        share, share_valid = field.decode_rows(shares[:, :end])
        verifiers = field.add(verifiers, share)
        valid &= share_valid
    valid &= prio3.flp.decide(_by_proof(prio3, verifiers))
    if prio3.circuit.joint_rand_len == 0:
        return np.empty((rows, 0), np.uint8), valid
    parts = np.concatenate([shares[:, end:] for shares in verifier_shares], axis=1)
    return _joint_rand_seeds(prio3, ctx, parts), valid


def _by_proof(prio3: Prio3, vectors: Words) -> Words:
    return vectors.reshape(len(vectors), prio3.proofs, -1, *prio3.circuit.field.element)


def _helper_meas(prio3: Prio3, ctx: bytes, agg_id: int, seeds: Bytes) -> Words:
    dst, binder = prio3.domain_separation_tag(_MEAS_SHARE, ctx), constant(len(seeds), bytes([agg_id]))
    return expand_into_vecs(prio3.circuit.field, seeds, dst, binder, length=prio3.circuit.meas_len)


def _helper_proofs(prio3: Prio3, ctx: bytes, agg_id: int, seeds: Bytes) -> Words:
    dst, binder = prio3.domain_separation_tag(_PROOF_SHARE, ctx), constant(len(seeds), bytes([prio3.proofs, agg_id]))
    return expand_into_vecs(prio3.circuit.field, seeds, dst, binder, length=prio3.circuit.proof_len * prio3.proofs)


def _joint_rand_part(prio3: Prio3, ctx: bytes, agg_id: int, blinds: Bytes, meas: Words, nonces: Bytes) -> Bytes:
    dst, binder = prio3.domain_separation_tag(_JOINT_RAND_PART, ctx), constant(len(blinds), bytes([agg_id]))
    return derive_seeds(blinds, dst, binder, nonces, prio3.circuit.field.encode_rows(meas))


def _joint_rand_seeds(prio3: Prio3, ctx: bytes, parts: Bytes) -> Bytes:
    dst = prio3.domain_separation_tag(_JOINT_RAND_SEED, ctx)
    return derive_seeds(constant(len(parts), bytes(SEED_SIZE)), dst, parts)


def _joint_rands(prio3: Prio3, ctx: bytes, seeds: Bytes) -> Words:
    dst, binder = prio3.domain_separation_tag(_JOINT_RANDOMNESS, ctx), constant(len(seeds), bytes([prio3.proofs]))
    length = prio3.circuit.joint_rand_len * prio3.proofs
    return _by_proof(prio3, expand_into_vecs(prio3.circuit.field, seeds, dst, binder, length=length))
