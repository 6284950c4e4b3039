"""What the ledger hands back when a release is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from discreet.privacy.guarantee import Guarantee


class Origin(StrEnum):
    """Where the bytes come from."""

    FRESH = "fresh"
    KEPT = "kept"
    OLD = "old"


@dataclass(frozen=True)
class LedgerAnswer:
    """A release's bytes, which have been paid for.

    Attributes:
        payload: The bytes that may leave the device, as often as you like.
        guarantee: What they cost when they were made.
        epoch: The epoch they were made for; with origin `old`, another one than was asked for.
        origin: Made just now, kept from before, or an old one in place of one that the budget no longer allows.
    """

    payload: bytes
    guarantee: Guarantee
    epoch: int
    origin: Origin
