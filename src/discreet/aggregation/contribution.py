"""What leaves an edge for a sum: a vector within a task's bounds, with what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from discreet.aggregation.task import Task


@dataclass(frozen=True, eq=False)
class Contribution:
    """A vector for one sum. Nobody sees it: the sum and the noise in it protect it.

    Attributes:
        values: Whole numbers, which cannot be changed.
        guarantee: What the sum promises of them.
    """

    values: NDArray[np.int64]
    guarantee: Guarantee

    def __post_init__(self) -> None:
        given = np.asarray(self.values)
        if given.dtype.kind not in "biu" or given.ndim != 1:
            raise ValueError(f"a contribution is a vector of integers, not {given.ndim} dimensions of {given.dtype}")
        values = given.astype(np.int64)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    @classmethod
    def of(cls, task: Task, values: ArrayLike) -> Contribution:
        """A vector for a task; an error, without a value in it, if it is out of the task's bounds."""
        return cls(task.checked(values), task.guarantee())

    def __repr__(self) -> str:
        return f"Contribution({len(self.values)} values; {self.guarantee})"
