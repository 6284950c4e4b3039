"""Processes that belong to this one: they end with it, and Ctrl-C is for this one alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any


def start_process(work: Callable[..., None], *given: Any) -> BaseProcess:
    """Run `work`, a function of a module, in a process of its own, which starts afresh."""
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(work, given), daemon=True)
    resource_tracker.ensure_running()  # to start it would end the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a process inherits it, from its first moment
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)  # Ctrl-C meanwhile comes now
    return process


def _run(work: Callable[..., None], given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work(*given)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
