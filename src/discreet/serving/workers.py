"""Several processes of one server: they share a listening socket and a database, and a parent watches over them.

The parent forks before anything with threads is opened. The first worker fills and settles what is settled at a first
start; when it is ready, the others begin. A worker that dies is replaced. If the parent dies, its workers end.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from discreet.serving.logs import log

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_QUICK_SECONDS = 10.0
_MAX_PAUSE = 30.0


@dataclass(frozen=True)
class ServerWorker:
    """This process, as one of the workers.

    Attributes:
        speaks: Whether it tells the operator where the server is.
        ready: To be called when the service is open.
    """

    speaks: bool
    ready: Callable[[], None]


def share_metrics() -> None:
    """Let the workers add up their metrics, in a folder of files. Before prometheus_client is imported."""
    folder, parent = tempfile.mkdtemp(prefix="discreet-metrics-"), os.getpid()
    os.environ[METRICS_FOLDER] = folder

    def remove() -> None:
        if os.getpid() == parent:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)


def become_worker(count: int) -> ServerWorker:
    """Return in each of `count` new processes. The process that calls this watches over them, and ends with them."""
    if count == 1:
        return ServerWorker(True, lambda: None)
    return _Parent(count).fork_all()


class _Parent:
    def __init__(self, count: int) -> None:
        self._count, self._stopping, self._interrupted = count, False, False
        self._began: dict[int, float] = {}
        self._held, self._kept = os.pipe()  # its end tells a worker that the parent is gone
        self._pause = 1.0

    def fork_all(self) -> ServerWorker:
        worker = self._fork(speaks=True)
        if worker is not None:
            return worker
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._stop)
        while len(self._began) < self._count and not self._stopping:
            worker = self._fork()
            if worker is not None:
                return worker
        worker = self._watch()
        if worker is not None:
            return worker
        raise KeyboardInterrupt if self._interrupted else SystemExit(0)

    def _fork(self, *, speaks: bool = False) -> ServerWorker | None:
        """The new worker, in it; None in the parent, when the first one is ready."""
        receiver, sender = os.pipe()
        process = os.fork()
        if process == 0:
            os.setpgid(0, 0)  # Ctrl-C is the parent's, which tells the workers to stop
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.close(receiver)
            os.close(self._kept)
            threading.Thread(target=self._outlive, name="parent", daemon=True).start()

            def ready() -> None:
                with contextlib.suppress(OSError):
                    os.write(sender, b"!")
                    os.close(sender)

            return ServerWorker(speaks, ready)
        os.close(sender)
        self._began[process] = time.monotonic()
        if speaks and not os.read(receiver, 1):  # it ended, and has said why
            os.close(receiver)
            raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        os.close(receiver)
        return None

    def _watch(self) -> ServerWorker | None:
        """Replace workers that die, until all have ended; the new worker, in it."""
        while self._began:
            try:
                process, status = os.wait()
            except InterruptedError:
                continue
            lived = time.monotonic() - self._began.pop(process)
            if self._stopping:
                continue
            self._pause = min(_MAX_PAUSE, 2 * self._pause) if lived < _QUICK_SECONDS else 1.0
            log("error", "a worker ended; another begins", exit=os.waitstatus_to_exitcode(status))
            if lived < _QUICK_SECONDS:
                time.sleep(self._pause)
            if not self._stopping and (worker := self._fork()) is not None:
                return worker
        return None

    def _stop(self, number: int, _: object) -> None:
        self._stopping, self._interrupted = True, number == signal.SIGINT
        for process in self._began:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)

    def _outlive(self) -> None:
        os.read(self._held, 1)
        os.kill(os.getpid(), signal.SIGTERM)
