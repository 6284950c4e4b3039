"""Prio3 (draft-irtf-cfrg-vdaf, version 18): sums that no aggregator sees into, of measurements proved valid."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.prio3 import report_rows as rows
from discreet.aggregation.prio3.circuits import Circuit, Count, HigherDegree, Histogram, MultihotCountVec, Sum, SumVec
from discreet.aggregation.prio3.fields import FIELD64, Field
from discreet.aggregation.prio3.flp import Flp
from discreet.aggregation.prio3.xof import MAX_DST_SIZE, SEED_SIZE
from discreet.errors import DiscreetError
from discreet.protocol import versions

Words = NDArray[np.uint64]

NONCE_SIZE = 16
VERIFY_KEY_SIZE = SEED_SIZE
MAX_CTX_SIZE = MAX_DST_SIZE - 8
_PRIVATE_USE = 0xFFFFFFFF
_MIN_PROOFS_FIELD64 = 3


class InvalidReportError(DiscreetError):
    """A report that must not be counted: a message of a wrong size or form, or a proof that fails."""


@dataclass(frozen=True, eq=False)
class VerifyState:
    """What an aggregator keeps between its two steps."""

    out_share: Words
    joint_rand_seed: bytes


@dataclass(frozen=True)
class Prio3:
    """One instance of Prio3; all who take part must build it from the same numbers.

    Messages are bytes, in the draft's encoding, and their sizes are checked wherever they come in. Output and
    aggregate shares are vectors of field elements; `encode_agg_share` makes an aggregate share a message.

    Attributes:
        algorithm: The identifier in IANA's registry.
        circuit: What a measurement may be.
        shares: How many aggregators there are.
        proofs: How many proofs of each measurement are made.
    """

    algorithm: int
    circuit: Circuit
    shares: int = 2
    proofs: int = 1

    def __post_init__(self) -> None:
        if not 2 <= self.shares <= 255:
            raise DiscreetError(f"Prio3 takes 2 to 255 aggregators, not {self.shares}")
        if not 1 <= self.proofs <= 255:
            raise DiscreetError(f"Prio3 takes 1 to 255 proofs, not {self.proofs}")
        if self.circuit.joint_rand_len and self.circuit.field == FIELD64 and self.proofs < _MIN_PROOFS_FIELD64:
            raise DiscreetError(
                f"over Field64 this circuit takes {_MIN_PROOFS_FIELD64} proofs or more, or a client could forge one"
            )

    @classmethod
    def count(cls, shares: int = 2) -> Prio3:
        """Prio3Count: how many measurements are 1."""
        return cls(1, Count(), shares)

    @classmethod
    def sum(cls, max_measurement: int, shares: int = 2) -> Prio3:
        """Prio3Sum: the sum of integers from 0 to `max_measurement`."""
        return cls(2, Sum(max_measurement), shares)

    @classmethod
    def sum_vec(cls, length: int, max_measurement: int, chunk_length: int, shares: int = 2) -> Prio3:
        """Prio3SumVec: the sum of vectors of integers from 0 to `max_measurement`."""
        return cls(3, SumVec(length, max_measurement, chunk_length), shares)

    @classmethod
    def histogram(cls, length: int, chunk_length: int, shares: int = 2) -> Prio3:
        """Prio3Histogram: how many measurements fall into each bucket."""
        return cls(4, Histogram(length, chunk_length), shares)

    @classmethod
    def multihot_count_vec(cls, length: int, max_weight: int, chunk_length: int, shares: int = 2) -> Prio3:
        """Prio3MultihotCountVec: the sum of vectors of zeros and ones, with at most `max_weight` ones."""
        return cls(5, MultihotCountVec(length, max_weight, chunk_length), shares)

    @classmethod
    def sum_vec_with_multiproof(
        cls,
        length: int,
        max_measurement: int,
        chunk_length: int,
        shares: int = 2,
        proofs: int = 3,
        field: Field = FIELD64,
    ) -> Prio3:
        """Prio3SumVec over the small field, with several proofs; its identifier is one for private use."""
        return cls(_PRIVATE_USE, SumVec(length, max_measurement, chunk_length, field), shares, proofs)

    @classmethod
    def higher_degree(cls, shares: int = 2) -> Prio3:
        """The sum of 0, 1 and 2, proved by a gadget of degree three: for test vectors only."""
        return cls(_PRIVATE_USE, HigherDegree(), shares)

    @cached_property
    def flp(self) -> Flp:
        """The proof system."""
        return Flp(self.circuit)

    @property
    def rand_size(self) -> int:
        """Random bytes that sharding takes."""
        return SEED_SIZE * self.shares * (2 if self.circuit.joint_rand_len else 1)

    @property
    def public_share_size(self) -> int:
        """Bytes of a public share."""
        return SEED_SIZE * self.shares if self.circuit.joint_rand_len else 0

    def input_share_size(self, agg_id: int) -> int:
        """Bytes of an aggregator's input share."""
        circuit = self.circuit
        leader = (circuit.meas_len + circuit.proof_len * self.proofs) * circuit.field.encoded_size
        return (leader if agg_id == 0 else SEED_SIZE) + self.verifier_message_size

    @property
    def verifier_share_size(self) -> int:
        """Bytes of a verifier share."""
        elements = self.circuit.verifier_len * self.proofs
        return elements * self.circuit.field.encoded_size + self.verifier_message_size

    @property
    def verifier_message_size(self) -> int:
        """Bytes of a verifier message."""
        return SEED_SIZE if self.circuit.joint_rand_len else 0

    @property
    def agg_share_size(self) -> int:
        """Bytes of an aggregate share."""
        return self.circuit.output_len * self.circuit.field.encoded_size

    def domain_separation_tag(self, usage: int, ctx: bytes) -> bytes:
        """What keeps streams for different ends, algorithms and applications apart."""
        return bytes([versions.VDAF, 0]) + self.algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big") + ctx

    def shard(self, ctx: bytes, measurement: Any, nonce: bytes, rand: bytes) -> tuple[bytes, list[bytes]]:
        """A report: the public share and each aggregator's input share.

        Args:
            ctx: The application's context, the same for all who take part.
            measurement: What is reported.
            nonce: 16 bytes that no other report has; they are public.
            rand: `rand_size` secret random bytes, used once.
        """
        _sized("nonce", nonce, NONCE_SIZE)
        _sized("randomness", rand, self.rand_size)
        meas = self.circuit.encode(measurement)[None]
        public, inputs = rows.shard(self, ctx, meas, _row(nonce), _row(rand))
        return public.tobytes(), [share.tobytes() for share in inputs]

    def verify_init(
        self, verify_key: bytes, ctx: bytes, agg_id: int, nonce: bytes, public_share: bytes, input_share: bytes
    ) -> tuple[VerifyState, bytes]:
        """An aggregator's first step: what it keeps, and its verifier share for the others."""
        self.check_aggregator(verify_key, agg_id)
        _sized("nonce", nonce, NONCE_SIZE)
        _sized("public share", public_share, self.public_share_size)
        _sized("input share", input_share, self.input_share_size(agg_id))
        done = rows.verify_init(self, verify_key, ctx, agg_id, _row(nonce), _row(public_share), _row(input_share))
        if not done.valid[0]:
            raise InvalidReportError("the input share cannot be used")
        return VerifyState(done.out_shares[0], done.joint_rand_seeds.tobytes()), done.verifier_shares.tobytes()

    def verifier_shares_to_message(self, ctx: bytes, verifier_shares: Sequence[bytes]) -> bytes:
        """The verifier message from all aggregators' verifier shares, in their order; an error if the proof fails."""
        if len(verifier_shares) != self.shares:
            raise InvalidReportError(f"{self.shares} verifier shares are needed, not {len(verifier_shares)}")
        for share in verifier_shares:
            _sized("verifier share", share, self.verifier_share_size)
        message, valid = rows.verifier_shares_to_message(self, ctx, [_row(share) for share in verifier_shares])
        if not valid[0]:
            raise InvalidReportError("the proof fails")
        return message.tobytes()

    def verify_next(self, state: VerifyState, verifier_message: bytes) -> Words:
        """An aggregator's last step: the output share, which may now be added up."""
        _sized("verifier message", verifier_message, self.verifier_message_size)
        if not hmac.compare_digest(verifier_message, state.joint_rand_seed):
            raise InvalidReportError("the joint randomness is not what the client promised")
        return state.out_share

    def agg_init(self) -> Words:
        """The aggregate share of no report."""
        return self.circuit.field.zeros(self.circuit.output_len)

    def agg_update(self, agg_share: Words, *out_shares: Words) -> Words:
        """An aggregate share with more output shares in it."""
        return self.merge([agg_share, *out_shares])

    def merge(self, agg_shares: Iterable[Words]) -> Words:
        """The sum of aggregate shares."""
        return self.circuit.field.sum(np.stack([self.agg_init(), *agg_shares]))

    def unshard(self, agg_shares: Sequence[Words], num_measurements: int) -> Any:
        """The result, from the aggregate shares of all aggregators over the same reports."""
        if len(agg_shares) != self.shares:
            raise DiscreetError(f"{self.shares} aggregate shares are needed, not {len(agg_shares)}")
        return self.circuit.decode(self.merge(agg_shares), num_measurements)

    def encode_agg_share(self, agg_share: Words) -> bytes:
        """An aggregate share (or an output share) as bytes."""
        return self.circuit.field.encode_vec(agg_share)

    def decode_agg_share(self, encoded: bytes) -> Words:
        """An aggregate share (or an output share) from bytes."""
        _sized("aggregate share", encoded, self.agg_share_size)
        return self.circuit.field.decode_vec(encoded, self.circuit.output_len)

    def encode_verify_state(self, state: VerifyState) -> bytes:
        """A state as bytes, for an aggregator's own store."""
        return self.encode_agg_share(state.out_share) + state.joint_rand_seed

    def decode_verify_state(self, encoded: bytes) -> VerifyState:
        """A state from an aggregator's own store."""
        _sized("verification state", encoded, self.agg_share_size + self.verifier_message_size)
        return VerifyState(self.decode_agg_share(encoded[: self.agg_share_size]), encoded[self.agg_share_size :])

    def check_aggregator(self, verify_key: bytes, agg_id: int) -> None:
        """An error unless there is such an aggregator and the key has its size."""
        if not 0 <= agg_id < self.shares:
            raise DiscreetError(f"aggregators are numbered from 0 to {self.shares - 1}, there is no {agg_id}")
        if len(verify_key) != VERIFY_KEY_SIZE:
            raise DiscreetError(f"the verification key has {VERIFY_KEY_SIZE} bytes, not {len(verify_key)}")


def _row(message: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(message, np.uint8)[None]


def _sized(what: str, message: bytes, size: int) -> None:
    if len(message) != size:
        raise InvalidReportError(f"the {what} has {size} bytes, not {len(message)}")
