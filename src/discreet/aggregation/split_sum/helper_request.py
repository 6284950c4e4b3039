"""What the leader of a split sum asks the helper, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from discreet.aggregation.secure_sum.encoding import ByteReader, Parcels, check_ascending, head, number, parcels
from discreet.aggregation.secure_sum.keys import SIGNATURE_BYTES
from discreet.aggregation.secure_sum.masks import DTYPES
from discreet.aggregation.secure_sum.refusals import MalformedMessage
from discreet.aggregation.split_sum.split_shares import BITS, SEALED_BYTES, SplitShare, SplitTerms, Words

AskHelper = Callable[[bytes], bytes]
"""The way to the helper: its answer to one request. It raises DiscreetError where there is none."""
_DIGEST = 32


@dataclass(frozen=True, kw_only=True)
class HelperRequest:
    """What the leader asks: the sum of the masks of these sealed seeds.

    Attributes:
        context: The digest of the terms, as the leader has them.
        job: The digest of the job.
        task: That of the task.
        length: How long the vectors are.
        seeds: Each party's sealed seed with its signature, by ascending number.
    """

    KIND: ClassVar[int] = 65
    context: bytes
    job: bytes
    task: bytes
    length: int
    seeds: Parcels

    @classmethod
    def of(cls, terms: SplitTerms, job: bytes, task: bytes, shares: Mapping[int, SplitShare]) -> Self:
        """For the shares that the leader has."""
        seeds = tuple((party, one.sealed + one.signature) for party, one in sorted(shares.items()))
        return cls(context=terms.digest, job=job, task=task, length=terms.length, seeds=seeds)

    def to_bytes(self) -> bytes:
        """The form in which it travels."""
        fixed = (head(self.KIND, self.context), self.job, self.task, number(self.length))
        return b"".join((*fixed, parcels(self.seeds)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of `to_bytes`.

        Raises:
            Refused: the bytes are not exactly one request.
        """
        reader = ByteReader(data, cls.KIND)
        job, task, length = reader.take(_DIGEST), reader.take(_DIGEST), reader.number()
        seeds = reader.parcels(SEALED_BYTES + SIGNATURE_BYTES)
        reader.finish()
        check_ascending((party for party, _ in seeds), "parties")
        return cls(context=reader.context, job=job, task=task, length=length, seeds=seeds)


def read_masks(answer: bytes, terms: SplitTerms) -> Words:
    """The helper's answer.

    Raises:
        MalformedMessage: it has another length than the sum.
    """
    if len(answer) != 8 * terms.length:
        raise MalformedMessage(f"the helper has answered with {len(answer)} bytes, not with {8 * terms.length}")
    return np.frombuffer(answer, DTYPES[BITS]).astype(np.uint64)
