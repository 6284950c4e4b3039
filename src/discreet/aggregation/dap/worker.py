"""The leader's threads: one keeps uploads, many with one commit; one for each helper brings what it must verify."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future

from discreet.aggregation.dap.collection import CollectionJobs
from discreet.aggregation.dap.leader import Leader, Upload
from discreet.aggregation.dap.leader_store import LeaderStore
from discreet.aggregation.dap.messages import ReportError
from discreet.aggregation.dap.retention import ClockWatch
from discreet.database.queue_batches import batches
from discreet.errors import DiscreetError

KEEP_SECONDS = 5.0
UPLOAD_SECONDS = 20.0
"""How long an upload may wait for the disk: on a busy machine a commit takes seconds, and a refused one comes again."""
_FORGET_EVERY = 3600.0

Kept = list[ReportError | None]
Log = Callable[[str, str], None]
"""(level, event): where a thread reports what went wrong."""


class IntakeError(DiscreetError):
    """Reports that were not kept, and may be sent again."""


class Intake:
    """Commits uploads in the order of their coming, as many at once as wait. Where too many wait, it refuses."""

    def __init__(self, store: LeaderStore, log: Log, capacity: int = 2000) -> None:
        self._store, self._log = store, log
        self._queue: queue.Queue[tuple[Upload, Future[Kept]] | None] = queue.Queue(capacity)
        self._thread = threading.Thread(target=self._work, name="dap-intake", daemon=True)
        self._thread.start()

    def keep(self, upload: Upload) -> Future[Kept]:
        """Keep an upload; the future is there when it is on the disk, or fails with an `IntakeError`."""
        done: Future[Kept] = Future()
        try:
            self._queue.put_nowait((upload, done))
        except queue.Full:
            done.set_exception(IntakeError("too many reports at once; send them again"))
        return done

    def close(self) -> None:
        """Write what waits, then stop."""
        self._queue.put(None)
        self._thread.join(KEEP_SECONDS)

    def _work(self) -> None:
        for batch in batches(self._queue):
            self._write(batch)

    def _write(self, batch: list[tuple[Upload, Future[Kept]]]) -> None:
        waiting = [(upload, done) for upload, done in batch if done.set_running_or_notify_cancel()]
        try:
            results = self._store.keep([(upload.task, upload.reports) for upload, _ in waiting])
        except Exception as error:  # of the database, or a mistake; the next batch may do better
            self._log("error", f"reports were not kept ({type(error).__name__})")
            for _, done in waiting:
                done.set_exception(IntakeError("the reports could not be kept; send them again later"))
            return
        for (_, done), result in zip(waiting, results, strict=True):
            done.set_result(result)


class Worker:
    """Works for a leader in the background: every `seconds`, and when it is woken.

    Each helper has a thread of its own, so that one that is slow holds up nobody else's sums.

    Args:
        leader: For whom.
        seconds: How long reports wait at most before they are brought to the helper.
        keep_seconds: How long after a window's end what is about it is deleted.
        log: Where problems are reported.
    """

    def __init__(self, leader: Leader, seconds: float, keep_seconds: float, log: Log) -> None:
        self.refused: Counter[str] = Counter()
        """How many reports were refused since the start, by reason."""
        self.reached: dict[str, bool] = {}
        """Of each task, whether its helper answered the last time."""
        self.clock = ClockWatch(leader.clock_problem, log)
        self.collections = CollectionJobs(leader, self.wake)
        self.intake = Intake(leader.store, log)
        self._leader, self._seconds, self._keep_seconds, self._log = leader, seconds, keep_seconds, log
        self.leads: Callable[[], bool] = lambda: True
        """Whether this process does the work; of several on one database, one should."""
        self._woken = {agreement.task.helper: threading.Event() for agreement, _ in leader.tasks.values()}
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._tidy, name="dap-tidy", daemon=True),
            *(threading.Thread(target=self._work, args=(url,), name="dap-worker", daemon=True) for url in self._woken),
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """There is something to do."""
        for woken in self._woken.values():
            woken.set()

    def close(self) -> None:
        """Stop; what is not finished is continued at the next start."""
        self._stopped.set()
        self.wake()
        self.intake.close()
        deadline = time.monotonic() + KEEP_SECONDS
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))
        self._leader.store.close()

    def step(self, helper: str | None = None) -> None:
        """Do all that there is to do, with one helper or with all."""
        for task_id, (agreement, _) in self._leader.tasks.items():
            if self._stopped.is_set():
                return
            if helper not in (None, agreement.task.helper):
                continue
            reached = self._leader.run_jobs(task_id)
            reached = self.collections.run(task_id) and reached
            self.reached[agreement.task.name] = reached
            if not reached:
                self._log("warning", f"the helper of task {agreement.task.name} could not be asked")

    def _work(self, helper: str) -> None:
        while not self._stopped.is_set():
            try:
                if self.leads():
                    self.step(helper)
            except Exception as error:  # whatever it was, the next round may do better
                self._log("error", f"work for the helper failed ({type(error).__name__})")
            self._woken[helper].wait(self._seconds)
            self._woken[helper].clear()

    def _tidy(self) -> None:
        due = time.monotonic()  # the clock may be wrong
        while not self._stopped.is_set():
            try:
                self.clock.look()
                if self.leads() and time.monotonic() >= due:
                    self._leader.forget(self._keep_seconds)
                    due = time.monotonic() + _FORGET_EVERY
            except Exception as error:  # the next round may do better
                self._log("error", f"old data was not deleted ({type(error).__name__})")
            self._stopped.wait(self._seconds)
