"""Whether the server is ready, asked with a deadline; and closing with one. A database that hangs holds up neither."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from discreet.serving.service import Service

ANSWER_SECONDS = 1.5
CLOSE_SECONDS = 8.0
_FRESH_SECONDS = 5.0


class Readiness:
    """There is a catalogue to rank, and the database takes what is written to it.

    The database is tried with a real write, at most once in five seconds, and at once after a report could not be kept.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._trial: asyncio.Future[None] | None = None
        self._began = 0.0

    async def why_not(self) -> str:
        """What is missing, or nothing."""
        if not self._service.updater.ready:
            return "the catalogue is being prepared"
        if not len(self._service.updater.snapshot):
            return "the catalogue is empty"
        trial = self._current_trial()
        await asyncio.wait([trial], timeout=ANSWER_SECONDS)
        if not trial.done():
            return "the database does not answer"
        return "the database takes no writes" if trial.exception() else ""

    def _current_trial(self) -> asyncio.Future[None]:
        oldest = max(time.monotonic() - _FRESH_SECONDS, self._service.journal.failed_at)
        if self._trial is None or (self._trial.done() and self._began < oldest):
            self._trial, self._began = in_background(self._service.store.try_to_write), time.monotonic()
        return self._trial


async def closed_in_time(close: Callable[[], None]) -> bool:
    """Close something, but not for ever; whether it was done in time."""
    closing = in_background(close)
    await asyncio.wait([closing], timeout=CLOSE_SECONDS)
    return closing.done() and closing.exception() is None


def in_background(work: Callable[[], None]) -> asyncio.Future[None]:
    """Do something in a thread of its own, which keeps neither a pool nor the end of the process waiting."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
            done.exception()  # asked for, so that nobody who gave up is blamed

    def run() -> None:
        error = None
        try:
            work()
        except Exception as found:
            error = found
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=run, daemon=True).start()
    return done
