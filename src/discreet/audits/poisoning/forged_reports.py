"""Reports to a sum that say more than one reader may, through the shipped Prio3.

A lying device writes what it likes into a measurement and proves it as well as it can. What both aggregators accept is
added up: that is how far one report moves the sum.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.prio3 import Prio3
from discreet.aggregation.prio3.circuits import MultihotCountVec, Words, range_checked
from discreet.aggregation.prio3.prio3 import InvalidReportError

_CONTEXT = b"forged reports"


@dataclass(frozen=True)
class AnyEntries(MultihotCountVec):
    """Encodes whatever it is given: entries of any size, and any bits for their sum."""

    def encode(self, measurement: Any) -> Words:
        """The elements themselves."""
        return self.field.from_small(np.asarray(measurement, np.uint64))


@dataclass(frozen=True)
class Forger:
    """Sends reports to a task that takes vectors of zeros and ones, at most `max_weight` ones.

    Attributes:
        length: Entries of a vector.
        max_weight: How many may be ones.
        tries: How many lies are tried.
    """

    length: int = 16
    max_weight: int = 1
    tries: int = 200

    def influence(self, seed: int) -> float:
        """The largest L1 norm of an accepted report."""
        rng = np.random.default_rng(seed)
        prio3 = Prio3.multihot_count_vec(self.length, self.max_weight, chunk_length=4)
        key = secrets.token_bytes(32)
        lies = [self._lie(rng) for _ in range(self.tries)]
        return max((accepted_norm(prio3, key, lie) for lie in [self._truth(), *lies]), default=0.0)

    def _truth(self) -> NDArray[np.uint64]:
        """As many ones as are allowed."""
        entries = np.zeros(self.length, np.uint64)
        entries[: self.max_weight] = 1
        return np.concatenate((entries, range_checked([self.max_weight], self.max_weight, 1).ravel()))

    def _lie(self, rng: np.random.Generator) -> NDArray[np.uint64]:
        """One of: a large entry, many ones, ones that are not counted, entries and count at random."""
        lie = self._truth()
        match rng.integers(4):
            case 0:
                lie[rng.integers(self.length)] = rng.integers(2, 1 << 40)
            case 1:
                lie[: self.length] = 1
            case 2:
                lie[: self.length] = rng.integers(0, 2, self.length)
                lie[self.length :] = 0
            case _:
                lie = rng.integers(0, 1 << 40, len(lie)).astype(np.uint64)
        return lie


def accepted_norm(prio3: Prio3, key: bytes, elements: NDArray[np.uint64]) -> float:
    """How far a report of these elements moves the sum; 0 if an aggregator refuses it."""
    honest = prio3.circuit
    assert isinstance(honest, MultihotCountVec)
    liar = replace(prio3, circuit=AnyEntries(honest.length, honest.max_weight, honest.chunk_length))
    nonce = secrets.token_bytes(16)
    public, shares = liar.shard(_CONTEXT, elements, nonce, secrets.token_bytes(prio3.rand_size))
    try:
        begun = [prio3.verify_init(key, _CONTEXT, who, nonce, public, share) for who, share in enumerate(shares)]
        message = prio3.verifier_shares_to_message(_CONTEXT, [verifier for _, verifier in begun])
        out = [prio3.verify_next(state, message) for state, _ in begun]
    except InvalidReportError:
        return 0.0
    return float(np.abs(np.array(prio3.unshard(out, 1), np.float64)).sum())
