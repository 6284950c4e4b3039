"""Sums over readers: the same for a method whether they are simulated, of many nodes, or of two aggregators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.aggregation.aggregator_noise import AGGREGATORS, share_noise
from discreet.aggregation.contribution import Contribution
from discreet.aggregation.task import Task
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import Noise


@dataclass(frozen=True, eq=False)
class NoisySum:
    """All that anybody learns of a window.

    Attributes:
        values: The sum of all contributions, with noise in it; a value may be below 0.
        guarantee: What it costs each reader.
        contributions: How many there were, which is public; None where nobody counts.
    """

    values: NDArray[np.int64]
    guarantee: Guarantee
    contributions: int | None


class Sums(Protocol):
    """Takes contributions and gives their noised sum. A window is collected once."""

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """Add one reader's contribution to a window."""

    def collect(self, task: Task, window: int) -> NoisySum:
        """The sum of a window, after which it takes nothing more."""


class Windows:
    """Sums in the clear, by task and window. A window is closed once, and takes nothing afterwards."""

    def __init__(self) -> None:
        self._open: dict[tuple[bytes, int], tuple[NDArray[np.int64], int]] = {}
        self._closed: set[tuple[bytes, int]] = set()

    def add(self, task: Task, window: int, values: NDArray[np.int64], contributions: int) -> None:
        """Add the values of so many contributions."""
        total, before = self._window(task, window)
        self._open[task.id, window] = total + values, before + contributions

    def count(self, task: Task, window: int) -> int:
        """How many contributions there are in an open window."""
        return self._window(task, window)[1]

    def close(self, task: Task, window: int) -> NDArray[np.int64]:
        """The sum of a window, which is closed from now on."""
        total, _ = self._window(task, window)
        self._closed.add((task.id, window))
        self._open.pop((task.id, window), None)
        return total

    def _window(self, task: Task, window: int) -> tuple[NDArray[np.int64], int]:
        task.require_window(window)
        if (task.id, window) in self._closed:
            raise DiscreetError(f"window {window} of task {task.name} was collected already")
        return self._open.get((task.id, window), (np.zeros(task.length, np.int64), 0))


class PlainSums:
    """The simulator: sums in the clear, with the bounds that Prio3 proves and the noise that two aggregators add.

    Args:
        noise: Where both aggregators' noise comes from.
    """

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self._windows = Windows()

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """Add one reader's contribution to a window."""
        require_promised(task, contribution)
        self._windows.add(task, window, task.checked(contribution.values), 1)

    def contribute_all(self, task: Task, window: int, matrix: Any) -> None:
        """Add a contribution of every row of a matrix, sparse or not, to a window; a row of zeros is one too."""
        rows = sparse.csr_array(matrix)
        if rows.shape[1] != task.length or rows.dtype.kind not in "biu":
            raise DiscreetError(f"task {task.name} takes rows of {task.length} whole numbers")
        rows.sum_duplicates()
        task.require_bounds(rows.data, np.asarray(abs(rows).sum(axis=1, dtype=np.int64)))
        self._windows.add(task, window, np.asarray(rows.sum(axis=0, dtype=np.int64)), rows.shape[0])

    def collect(self, task: Task, window: int) -> NoisySum:
        """The sum of a window with two aggregators' noise, after which it takes nothing more."""
        count = self._windows.count(task, window)
        task.require_batch(window, count)
        total = self._windows.close(task, window)
        values = sum((share_noise(task, self._noise) for _ in range(AGGREGATORS)), total)
        return NoisySum(values, task.guarantee(), count)


def require_promised(task: Task, contribution: Contribution) -> None:
    """An error if a contribution was made under another promise than the task's."""
    if contribution.guarantee != task.guarantee():
        raise DiscreetError(f"a contribution promises its reader something else than task {task.name} does")
