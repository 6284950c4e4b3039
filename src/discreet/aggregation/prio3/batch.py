"""Verification of many reports at once: on all processors, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.prio3 import report_rows as rows
from discreet.aggregation.prio3.prio3 import NONCE_SIZE, Prio3, VerifyState

Bytes = NDArray[np.uint8]
T = TypeVar("T")
U = TypeVar("U")

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class VerifierInput:
    """What one aggregator has of a report."""

    nonce: bytes
    public_share: bytes
    input_share: bytes


def verify_init_batch(
    prio3: Prio3, verify_key: bytes, ctx: bytes, agg_id: int, reports: Sequence[VerifierInput], threads: int = 1
) -> list[tuple[VerifyState, bytes] | None]:
    """`Prio3.verify_init` for each report, in order; None for one that must be refused."""
    prio3.check_aggregator(verify_key, agg_id)

    def chunk(reports: Sequence[VerifierInput]) -> list[tuple[VerifyState, bytes] | None]:
        nonces, nonce_fits = _rows([report.nonce for report in reports], NONCE_SIZE)
        publics, public_fits = _rows([report.public_share for report in reports], prio3.public_share_size)
        inputs, input_fits = _rows([report.input_share for report in reports], prio3.input_share_size(agg_id))
        done = rows.verify_init(prio3, verify_key, ctx, agg_id, nonces, publics, inputs)
        valid = done.valid & nonce_fits & public_fits & input_fits
        return [
            (VerifyState(out_share, seed.tobytes()), share.tobytes()) if accepted else None
            for out_share, seed, share, accepted in zip(
                done.out_shares, done.joint_rand_seeds, done.verifier_shares, valid, strict=True
            )
        ]

    return _in_chunks(chunk, reports, prio3.input_share_size(0), threads)


def verifier_shares_to_message_batch(
    prio3: Prio3, ctx: bytes, verifier_shares: Sequence[Sequence[bytes]], threads: int = 1
) -> list[bytes | None]:
    """`Prio3.verifier_shares_to_message` for each report's shares, in order; None where it must be refused."""

    def chunk(reports: Sequence[Sequence[bytes]]) -> list[bytes | None]:
        valid = np.array([len(shares) == prio3.shares for shares in reports])
        by_aggregator = []
        for agg_id in range(prio3.shares):
            shares = [shares[agg_id] if agg_id < len(shares) else b"" for shares in reports]
            matrix, fits = _rows(shares, prio3.verifier_share_size)
            by_aggregator.append(matrix)
            valid &= fits
        messages, proved = rows.verifier_shares_to_message(prio3, ctx, by_aggregator)
        return [
            message.tobytes() if accepted else None for message, accepted in zip(messages, valid & proved, strict=True)
        ]

    return _in_chunks(chunk, verifier_shares, prio3.shares * prio3.verifier_share_size, threads)


def _rows(messages: list[bytes], size: int) -> tuple[Bytes, NDArray[np.bool_]]:
    """The messages as a matrix, zeros where one has another size, and which have the right one."""
    fits = np.array([len(message) == size for message in messages])
    whole = b"".join(message if len(message) == size else bytes(size) for message in messages)
    return np.frombuffer(whole, np.uint8).reshape(len(messages), size), fits


def _in_chunks(run: Callable[[Sequence[T]], list[U]], items: Sequence[T], size: int, threads: int) -> list[U]:
    most = max(1, _CHUNK_BYTES // max(1, size))
    count = min(most, max(1, -(-len(items) // threads)))
    chunks = [items[first : first + count] for first in range(0, len(items), count)]
    if threads == 1 or len(chunks) <= 1:
        return [result for chunk in chunks for result in run(chunk)]
    with ThreadPoolExecutor(threads) as pool:
        return [result for results in pool.map(run, chunks) for result in results]
