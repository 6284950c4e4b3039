"""The ping-pong of two aggregators: the leader sends its verifier share, the helper answers with the verifier message.

Prio3 has one round, so a report is through after one request and one response. Batches go in and come out in order;
None stands for a report that is rejected.

**Both accept a report, or neither does.** With joint randomness, an aggregator derives it from its own part and the
public share's part of the other one. If a client put a false part of the helper there, the helper's randomness would be
right and the leader's wrong: the helper would count a report that the leader rejects. So each first compares its own
part with the one in the public share. Then both derive the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.prio3.batch import VerifierInput, verifier_shares_to_message_batch, verify_init_batch
from discreet.aggregation.prio3.prio3 import InvalidReportError, Prio3, VerifyState

Words = NDArray[np.uint64]

_INITIALIZE, _FINISH = 0, 2
_HEAD = 5


@dataclass(frozen=True, eq=False)
class Continued:
    """The leader waits for the answer to `outbound`."""

    verify_state: VerifyState
    outbound: bytes


@dataclass(frozen=True, eq=False)
class FinishedWithOutbound:
    """The helper has its output share; the leader needs `outbound` for its own."""

    out_share: Words
    outbound: bytes


def leader_init(
    prio3: Prio3, verify_key: bytes, ctx: bytes, reports: Sequence[VerifierInput], threads: int = 1
) -> list[Continued | None]:
    """The leader's first step for each report."""
    done = _verify_init(prio3, verify_key, ctx, 0, reports, threads)
    return [first and Continued(first[0], _encoded(_INITIALIZE, first[1])) for first in done]


def helper_init(
    prio3: Prio3,
    verify_key: bytes,
    ctx: bytes,
    reports: Sequence[VerifierInput],
    inbound: Sequence[bytes],
    threads: int = 1,
) -> list[FinishedWithOutbound | None]:
    """The helper's only step for each report, with what the leader sent for it."""
    done = _verify_init(prio3, verify_key, ctx, 1, reports, threads)
    pairs = [
        (_decoded(_INITIALIZE, message) or b"", first[1] if first else b"")
        for message, first in zip(inbound, done, strict=True)
    ]
    messages = verifier_shares_to_message_batch(prio3, ctx, pairs, threads)
    return [_finished(prio3, first, message) for first, message in zip(done, messages, strict=True)]


def leader_continued(prio3: Prio3, verify_state: VerifyState, inbound: bytes) -> Words:
    """The leader's output share, with what the helper answered; an error if the report is rejected."""
    message = _decoded(_FINISH, inbound)
    if message is None:
        raise InvalidReportError("the helper's answer is not the end of a ping-pong")
    return prio3.verify_next(verify_state, message)


def _verify_init(
    prio3: Prio3, verify_key: bytes, ctx: bytes, agg_id: int, reports: Sequence[VerifierInput], threads: int
) -> list[tuple[VerifyState, bytes] | None]:
    """An aggregator's first step; None also for a report whose public share has another part than its own."""
    part = slice(agg_id * prio3.verifier_message_size, (agg_id + 1) * prio3.verifier_message_size)
    own = prio3.verifier_share_size - prio3.verifier_message_size  # a verifier share ends with the sender's part
    return [
        first if first and first[1][own:] == report.public_share[part] else None
        for report, first in zip(
            reports, verify_init_batch(prio3, verify_key, ctx, agg_id, reports, threads), strict=True
        )
    ]


def _finished(
    prio3: Prio3, first: tuple[VerifyState, bytes] | None, message: bytes | None
) -> FinishedWithOutbound | None:
    if first is None or message is None:
        return None
    try:
        return FinishedWithOutbound(prio3.verify_next(first[0], message), _encoded(_FINISH, message))
    except InvalidReportError:
        return None


def _encoded(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + len(content).to_bytes(4, "big") + content


def _decoded(kind: int, message: bytes) -> bytes | None:
    """The content of a message of one kind; None if it is not one."""
    content = message[_HEAD:]
    return content if message[:_HEAD] == _encoded(kind, content)[:_HEAD] else None
