"""What a device can measure of its own clicks: from what was clicked and shown in a window to a vector within bounds.

A measure takes whatever was clicked: it has no way to fail that depends on clicks. The result keeps to what is `left`
of the task's `max_total`, which is all of it unless the reader pays per day and gave something in an earlier window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.task import Kind, Task
from discreet.edge.reader.sums.view_quality import ranking_quality
from discreet.edge.reader.sums.weight_pull import weights_pull
from discreet.edge.reader.views import View
from discreet.protocol import quality_cells, weight_cells


@dataclass(frozen=True)
class Observed:
    """What a device knows of a window.

    Attributes:
        clicked: The cells of what was clicked, each once, in order; −1 for what has none.
        views: What was shown, the earliest first.
        places: Where each cell is, by its name, in the order of the cells.
    """

    clicked: Sequence[int] = ()
    views: Sequence[View] = ()
    places: Mapping[str, int] = field(default_factory=dict)


Measure = Callable[[Task, Observed, int], NDArray[np.int64]]
"""(task, what was observed, what is left of `max_total`) → values."""


def clicks_by_cell(task: Task, observed: Observed, left: int) -> NDArray[np.int64]:
    """Each cell's share of the reader's clicks: what is left, divided equally, and at most `max_value` each.

    With zeros and ones, the first as many cells as are left get a 1; in a histogram, the first cell does.
    """
    values = task.nothing()
    inside = [cell for cell in observed.clicked if 0 <= cell < task.length]
    if task.kind is Kind.HISTOGRAM:
        if inside:
            values[:] = 0
            values[inside[0]] = 1
        return values
    inside = inside[:left]
    if inside:
        values[inside] = min(task.max_value, left // len(inside))
    return values


def clicks_in_all(task: Task, observed: Observed, left: int) -> NDArray[np.int64]:
    """How many articles were clicked, as far as the bounds allow."""
    values = task.nothing()
    values[0] = min(len(observed.clicked), task.max_value, left)
    return values


def quality(task: Task, observed: Observed, left: int) -> NDArray[np.int64]:
    """How good the ranking of what was shown was; `quality` has the theorem."""
    if task.kind is not Kind.SUMVEC:
        return task.nothing()
    return ranking_quality(task, observed.views, observed.places, left)


def weights(task: Task, observed: Observed, left: int) -> NDArray[np.int64]:
    """How clicks pull the weights of the ranking; `weight_pull` has the theorem."""
    return weights_pull(task, observed.views, list(observed.places), left)


MEASURES: dict[str, Measure] = {
    "clicks by cell": clicks_by_cell,
    "clicks": clicks_in_all,
    quality_cells.MEASURE: quality,
    weight_cells.MEASURE: weights,
}
WITH_CELLS = frozenset({"clicks by cell", quality_cells.MEASURE, weight_cells.MEASURE})
"""Those that need a public list of what each value stands for."""
