"""What all parties of a round must see alike: its terms, its session, its circle of neighbours, its survivors.

Each is a hash into which everything goes that went before, and every message names the hash it belongs to. A message of
another round, of other terms or under other keys is therefore never taken for one of this round.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from hashlib import sha256

from discreet.aggregation.secure_sum.encoding import MAX_ID, number, numbers
from discreet.aggregation.secure_sum.keys import PROTOCOL, PUBLIC_BYTES
from discreet.aggregation.secure_sum.masks import DTYPES
from discreet.aggregation.secure_sum.sum_messages import Advertised
from discreet.aggregation.secure_sum.sum_plan import SumPlan

ROUND_ID_BYTES = 16


class Step(IntEnum):
    """The steps of a round."""

    ADVERTISE = 0
    SHARE = 1
    MASK = 2
    AGREE = 3
    UNMASK = 4
    DONE = 5


@dataclass(frozen=True)
class SumTerms:
    """What is known before the round begins.

    Attributes:
        round_id: 16 bytes that name the round, never used before.
        roster: the public signing key of every client that is invited. A client must know it from somebody else than
            the server: a server that makes up clients could surround a real one with them.
        plan: degree, threshold and quorum.
        length: the number of entries of every vector.
        bits: entries are summed mod 2^bits; 16, 32 or 64.
        purpose: a hash of what the vectors mean, which each client makes of what it was asked itself. Nobody's vector
            is then ever added to one of another meaning: the clients would be in different rounds.
    """

    round_id: bytes
    roster: Mapping[int, bytes] = field(repr=False)
    plan: SumPlan
    length: int
    bits: int = 32
    purpose: bytes = b""

    def __post_init__(self) -> None:
        if len(self.round_id) != ROUND_ID_BYTES:
            raise ValueError(f"a round is named by {ROUND_ID_BYTES} bytes, not {len(self.round_id)}")
        if len(self.roster) != self.plan.clients:
            raise ValueError(f"the plan is for {self.plan.clients} clients, the roster has {len(self.roster)}")
        if len(set(self.roster.values())) != len(self.roster):
            raise ValueError("two clients in the roster have the same key")
        if not all(0 <= c <= MAX_ID and len(key) == PUBLIC_BYTES for c, key in self.roster.items()):
            raise ValueError("a roster has client numbers below 2^32, and public keys of 32 bytes")
        if self.bits not in DTYPES:
            raise ValueError(f"sums are mod 2^16, 2^32 or 2^64, not 2^{self.bits}")
        if not 1 <= self.length <= 0xFFFFFFFF * 8 // self.bits:
            raise ValueError(f"vectors have from 1 to 2^35/bits entries, not {self.length}")
        object.__setattr__(self, "roster", dict(sorted(self.roster.items())))

    @cached_property
    def digest(self) -> bytes:
        """The hash of the terms, to which the first messages belong."""
        p = self.plan
        fixed = struct.pack("<IIIIII", p.clients, p.degree, p.threshold, p.quorum, self.bits, self.length)
        invited = b"".join(number(client) + key for client, key in self.roster.items())
        return _hash(b"terms", self.round_id, fixed, sha256(self.purpose).digest(), invited)

    def session(self, advertised: Advertised) -> bytes:
        """The hash of the terms and of all keys made for the round, to which all later messages belong."""
        return _hash(b"session", self.digest, *(one.digest_to_sign() for one in advertised.advertisements))

    def neighbours(self, session: bytes) -> dict[int, frozenset[int]]:
        """Everybody's neighbours: the degree/2 nearest on either side in a circle ordered by hashes of the session.

        Nobody chooses the order: each client's fresh keys go into it.
        """
        ring = sorted(self.roster, key=lambda client: _hash(b"place", session, number(client)))
        n, reach = len(ring), (self.plan.degree + 1) // 2
        around = 3 * ring
        return {
            client: frozenset(around[n + at - reach : n + at + reach + 1]) - {client} for at, client in enumerate(ring)
        }


def survivors_digest(session: bytes, sharers: Collection[int], survivors: Collection[int]) -> bytes:
    """What clients sign before they unmask: who shared keys, and whose masked input is in the sum."""
    return _hash(b"survivors", session, numbers(sorted(sharers)), numbers(sorted(survivors)))


def _hash(purpose: bytes, *parts: bytes) -> bytes:
    return sha256(b"|".join((PROTOCOL, purpose, *parts))).digest()
