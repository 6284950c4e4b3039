"""What an aggregator forgets, and whether its clock can be right.

A clock that is wrong for a few seconds must not delete anything: what is deleted is refused for ever. So the past is
what lies before the newest window of which both aggregators have verified a report, and no clock alone moves it. Where
no reports come any more, the last ones stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from discreet.aggregation.dap.aggregator_store import MAX_SKEW_SECONDS, Store
from discreet.aggregation.dap.agreement import Agreement

Tasks = Iterable[tuple[Agreement, int]]
"""Tasks with their numbers in the database."""

_DAY = 86_400.0


def forget_old(store: Store, tasks: Tasks, now: float, seconds: float) -> None:
    """Delete what is about windows that ended so long before the newest one, and the ids of what was collected."""
    for agreement, task in tasks:
        newest, length = store.newest(task), agreement.task.window_seconds
        if newest is not None:
            store.forget(task, int(min(now, (newest + 1) * length) - seconds) // length)
        store.sweep(task)


def clock_problem(store: Store, tasks: Tasks, now: float) -> str:
    """Say what speaks against the clock: a newest window that is too new, or too old. Empty where nothing does."""
    for agreement, task in tasks:
        newest, terms = store.newest(task), agreement.task
        if newest is None:
            continue
        begin, end = (time * terms.window_seconds for time in (newest, newest + 1))
        if begin > now + MAX_SKEW_SECONDS:
            return f"the clock is {_span(begin - now)} behind reports of task {terms.name}; set it"
        if now - end > _DAY + 2 * terms.window_seconds:
            return (
                f"the clock is {_span(now - end)} ahead of the newest reports of task {terms.name}:"
                " none has come since, or the clock is wrong"
            )
    return ""


class ClockWatch:
    """Logs when something begins to speak against the clock, and when nothing does any more.

    Args:
        find: What speaks against it now; empty where nothing does.
        log: Takes a level and an event.
    """

    def __init__(self, find: Callable[[], str], log: Callable[[str, str], None]) -> None:
        self._find, self._log = find, log
        self.problem = ""

    def look(self) -> None:
        """Look at the clock once more."""
        before, self.problem = self.problem, self._find()
        if bool(before) != bool(self.problem):
            self._log("warning", self.problem or "the clock agrees with the reports again")


def _span(seconds: float) -> str:
    return f"{seconds / _DAY:.1f} days" if seconds >= _DAY else f"{seconds / 60:.0f} minutes"
