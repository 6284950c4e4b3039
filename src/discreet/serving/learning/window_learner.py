"""Learns while the server serves: closes windows on the public schedule, collects their sums, and uses each once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from discreet.aggregation.aggregator_noise import ImpossibleSumError, require_possible
from discreet.aggregation.dap.problems import ProblemType
from discreet.aggregation.dap.transport import PeerError
from discreet.aggregation.sums import NoisySum
from discreet.aggregation.task import OF_EACH_WINDOW, Task
from discreet.errors import DiscreetError
from discreet.serving.learning.learnt_state import unpacked
from discreet.serving.learning.model_versions import NewVersion
from discreet.serving.learning.quality_estimates import measures_quality
from discreet.serving.learning.sum_popularity import SumPopularity, expected_shares, learnt_from
from discreet.serving.learning.sum_weights import learns_head, learns_weights, weights_window
from discreet.serving.learning.window_store import IMPOSSIBLE, ClosedWindow, UsedSum, WindowStore
from discreet.serving.logs import log, log_exception, log_seldom
from discreet.serving.public_model import PublicModel
from discreet.serving.public_tasks import has_window_cells, publish_window_cells, read_cells
from discreet.serving.service import Service

MEASURE = "clicks by cell"
MAX_WAIT = 5.0
KEPT_SECONDS = 30 * 86_400
_CLOSE_SECONDS = 5.0
_NO_SUM = (
    IMPOSSIBLE,
    ProblemType.INVALID_BATCH_SIZE,
    ProblemType.BATCH_OVERLAP,
    ProblemType.BATCH_MISMATCH,
    ProblemType.BATCH_INVALID,
)
"""Answers after which asking again is of no use."""


class SumCollector(Protocol):
    """Collects sums; asked again, it gives the same one."""

    def collect(self, task: Task, window: int) -> NoisySum:
        """The noised sum of a window."""
        ...


def teaches(task: Task) -> bool:
    """Whether a task counts clicks by article, with a list of articles for each window, or tells of the weights."""
    return (task.measure == MEASURE and task.cells == OF_EACH_WINDOW) or learns_weights(task)


class WindowLearner:
    """Renews articles' popularity and features' weights from the sums of tasks, and keeps what they tell of quality.

    Args:
        service: What is served; its model must be a `PublicModel` where a task teaches.
        tasks: The tasks, of which those matter that teach or measure quality.
        collector: Who collects sums; None where somebody else does, and then nothing is learnt here.
        cells: The folder that devices are told the cells of windows from.
        logged: Whether the publisher logs which slates were shown; else exposure is estimated.
    """

    def __init__(
        self,
        service: Service,
        tasks: Sequence[Task],
        collector: SumCollector | None,
        cells: Path,
        *,
        logged: bool = False,
    ) -> None:
        self._logged = logged
        self._model, self._updater = service.model, service.updater
        self._leads = service.lease.held
        self._tasks = {task.id.hex(): task for task in tasks if teaches(task) or measures_quality(task)}
        self._collector, self._cells, self._clock = collector, cells, service.clock
        self._store = WindowStore(service.store)
        if any(map(teaches, self._tasks.values())):
            if not isinstance(service.model, PublicModel):
                raise DiscreetError(
                    "sums teach popularity and weights to front_page only: serve a run of it, or a feed without a run"
                )
            self._updater.rates = SumPopularity(service.model, self._store, service.versions)
        self._stop, self._using = threading.Event(), threading.Lock()
        self._threads = [
            threading.Thread(target=self._work, args=work, name=name, daemon=True)
            for name, *work in (
                ("windows", self.close_windows, "a window could not be closed; trying again"),
                *(  # one that waits for its helper holds up no other's sums
                    ("learner", partial(self.learn, helper), "a sum could not be learnt from; trying again")
                    for helper in dict.fromkeys(task.helper for task in self._tasks.values())
                ),
            )
        ]

    def start(self) -> None:
        """Begin to work in the background."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop; what is not finished is continued at the next start."""
        self._stop.set()
        deadline = time.monotonic() + _CLOSE_SECONDS
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))

    def close_windows(self) -> None:
        """Of each task, settle and publish the cells of the window that ended last, while devices ask for them."""
        if not self._updater.ready:
            return
        now = self._clock()
        for name, task in self._tasks.items():
            window = task.window_at(now) - 1
            if not 0 <= window < task.windows or now >= task.sent_until(window):
                continue
            if measures_quality(task):
                self._store.close_window(self._measured(name, task, window))
                continue
            if has_window_cells(self._cells, task, window):
                continue
            if (cells := self._store.cells(name, window)) is None:
                if not len(self._updater.snapshot):
                    continue
                if learns_weights(task):
                    self._store.close_window(self._weighed(task, window))
                elif self._logged:
                    self._store.close_told(task, window, self._updater.snapshot.ids)
                else:
                    self._store.close_window(self._closed(name, task, window))
                cells = self._store.cells(name, window)
            publish_window_cells(self._cells, task, window, cells or [])

    def learn(self, helper: str | None = None) -> None:
        """Use all sums that can be had, of one helper or of all, of each task in the order of its windows."""
        for name in [name for name, task in self._tasks.items() if helper in (None, task.helper)]:
            while not self._stop.is_set() and self._updater.ready and self._leads() and self._learn_next(name):
                pass
        self._store.forget(KEPT_SECONDS)

    def _learn_next(self, name: str) -> bool:
        """Use the sum of a task's next window; False if there is none yet."""
        closed, task = self._store.next_window([name]), self._tasks[name]
        if closed is None or self._collector is None:
            return False
        if self._clock() < task.sent_until(closed.window):
            return False
        try:
            found = self._collector.collect(task, closed.window)
            require_possible(task, found.values, found.contributions or 0)
        except DiscreetError as error:
            peer = error if isinstance(error, PeerError) else error.__cause__
            why = IMPOSSIBLE if isinstance(error, ImpossibleSumError) else getattr(peer, "kind", None)
            if why not in _NO_SUM:
                log_seldom("warning", "a sum could not be collected; trying again", task=task.name, cause=str(error))
                return False
            log("warning", "a window has no sum", task=task.name, window=closed.window, cause=str(error))
            self._store.drop(closed, task, str(why))
            return True
        if measures_quality(task):
            self._store.measure(closed, task, found)
        else:
            self._use(task, closed, found)
        log("info", "collected a sum", task=task.name, window=closed.window, contributions=found.contributions)
        return True

    def _use(self, task: Task, closed: ClosedWindow, found: NoisySum) -> None:
        assert isinstance(self._model, PublicModel)
        with self._using:
            before = self._store.learnt(self._model.version)
            state = learnt_from(self._model, self._updater.snapshot, before.state, UsedSum(closed, task, found))
            new = NewVersion(
                self._model.version, int(self._clock()), before.sums + 1, f"window {closed.window} of {task.name}"
            )
            if self._store.use(closed, task, found, before, state, new):
                self._updater.refresh()

    def _weighed(self, task: Task, window: int) -> ClosedWindow:
        """A day of the weights' task, with the weights at which devices compute their gradient."""
        assert isinstance(self._model, PublicModel)
        known = unpacked(self._store.learnt(self._model.version).state)
        return weights_window(self._model.weight_prior(with_head=learns_head(task)), known, task, window)

    def _measured(self, name: str, task: Task, window: int) -> ClosedWindow:
        """A window of a task with the same cells in all windows."""
        cells = read_cells(self._cells, task) or []
        return ClosedWindow(name, window, task.begins(window + 1), cells, np.zeros(0))

    def _closed(self, name: str, task: Task, window: int) -> ClosedWindow:
        """The window with its cells: of the listed articles, those with the best scores for everybody."""
        assert isinstance(self._model, PublicModel)
        snapshot, end = self._updater.snapshot, task.begins(window + 1)
        rows = np.sort(np.argsort(-snapshot.base, kind="stable")[: task.length])
        share = expected_shares(snapshot.base[rows], self._model.personal_deviation)
        return ClosedWindow(name, window, end, [snapshot.ids[row] for row in rows.tolist()], share)

    def _work(self, step: Callable[[], None], problem: str) -> None:
        while not self._stop.is_set():
            try:
                step()
            except Exception:  # whatever it was, the next round may do better
                log_exception(problem)
            self._stop.wait(self._pause())

    def _pause(self) -> float:
        """Until the next window ends or has been sent, but not longer than a few seconds."""
        now = self._clock()
        times = [
            moment - now
            for task in self._tasks.values()
            for window in (task.window_at(now),)
            for moment in (task.begins(window + 1), task.sent_until(window - 1))
            if moment > now
        ]
        return min(MAX_WAIT, *times, MAX_WAIT) + 0.001
