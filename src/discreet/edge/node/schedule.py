"""When answers leave a node: at times that tell next to nothing of how long they took to make.

How long a contribution takes depends on what readers did. A host that serves a real server answers a power of two times
`STEP` after the question, so that only the order of magnitude of the work shows, at the price of waiting at most as
long again.
"""

from __future__ import annotations

import math
import time

from discreet.nodes.node_transport import Answer

STEP = 1 / 16
"""Seconds until the earliest answer."""


def on_schedule(answer: Answer) -> Answer:
    """The same answers, each at its public time."""

    def later(request: bytes) -> bytes:
        start = time.monotonic()
        given = answer(request)
        taken = time.monotonic() - start
        time.sleep(public_time(taken) - taken)
        return given

    return later


def public_time(taken: float) -> float:
    """The seconds after which an answer leaves that took so many to make."""
    return STEP * 2.0 ** max(0, math.ceil(math.log2(max(taken, STEP) / STEP)))
