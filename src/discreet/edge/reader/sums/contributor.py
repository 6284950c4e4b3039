"""Contributes to public tasks: once a window and task, paid first, whatever was clicked, at a time drawn at random.

Nothing that can be seen from outside depends on clicks. Whether a window is contributed to depends on the public task,
on the device's floors and ledger, and on whether the device runs at the drawn time. A window that was missed is not
contributed to later. What cannot be measured counts as nothing, and is sent like everything else.

Where a day is paid, and windows have lists of cells, the first `max_total` articles of the day count. Each is kept
until a window has a cell for it, and contributed then, once.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.task import DAY, OF_EACH_WINDOW, Per, Task
from discreet.edge.reader.sums.contribution_ledger import (
    SumsLedger,
    SumsStatement,
    ledger_in_memory,
    open_sums_ledger,
)
from discreet.edge.reader.sums.floors import Floors
from discreet.edge.reader.sums.measures import MEASURES, Observed
from discreet.edge.reader.sums.sums_store import Known, TaskStore
from discreet.edge.reader.views import View
from discreet.errors import DiscreetError

_DRAWN = 0.9
"""The part of the time for sending from which a moment is drawn; the rest is for devices that are late."""


class Sender(Protocol):
    """The part of `Sums` that a device needs."""

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """Seal one contribution and send it; an error if it cannot be delivered."""


class Contributor:
    """A device's part in sums.

    Args:
        folder: Where tasks and ledger are kept, readable by their owner only.
        clicked: The articles that were clicked from one moment up to another, each once, in order.
        sender: Where contributions go.
        floors: The device's own limits.
        views: What was shown from one moment up to another, the earliest first.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        clicked: Callable[[int, int], Sequence[str]],
        sender: Sender,
        floors: Floors,
        *,
        views: Callable[[int, int], Sequence[View]] = lambda _begin, _end: (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clicked, self._views = clicked, views
        self._sender = sender
        self._floors = floors
        self._clock = clock
        self._store, self._ledger = self._open(Path(folder))
        self.problem: str | None = None
        self.cells_of: Callable[[Task, int], Sequence[str]] = _no_cells
        """Fetches what the values of a window stand for, where each window has a list of its own."""

    def offers(self, task: Task) -> bool:
        """Whether the device would contribute to a task that is not over, and does not know it yet.

        Raises:
            DiscreetError: It would not; the line says why.
        """
        reason = self._floors.refusal(task)
        if reason is not None:
            raise DiscreetError(f"task {task.name} is refused: {reason}")
        try:
            self._store.require_unchanged(task)
        except DiscreetError as error:
            raise DiscreetError(f"task {task.name} is refused: {error}") from None
        is_over = task.sent_until(task.windows - 1) <= self._clock()
        return not is_over and all(known.task.id != task.id for known in self._store.known())

    def adopt(self, task: Task, cells: Sequence[str]) -> None:
        """Contribute to a task from its next window on; `cells` says what each value stands for, if anything does."""
        if self.offers(task):
            is_fixed = task.cells not in ("", OF_EACH_WINDOW)
            if is_fixed and (len(cells) != task.length or len(set(cells)) != len(cells)):
                raise DiscreetError(f"task {task.name} is refused: its list of cells does not fit it")
            self._store.add(task, cells if is_fixed else (), int(self._clock()))

    @property
    def tasks(self) -> list[Task]:
        """The tasks that the device contributes to."""
        return [known.task for known in self._store.known()]

    def next_due(self) -> float | None:
        """When `contribute_due` has something to do next, in seconds since 1970; None if there is nothing to come."""
        now = self._clock()
        times = []
        for known in self._store.known():
            first = max(known.window + 1, known.task.window_at(now) - 1, 0)
            for window in range(first, min(first + 3, known.task.windows)):
                due = self._due(known.task, window)
                if known.since <= known.task.begins(window) and now < known.task.sent_until(window):
                    times.append(max(due, now))
                    break
        return min(times, default=None)

    def contribute_due(self) -> int:
        """Contribute to each window whose drawn time has come; how many contributions were delivered."""
        now, delivered = self._clock(), 0
        for known in self._store.known():
            window = known.task.window_at(now) - 1
            if not self._is_due(known, window, now):
                continue
            if not self._pay(known, window):
                self._store.skip(known.task, window)
                continue
            contribution = self._contribution(known, window)
            if contribution is not None:
                delivered += self._send(known.task, window, contribution)
        self._store.drop_ended(int(now))
        return delivered

    def statement(self) -> SumsStatement:
        """What it has cost."""
        return self._ledger.spent()

    def forget(self) -> None:
        """Tasks and what was counted go; the debits stay."""
        self._store.forget()

    def _open(self, folder: Path) -> tuple[TaskStore, SumsLedger]:
        store = TaskStore(folder / "tasks.sqlite")
        was_used = any(known.window >= 0 for known in store.known())
        return store, open_sums_ledger(folder / "ledger", self._floors, self._clock, was_used=was_used)

    def _is_due(self, known: Known, window: int, now: float) -> bool:
        task = known.task
        is_new = known.window < window and known.since <= task.begins(window)
        return is_new and 0 <= window < task.windows and self._due(task, window) <= now < task.sent_until(window)

    def _due(self, task: Task, window: int) -> float:
        """The drawn time: by a secret of the device, so that it stays when the device is started again."""
        drawn = hmac.digest(self._store.secret, task.id + window.to_bytes(8, "big"), "sha256")
        part = int.from_bytes(drawn[:4], "big") / 2**32
        begin = task.begins(window + 1)
        return begin + _DRAWN * part * (task.sent_until(window) - begin)

    def _pay(self, known: Known, window: int) -> bool:
        """Pay for the window, unless its day is paid already.

        Where the ledger knows of a payment that the store does not, something was lost: nothing is given then, because
        more may have been given than is known.
        """
        if known.period == known.task.period(window):
            return True
        return not self._ledger.has_paid(known.task, window) and self._ledger.pay(known.task, window)

    def _contribution(self, known: Known, window: int) -> Contribution | None:
        """What is given, after it was written down; None if another process was faster."""
        task = known.task
        is_same = known.period == task.period(window) and task.per is Per.DAY
        given, counted = (known.given, known.counted) if is_same else (0, frozenset())
        cells = self._cells(known, window)
        values = self._measured(known, window, cells, task.total - given, counted)
        new = frozenset(cell for cell, value in zip(cells, values, strict=False) if value)
        if not self._store.contribute(known, window, given + int(np.abs(values).sum()), counted | new):
            return None
        return Contribution.of(task, values)

    def _cells(self, known: Known, window: int) -> Sequence[str]:
        """What each value stands for; nothing, where that could not be fetched. It is asked whatever was clicked."""
        if known.task.cells != OF_EACH_WINDOW:
            return known.cells
        try:
            cells = self.cells_of(known.task, window)
        except (DiscreetError, OSError) as error:
            self.problem = f"task {known.task.name}: {error}"
            return ()
        return cells if len(cells) <= known.task.length and len(set(cells)) == len(cells) else ()

    def _measured(
        self, known: Known, window: int, cells: Sequence[str], left: int, counted: frozenset[str]
    ) -> NDArray[np.int64]:
        """The values of a window; nothing, where they cannot be had or do not keep to what is left.

        Where a day is paid, the first clicks of the day count, and each is kept until a window has a cell for it.
        """
        task = known.task
        try:
            begin, end = task.begins(window), task.begins(window + 1)
            is_kept = task.per is Per.DAY and bool(task.cells)
            clicked = self._clicked(max(begin // DAY * DAY, known.since) if is_kept else begin, end)
            first = clicked[: task.total] if is_kept else clicked
            articles = [article for article in first if article not in counted]
            place = {article: cell for cell, article in enumerate(cells)}
            found = [place.get(article, -1) if task.cells else number for number, article in enumerate(articles)]
            observed = Observed(found, self._views(begin, end), place)
            values = task.checked(MEASURES[task.measure](task, observed, left))
        except Exception:  # whatever goes wrong here may depend on clicks, so nobody must see it
            return task.nothing()
        return values if np.abs(values).sum() <= max(left, task.nothing().sum()) else task.nothing()

    def _send(self, task: Task, window: int, contribution: Contribution) -> bool:
        try:
            self._sender.contribute(task, window, contribution)
        except (DiscreetError, OSError) as error:
            self.problem = f"task {task.name}: {error}"
            return False
        self.problem = None
        return True


class ContributorInMemory(Contributor):
    """A contributor whose files are gone with it, and whose secret is known: for audits and simulations."""

    def _open(self, folder: Path) -> tuple[TaskStore, SumsLedger]:
        store = TaskStore(":memory:")
        store.secret = bytes(32)
        return store, ledger_in_memory(self._floors, self._clock)


def _no_cells(_task: Task, _window: int) -> Sequence[str]:
    raise DiscreetError("its terms do not say what its values stand for")
