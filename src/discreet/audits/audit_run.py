"""Running audits: all permitted error is shared out, all findings come back in order."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from discreet.audits.audit_registry import Audit
from discreet.privacy.guarantee import Status
from discreet.progress import track
from discreet.protocol.infinity import to_plain

FAMILY_ERROR = 1e-3
_WORTH_A_PROCESS = 4
_ALONE_SECONDS = 5.0
"""A process needs seconds to start: what is done within so many is done here."""


@dataclass(frozen=True)
class Finding:
    """What an audit found: a value that the true one is not below, save with the permitted error."""

    audit: Audit
    lower_bound: float
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether the claim survived."""
        return self.audit.holds(self.lower_bound)

    @property
    def verdict(self) -> str:
        """The result in one word."""
        return "holds" if self.holds else "refuted"

    @property
    def is_failure(self) -> bool:
        """Whether something that is called proved was refuted."""
        return self.audit.status is Status.PROVED and not self.holds

    def to_json(self) -> dict[str, Any]:
        """Plain values; infinity is the string "inf"."""
        return {
            "mechanism": self.audit.name,
            "status": str(self.audit.status),
            "measure": str(self.audit.examination.measure),
            "claim": to_plain(self.audit.claim),
            "lower_bound": to_plain(self.lower_bound),
            "verdict": self.verdict,
            "seconds": round(self.seconds, 2),
        }


def error_each(audits: Sequence[Audit], family_error: float = FAMILY_ERROR) -> float:
    """Bonferroni: the permitted error of the whole run, shared by the audits in which chance plays a part."""
    return family_error / max(1, sum(audit.examination.is_statistical for audit in audits))


def run(audits: Sequence[Audit], *, seed: int = 0, processes: int | None = None) -> list[Finding]:
    """Run all `audits`. The chance that a true claim is refuted in the whole run is at most `FAMILY_ERROR`.

    Unless a number of `processes` is given, more than one is started only for a run that takes long.
    """
    error, alone = error_each(audits), _ALONE_SECONDS if processes is None else 0.0
    processes = min(os.cpu_count() or 1, 8) if processes is None else processes
    return list(track(_findings(audits, error, seed, processes, alone), "auditing", total=len(audits)))


def _findings(audits: Sequence[Audit], error: float, seed: int, processes: int, alone: float) -> Iterator[Finding]:
    start, waiting = time.perf_counter(), list(enumerate(audits, seed))
    while waiting and (time.perf_counter() - start < alone or processes < 2 or len(waiting) < _WORTH_A_PROCESS):
        number, audit = waiting.pop(0)
        yield _examine(audit, error, number)
    if waiting:
        with _pool(processes) as pool:
            tasks = [(n, pool.submit(_examine, audit, error, n) if _travels(audit) else audit) for n, audit in waiting]
            for number, task in tasks:
                yield task.result() if isinstance(task, Future) else _examine(task, error, number)


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that are stopped at once, and silently, if the audit is interrupted."""
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            raise


def _examine(audit: Audit, error: float, seed: int) -> Finding:
    start = time.perf_counter()
    bound = audit.examination.lower_bound(error, seed)
    return Finding(audit, bound, time.perf_counter() - start)


def _travels(audit: Audit) -> bool:
    """Whether an audit can be sent to another process: one made of local functions cannot."""
    try:
        pickle.dumps(audit)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
