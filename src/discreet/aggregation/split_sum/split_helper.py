"""The helper of a split sum: it adds up the masks of all parties, or none. It keeps nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from discreet.aggregation.dap.hpke import DecryptError, HpkeKey, unseal
from discreet.aggregation.dap.messages import HpkeCiphertext
from discreet.aggregation.secure_sum.masks import DTYPES, KEY_BYTES, add_mask
from discreet.aggregation.secure_sum.refusals import MalformedShare, Refused
from discreet.aggregation.split_sum.helper_request import HelperRequest
from discreet.aggregation.split_sum.split_shares import (
    BITS,
    ENC_BYTES,
    INFO,
    MAX_LENGTH,
    SEALED_BYTES,
    SplitTerms,
    check_signature,
)

Purpose = Callable[[bytes, bytes, Mapping[int, bytes]], bytes]
"""What the vectors of a job and a task mean in a roster."""


class SplitHelper:
    """Answers a leader, whom it need not trust.

    Args:
        key: Parties seal their seeds to it.
        roster: Every party's public key, from the parties.
        purpose: As parties compute it.
    """

    def __init__(self, key: HpkeKey, roster: Mapping[int, bytes], purpose: Purpose) -> None:
        self._key = key
        self._roster = dict(roster)
        self._purpose = purpose

    def answer(self, request: bytes) -> bytes:
        """The sum of all masks, as words of 8 bytes.

        Raises:
            Refused: a party is missing, made up, or has given its share to another sum. Nothing is opened then.
        """
        asked = HelperRequest.from_bytes(request)
        terms = self._terms(asked)
        for party, parcel in asked.seeds:
            check_signature(terms, party, parcel[:SEALED_BYTES], parcel[SEALED_BYTES:])
        seeds = [self._seed(terms, party, parcel[:SEALED_BYTES]) for party, parcel in asked.seeds]
        total = np.zeros(terms.length, DTYPES[BITS])
        for seed in seeds:
            add_mask(total, seed)
        return total.tobytes()

    def _terms(self, asked: HelperRequest) -> SplitTerms:
        if [party for party, _ in asked.seeds] != sorted(self._roster):
            raise Refused(f"a sum is over all {len(self._roster)} parties of the helper's roster, and over nobody else")
        if not 1 <= asked.length <= MAX_LENGTH:
            raise Refused(f"a sum has from 1 to {MAX_LENGTH:,} entries")
        terms = SplitTerms(self._purpose(asked.job, asked.task, self._roster), self._roster, asked.length)
        if terms.digest != asked.context:
            raise Refused("the leader has another roster than the helper")
        return terms

    def _seed(self, terms: SplitTerms, party: int, sealed: bytes) -> bytes:
        found = HpkeCiphertext(self._key.config.id, sealed[:ENC_BYTES], sealed[ENC_BYTES:])
        try:
            seed = unseal(self._key, INFO, terms.bound(party), found)
        except DecryptError:
            raise MalformedShare(f"the seed of party {party} is not sealed to this helper's key") from None
        if len(seed) != KEY_BYTES:
            raise MalformedShare(f"the seed of party {party} is no seed")
        return seed
