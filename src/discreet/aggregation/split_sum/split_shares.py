"""A party's side of a split sum: a masked vector for the leader, and the mask's seed, sealed, for the helper.

A party with the vector x draws a seed s of 32 bytes. The leader gets x − mask(s) mod 2⁶⁴. The helper gets s, sealed to
its key by HPKE and passed on by the leader. The leader adds up what it has, the helper answers with Σ mask(s) over all
parties, and both together are Σ x.

**What each learns.** Let Σ x over all parties be what may be known. The helper sees seeds, which do not depend on any
x. The leader sees vectors that are uniform without the seeds (ChaCha20 is a pseudorandom generator, HPKE hides them),
and one vector Σ mask(s), which follows from the sum. So either of them, together with any parties, learns from the
protocol what follows from the sum and from those parties' own vectors, and nothing else. Leader and helper together
see every x.

**Why no other sum is opened.** The digest of the terms says job, task, length, and every party's number and key. It is
in the additional data of the seal, and each party signs it with its sealed seed. The helper has the roster from the
parties, not from the leader. It adds up one share of every party in it, all of one digest, or nothing: a leader cannot
leave a party out, make one up, or mix two tasks. It needs no memory: a party gives the same vector to the same task
whenever it is asked (`edge.vendor.contribution_record`), so a sum that is opened again is the same sum.

Nobody proves that its vector is honest. A party's vector is a sum over people whom only the party knows, with noise:
a bound that it could prove would have to hold for all of them, and would bound nothing of use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from secrets import token_bytes
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.messages import HpkeConfig
from discreet.aggregation.secure_sum.encoding import ByteReader, head, lump, number
from discreet.aggregation.secure_sum.keys import SIGNATURE_BYTES, Identity, is_signed
from discreet.aggregation.secure_sum.masks import DTYPES, KEY_BYTES, add_mask, to_lattice
from discreet.aggregation.secure_sum.refusals import MalformedMessage, WrongSignature

INFO = b"discreet split sum 1: seed for the helper"
BITS = 64
ENC_BYTES = 32
SEALED_BYTES = ENC_BYTES + KEY_BYTES + 16
"""HPKE's encapsulated key, the seed, and the tag."""
MAX_LENGTH = 8_000_000

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class SplitTerms:
    """What all parties of a sum, and the helper, must agree on.

    Attributes:
        purpose: What the vectors mean, and among whom: job, task and roster (`nodes.requests.purpose`).
        roster: Every party's public key; all of them are in the sum.
        length: How long the vectors are.
    """

    purpose: bytes
    roster: Mapping[int, bytes]
    length: int

    def __post_init__(self) -> None:
        if len(self.roster) < 2 or not 1 <= self.length <= MAX_LENGTH:
            raise ValueError(f"a split sum has at least 2 parties and from 1 to {MAX_LENGTH:,} entries")

    @cached_property
    def digest(self) -> bytes:
        """The hash of all of it."""
        keys = b"".join(number(party) + key for party, key in sorted(self.roster.items()))
        return sha256(b"|".join((b"discreet split sum 1", self.purpose, number(self.length), keys))).digest()

    def bound(self, party: int) -> bytes:
        """What a party's seed is bound to."""
        return self.digest + number(party)


@dataclass(frozen=True, eq=False)
class SplitShare:
    """What a party sends to the leader.

    Attributes:
        context: The digest of the terms.
        party: Its number.
        sealed: The seed, which the helper alone can open.
        signature: Of the terms and the sealed seed.
        masked: The vector less the mask, mod 2⁶⁴.
    """

    KIND: ClassVar[int] = 64
    context: bytes
    party: int
    sealed: bytes
    signature: bytes
    masked: Words

    def to_bytes(self) -> bytes:
        """The form in which it travels."""
        fixed = (head(self.KIND, self.context), number(self.party), self.sealed, self.signature)
        return b"".join((*fixed, lump(self.masked.astype("<u8").tobytes())))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of `to_bytes`.

        Raises:
            Refused: the bytes are not exactly one share.
        """
        reader = ByteReader(data, cls.KIND)
        party, sealed, signature = reader.number(), reader.take(SEALED_BYTES), reader.take(SIGNATURE_BYTES)
        masked = reader.lump()
        reader.finish()
        if len(masked) % 8:
            raise MalformedMessage("a share is not of whole numbers of 8 bytes")
        return cls(reader.context, party, sealed, signature, np.frombuffer(masked, DTYPES[BITS]).astype(np.uint64))

    def check(self, terms: SplitTerms, party: int) -> None:
        """Whether it is this party's, of these terms.

        Raises:
            Refused: it is not.
        """
        if self.context != terms.digest or self.party != party or len(self.masked) != terms.length:
            raise MalformedMessage(f"a share is not that of party {party} for this sum")
        check_signature(terms, party, self.sealed, self.signature)


def split(contribution: Contribution, terms: SplitTerms, identity: Identity, helper: HpkeConfig) -> SplitShare:
    """Cut a vector into two shares; whoever sees one of them sees random bytes."""
    from discreet.aggregation.dap.hpke import seal

    if len(contribution.values) != terms.length:
        raise ValueError(f"the sum has {terms.length} entries, the contribution {len(contribution.values)}")
    seed = token_bytes(KEY_BYTES)
    masked = to_lattice(contribution.values, BITS)
    add_mask(masked, seed, subtract=True)
    found = seal(helper, INFO, terms.bound(identity.client), seed)
    sealed = found.enc + found.payload
    signature = identity.sign(_signed(terms, identity.client, sealed))
    return SplitShare(terms.digest, identity.client, sealed, signature, masked.astype(np.uint64))


def check_signature(terms: SplitTerms, party: int, sealed: bytes, signature: bytes) -> None:
    """Whether a party of the roster has sealed this for these terms.

    Raises:
        WrongSignature: it has not.
    """
    if not is_signed(terms.roster[party], _signed(terms, party, sealed), signature):
        raise WrongSignature(party)


def _signed(terms: SplitTerms, party: int, sealed: bytes) -> bytes:
    return sha256(b"split share|" + terms.bound(party) + sealed).digest()
