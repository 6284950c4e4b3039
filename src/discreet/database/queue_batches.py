"""Entries that wait to be written, as many as there are at once: a commit for each of them would be slow."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import TypeVar

Entry = TypeVar("Entry")
_MAX_BATCH = 256


def batches(waiting: queue.Queue[Entry | None]) -> Iterator[list[Entry]]:
    """Wait for entries and take all that are there, in their order; None is the last."""
    while (entry := waiting.get()) is not None:
        batch, last = [entry], False
        while len(batch) < _MAX_BATCH and not last:
            try:
                more = waiting.get_nowait()
            except queue.Empty:
                break
            last = more is None
            if more is not None:
                batch.append(more)
        yield batch
        if last:
            return
