"""Reports on their way to the disk: committed in batches, and acknowledged only after the commit."""

from __future__ import annotations

import asyncio
import queue
import threading
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from discreet.serving.logs import log
from discreet.serving.refusal import Refusal
from discreet.serving.store import KeptReport, Outcome, Store

_BATCH = 256


@dataclass(frozen=True, eq=False)
class _Entry:
    report: KeptReport
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Outcome | None]


class Journal:
    """A thread that writes reports, batch by batch. A full queue is answered with 503, not with waiting."""

    def __init__(self, store: Store, capacity: int = 2000) -> None:
        self._store = store
        self._queue: queue.Queue[_Entry | None] = queue.Queue(capacity)
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._thread.start()

    async def keep(self, report: KeptReport) -> Outcome:
        """Return when the report is on the disk, or refuse it as a whole."""
        loop = asyncio.get_running_loop()
        entry = _Entry(report, loop, loop.create_future())
        try:
            self._queue.put_nowait(entry)
        except queue.Full:
            raise Refusal(503, "too many reports at once; send it again", retry_after=2) from None
        outcome = await entry.answer
        if outcome is None:
            raise Refusal(503, "the report could not be kept; send it again later", retry_after=10)
        return outcome

    def close(self) -> None:
        """Write what is waiting, then stop."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (entry := self._queue.get()) is not None:
            batch, last = [entry], False
            while len(batch) < _BATCH and not last:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                last = more is None
                if more is not None:
                    batch.append(more)
            self._write(batch)
            if last:
                return

    def _write(self, batch: list[_Entry]) -> None:
        outcomes: list[Outcome | None]
        try:
            outcomes = list(self._store.keep_reports([entry.report for entry in batch]))
        except SQLAlchemyError as error:
            log("error", "reports were not kept", count=len(batch), cause=_cause(error))
            outcomes = [None] * len(batch)
        for entry, outcome in zip(batch, outcomes, strict=True):
            if not entry.loop.is_closed():
                entry.loop.call_soon_threadsafe(_resolve, entry.answer, outcome)


def _resolve(answer: asyncio.Future[Outcome | None], outcome: Outcome | None) -> None:
    if not answer.done():  # the device may have hung up
        answer.set_result(outcome)


def _cause(error: SQLAlchemyError) -> str:
    """The database's own words, which have no values in them: 'database is locked', 'disk is full'."""
    original = getattr(error, "orig", None)
    return type(original or error).__name__
