"""What a device can measure of its own clicks: from the articles clicked in a window to a vector within bounds.

A measure takes whatever was clicked: it has no way to fail that depends on clicks. The result keeps to what is `left`
of the task's `max_total`, which is all of it unless the reader pays per day and gave something in an earlier window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.task import Kind, Task

Measure = Callable[[Task, Sequence[int], int], NDArray[np.int64]]
"""(task, cells clicked in the window, each once, in order; what is left of `max_total`) → values."""


def clicks_by_cell(task: Task, clicked: Sequence[int], left: int) -> NDArray[np.int64]:
    """Each cell's share of the reader's clicks: what is left, divided equally, and at most `max_value` each.

    With zeros and ones, the first as many cells as are left get a 1; in a histogram, the first cell does.
    """
    values = task.nothing()
    inside = [cell for cell in clicked if 0 <= cell < task.length]
    if task.kind is Kind.HISTOGRAM:
        if inside:
            values[:] = 0
            values[inside[0]] = 1
        return values
    inside = inside[:left]
    if inside:
        values[inside] = min(task.max_value, left // len(inside))
    return values


def clicks_in_all(task: Task, clicked: Sequence[int], left: int) -> NDArray[np.int64]:
    """How many articles were clicked, as far as the bounds allow."""
    values = task.nothing()
    values[0] = min(len(clicked), task.max_value, left)
    return values


MEASURES: dict[str, Measure] = {"clicks by cell": clicks_by_cell, "clicks": clicks_in_all}
WITH_CELLS = frozenset({"clicks by cell"})
"""Those that need a public list of what each value stands for."""
