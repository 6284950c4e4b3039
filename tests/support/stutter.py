"""A machine that lets nobody run for long: the processes that a test started stand still, one after the other."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

MAX_STOPS, MAX_STOP_SECONDS, MAX_RUN_SECONDS = 20, 2.0, 0.5


@contextlib.contextmanager
def stuttering(seed: int) -> Iterator[list[int]]:
    """Stop one process below this one for 0.2 to 2 s, let all run for up to half a second; twenty times.

    Yields:
        The processes that were stopped, in their order. All of them run again in the end.
    """
    stopped: list[int] = []
    over = threading.Event()

    def work() -> None:
        draw = random.Random(seed)
        while len(stopped) < MAX_STOPS and not over.wait(draw.uniform(0.05, MAX_RUN_SECONDS)):
            below = descendants(os.getpid())
            if not below:
                continue
            process = draw.choice(below)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
                stopped.append(process)
                over.wait(draw.uniform(0.2, MAX_STOP_SECONDS))
                os.kill(process, signal.SIGCONT)

    thread = threading.Thread(target=work, name="stutter", daemon=True)
    thread.start()
    try:
        yield stopped
    finally:
        over.set()
        thread.join()


def descendants(process: int) -> list[int]:
    """The processes that a process started, and those that these started, and so on."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return sorted(found)
