"""Reports on their way to the disk: committed in batches, and acknowledged only after the commit."""

from __future__ import annotations

import asyncio
import contextlib
import math
import queue
import threading
import time
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from discreet.database.queue_batches import batches
from discreet.serving.logs import log_seldom
from discreet.serving.refusal import RequestRefusal
from discreet.serving.server_store import KeptReport, Outcome, ServerStore

KEEP_SECONDS = 5.0


@dataclass(frozen=True, eq=False)
class _Entry:
    report: KeptReport
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Outcome | None]


class Journal:
    """A thread that writes reports, batch by batch. A full queue is answered with 503, not with waiting."""

    def __init__(self, store: ServerStore, capacity: int = 2000) -> None:
        self._store = store
        self.failed_at = -math.inf  # when a report could last not be kept, by time.monotonic()
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
            raise RequestRefusal(503, "too many reports at once; send it again", retry_after=2) from None
        try:
            async with asyncio.timeout(KEEP_SECONDS):
                outcome = await entry.answer
        except TimeoutError:
            self.failed_at = time.monotonic()
            raise RequestRefusal(503, "the report was not kept in time; send it again later", retry_after=10) from None
        if outcome is None:
            raise RequestRefusal(503, "the report could not be kept; send it again later", retry_after=10)
        return outcome

    def close(self) -> None:
        """Write what is waiting, then stop; give up on a database that does not answer."""
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=KEEP_SECONDS)
            self._thread.join(KEEP_SECONDS)

    def _work(self) -> None:
        for batch in batches(self._queue):
            self._write(batch)

    def _write(self, batch: list[_Entry]) -> None:
        batch = [entry for entry in batch if not entry.answer.cancelled()]  # those were asked to come again
        outcomes: list[Outcome | None]
        try:
            outcomes = list(self._store.keep_reports([entry.report for entry in batch]))
        except SQLAlchemyError as error:
            self.failed_at = time.monotonic()
            log_seldom("error", "reports were not kept", cause=_cause(error))
            outcomes = [None] * len(batch)
        for entry, outcome in zip(batch, outcomes, strict=True):
            if not entry.loop.is_closed():
                entry.loop.call_soon_threadsafe(_resolve, entry.answer, outcome)


def _resolve(answer: asyncio.Future[Outcome | None], outcome: Outcome | None) -> None:
    if not answer.done():  # the device may have hung up
        answer.set_result(outcome)


def _cause(error: SQLAlchemyError) -> str:
    """What kind of error it was: SQLite's name for it (SQLITE_FULL), or its class. A message could hold values."""
    original = getattr(error, "orig", None) or error
    return str(getattr(original, "sqlite_errorname", type(original).__name__))
