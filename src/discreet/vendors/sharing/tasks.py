"""A round as bytes: what the server sends to vendors on other machines. Strict, versioned, exact to the last bit.

    "DSR3", number, kind, share, items, popular, rank, kept   <4sBBdIIII
    of ratings
      1 Opening           emphasis, offset
      2 Pairs             offset, popular
      3 Projections       offset, popular, basis row by row, emphasis
    of purchases
      4 Sales             nothing
      5 SalesPairs        popular
      6 SalesProjections  popular, basis row by row, kept (ascending, the popular ones among them)

`round_bytes` says what arrays are like, and which are refused.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.errors import DiscreetError
from discreet.vendors.implicit.sharing import purchase_plan
from discreet.vendors.implicit.sharing.purchase_rounds import Sales, SalesPairs, SalesProjections
from discreet.vendors.sharing import plan
from discreet.vendors.sharing.contributions import Directions
from discreet.vendors.sharing.job import Feedback, ShareJob
from discreet.vendors.sharing.round_bytes import RoundReader, floats, places
from discreet.vendors.sharing.sharing_rounds import Opening, Pairs, Projections, Round

MAX_ROUNDS = 255
_HEADER = struct.Struct("<4sBBdIIII")
_MAGIC = b"DSR3"


class _Sizes(NamedTuple):
    """How many popular items, directions and kept items a round has; 0 where it has none."""

    popular: int = 0
    rank: int = 0
    kept: int = 0


@dataclass(frozen=True, eq=False)
class SharingTask:
    """The round that is asked for, and its number in the conversation, counted from 0."""

    number: int
    round: Round

    def to_bytes(self, items: int) -> bytes:
        """The bytes that `from_bytes` reads, for a catalogue of so many items."""
        kind, sizes, parts = _written(self.round)
        header = _HEADER.pack(_MAGIC, self.number, kind, self.round.share, items, *sizes)
        return b"".join((header, *parts))

    @classmethod
    def from_bytes(cls, data: bytes, job: ShareJob) -> SharingTask:
        """The task, if it is one of this job.

        Raises:
            DiscreetError: it is not, in one line.
        """
        if len(data) < _HEADER.size or data[:4] != _MAGIC:
            raise DiscreetError("the task is not a round of sharing that this version knows")
        _, number, kind, share, size, *counts = _HEADER.unpack_from(data)
        if size != len(job.items):
            raise DiscreetError(f"the round is about {size} items, the job's catalogue has {len(job.items)}")
        if not 0 < share <= 1:
            raise DiscreetError(f"a round spends a share of the budget above 0 and at most 1, not {share}")
        reader = RoundReader(data[_HEADER.size :], size)
        task = cls(number, _read(kind, job.feedback, share, reader, _Sizes(*counts), size))
        if reader.rest or task.to_bytes(size) != data:
            raise DiscreetError("the round's bytes are not as its header says")
        return task


def _written(asked: Round) -> tuple[int, _Sizes, list[bytes]]:
    match asked:
        case Opening():
            return 1, _Sizes(), [floats(asked.emphasis), floats(asked.offset)]
        case Pairs():
            return 2, _Sizes(len(asked.popular)), [floats(asked.offset), places(asked.popular)]
        case Projections(directions=d):
            parts = [floats(d.offset), places(d.popular), floats(d.basis), floats(d.emphasis)]
            return 3, _Sizes(len(d.popular), d.rank), parts
        case Sales():
            return 4, _Sizes(), []
        case SalesPairs():
            return 5, _Sizes(len(asked.popular)), [places(asked.popular)]
        case SalesProjections():
            sizes = _Sizes(len(asked.popular), asked.basis.shape[1], len(asked.kept))
            return 6, sizes, [places(asked.popular), floats(asked.basis), places(asked.kept)]
    raise TypeError(f"a {type(asked).__name__} cannot be sent")


def _read(kind: int, feedback: Feedback, share: float, reader: RoundReader, sizes: _Sizes, items: int) -> Round:
    popular, rank, kept = sizes
    match feedback, kind:
        case "explicit", 1:
            return Opening(share, reader.emphasis(), reader.offset())
        case "explicit", 2:
            _check(2 <= popular <= min(plan.POPULAR, items))
            return Pairs(share, reader.offset(), reader.places(popular))
        case "explicit", 3:
            _check(2 <= popular <= min(plan.KNOWN, items) and 1 <= rank <= plan.MAX_DIRECTIONS)
            offset, chosen = reader.offset(), reader.places(popular)
            return Projections(share, Directions(offset, chosen, reader.basis(popular, rank), reader.emphasis()))
        case "implicit", 4:
            return Sales(share)
        case "implicit", 5:
            _check(2 <= popular <= min(purchase_plan.POPULAR, items))
            return SalesPairs(share, reader.places(popular))
        case "implicit", 6:
            _check(2 <= popular <= min(purchase_plan.POPULAR, items) and popular <= kept)
            _check(1 <= rank <= purchase_plan.MAX_DIRECTIONS and kept <= min(purchase_plan.MAX_KEPT, items))
            chosen, basis, asked_for = reader.places(popular), reader.basis(popular, rank), reader.places(kept)
            _check(bool((np.diff(asked_for) > 0).all()) and bool(np.isin(chosen, asked_for).all()))
            return SalesProjections(share, chosen, basis, asked_for)
    raise DiscreetError(f"there is no round of kind {kind} for {feedback} feedback")


def _check(allowed: bool) -> None:
    if not allowed:
        raise DiscreetError("the round has other numbers of items or directions than are allowed")
