"""Trainings side by side: each in a process of its own, with the same result as one after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from types import FrameType
from typing import Any, TypeVar

from discreet import plugins
from discreet.training.torch_device import chosen_device, use_device

Given = TypeVar("Given")


def side_by_side(work: Any, shared: Any, given: Sequence[Given], jobs: int) -> Iterator[tuple[Given, Any]]:
    """What `work(shared, one)` finds for each of the given, as it is found; `work` is a function of a module.

    Processes start afresh (no fork: torch's threads would not survive one), and are given `shared` once. Each has as
    many threads as this one, since their number decides the order in which torch adds. Where this process is
    interrupted or fails, so are the others: trainings write their checkpoints, and none begins.
    """
    import torch

    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    about = (shared, plugins.named_plugins(), torch.get_num_threads(), chosen_device().type, stop)
    others = {child.pid for child in multiprocessing.active_children()}
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=about) as pool:
        with _started_without_interrupts():
            waiting: dict[Future[Any], Given] = {pool.submit(_call, work, one): one for one in given}
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), future.result()
        except BaseException:
            stop.set()
            for child in multiprocessing.active_children():
                if child.pid is not None and child.pid not in others:
                    os.kill(child.pid, signal.SIGINT)
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _started_without_interrupts() -> Iterator[None]:
    """Processes that start in this block do not hear Ctrl-C until they are ready for it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Worker:
    """What a process of the pool has: what is shared, whether it has to stop, and whether it is at work."""

    def __init__(self, shared: Any, stop: Event) -> None:
        self.shared, self._stop = shared, stop
        self._interrupted = self._at_work = False

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C ends the work at hand, once: while its checkpoint is written, a second one changes nothing."""
        if not self._interrupted:
            self._interrupted = True
            if self._at_work:
                raise KeyboardInterrupt

    def call(self, work: Any, one: Any) -> Any:
        self._at_work = True
        try:
            if self._interrupted or self._stop.is_set():
                raise KeyboardInterrupt
            return work(self.shared, one)
        finally:
            self._at_work = False


_workers: list[_Worker] = []


def _start(shared: Any, modules: Sequence[str], threads: int, device: str, stop: Event) -> None:
    import torch

    torch.set_num_threads(threads)
    use_device(device)
    plugins.name_plugins(modules)
    plugins.load_plugins()
    worker = _Worker(shared, stop)
    signal.signal(signal.SIGINT, worker.interrupt)
    _workers[:] = [worker]


def _call(work: Any, one: Any) -> Any:
    return _workers[0].call(work, one)
