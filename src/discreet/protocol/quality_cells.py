"""What the values of a sum for ranking quality stand for: five for each arm, by names that devices know."""

from __future__ import annotations

from collections.abc import Sequence

MEASURE = "ranking quality"
"""What such a task measures, in its terms."""
LATTICE = 1000
"""The largest of the values: a mean of 1."""
METRICS = ("AUC", "1-AUC", "nDCG@10", "click", "no click")
"""After the name of the arm."""
MAX_TOTAL = 3
"""What the values of a reader sum to at most, in means (`edge.reader.sums.view_quality` has the proof)."""
EVERYBODY = "everybody"
"""The arm of a device in no experiment."""


def quality_cells(arms: Sequence[str]) -> list[str]:
    """The names of the values of a task for these arms."""
    return [f"{arm} {metric}" for arm in arms for metric in METRICS]
