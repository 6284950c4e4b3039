"""Processes that belong to this one: they end with it, and Ctrl-C is for this one alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any


def start_process(work: Callable[..., None], *given: Any) -> BaseProcess:
    """Run `work`, a function of a module, in a process of its own, which starts afresh."""
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(work, given), daemon=True)
    resource_tracker.ensure_running()  # to start it would end the block
    with _interrupts_wait():
        process.start()
    return process


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C inside this block comes after it; a process that is started in it never gets one."""
    is_main = threading.current_thread() is threading.main_thread()
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number)) if is_main else None
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a process inherits it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if is_main:
            signal.signal(signal.SIGINT, handler)
    if came:
        raise KeyboardInterrupt


def _run(work: Callable[..., None], given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work(*given)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
