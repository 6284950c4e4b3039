"""How little a promise may be: what a device asks of a task before it contributes to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from discreet.aggregation.task import DAY, OF_EACH_WINDOW, Per, Task
from discreet.edge.reader.sums.measures import MEASURES, WITH_CELLS
from discreet.protocol.check import limits

_CELLS = re.compile(f"[0-9a-f]{{64}}|{OF_EACH_WINDOW}")
_HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Floors:
    """A device's own limits. They hold for its life, whatever a publisher asks for.

    Attributes:
        helpers: Addresses of the aggregators that the reader trusts not to collude with the publisher. Tasks with
            another helper are refused: one party that is both aggregators sees everything.
        max_window_epsilon: The most that one window may cost.
        max_day_epsilon: The most that a day may cost, all tasks together.
        max_life_epsilon: The most that all days may cost together.
        delta: The δ of these.
    """

    helpers: frozenset[str] = field(default_factory=frozenset)
    max_window_epsilon: float = limits.max_window_epsilon
    max_day_epsilon: float = limits.max_day_epsilon
    max_life_epsilon: float = limits.max_life_epsilon
    delta: float = limits.max_task_delta

    def refusal(self, task: Task) -> str | None:
        """Why the device does not contribute to a task, in one line that a reader understands; None if it does."""
        return next(self._reasons(task), None)

    def _reasons(self, task: Task) -> Iterator[str]:
        if not task.purpose:
            yield "it does not say what it is for"
        if task.measure not in MEASURES:
            yield "this device does not know how to measure it"
        if (task.measure in WITH_CELLS) != bool(_CELLS.fullmatch(task.cells)):
            yield "it does not say what its values stand for"
        if task.length > limits.max_task_length:
            yield f"it has {task.length} values; this device sends {limits.max_task_length} at most"
        if task.window_seconds < limits.min_window_seconds:
            yield f"its windows last {task.window_seconds} seconds; this device wants {limits.min_window_seconds}"
        if DAY % task.window_seconds or task.start % task.window_seconds:  # else it would count in one day of several
            yield "its windows do not lie within a day (UTC)"
        if task.sent_until(0) - task.begins(1) < limits.min_send_seconds:
            yield f"it leaves too little time to send; this device wants {limits.min_send_seconds} seconds"
        most = self.max_window_epsilon if task.per is Per.WINDOW else self.max_day_epsilon
        if task.epsilon > most:
            yield f"it costs ε = {task.epsilon:g} a {task.per}; this device allows {most:g}"
        if task.delta > self.delta:
            yield f"its δ is {task.delta:g}; this device allows {self.delta:g}"
        if task.helper.rstrip("/") not in {helper.rstrip("/") for helper in self.helpers}:
            yield "its second aggregator is not one that this device trusts"
        if origin_of(task.leader) == origin_of(task.helper):
            yield "both of its aggregators have one address"
        if not (_is_secure(task.leader) and _is_secure(task.helper)):
            yield "an aggregator's address is not https"


def is_one_party(task: Task) -> bool:
    """Whether both aggregators are on this machine, as in a trial: then nobody is protected from who runs it."""
    return all(urlsplit(address).hostname in _HERE for address in (task.leader, task.helper))


def origin_of(address: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port, as a browser compares them."""
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return "", address, None


def _is_secure(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _HERE)
        )
    except ValueError:
        return False
