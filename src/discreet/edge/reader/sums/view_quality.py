"""How good a device's own ranking was in a window: five whole numbers, of what it showed and what was clicked.

A **view** is the first articles of a front that the device showed, in its order. A click counts in the latest view that
had its article. Of the views of a window, with the lattice M = `max_value`, the device gives

    M·a, M − M·a      a: mean AUC over views with clicks, if there is one whose articles were not all clicked
    M·g               g: mean nDCG@10 over the same views
    M·c, M − M·c      c: share of views with a click among the first ten, if there was a view

and zeros for what there is not. Sums over readers then give means over readers: the first two values sum to M for each
reader who has an AUC, so their sum counts these readers, and no reader is counted in the clear.

**Theorem.** The values of a window sum to at most 3M, whatever was shown and clicked. So with discrete Laplace noise of
scale 3M/ε of each aggregator a window is ε-differentially private for a reader, in the sense of
`aggregation.aggregator_noise`.

**Proof.** Each of a, g, c is in [0, 1] and is rounded to a whole number x of [0, M]. The pairs are x and M − x, or zero
twice: each sums to M or to 0. Together: M + M + M. With arms a device gives the five values of the one arm that it is
in, and zeros for all others. Nothing else depends on clicks. The device checks the bound again before it gives. ∎

**What a lying device can do.** Prio3 proves that each value is in [0, M]; that they sum to 3M is the device's own
protection, and no proof. A liar moves each value of the sum, in every arm, by at most what one reader can; so n liars
among N readers move a mean by at most about n/N. That is the same for any figure that readers report of themselves.

All arithmetic is in whole numbers, so that every device gives the same values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.task import Task
from discreet.edge.reader.views import View
from discreet.protocol.quality_cells import MAX_TOTAL, METRICS

TOP = 10
GAINS = (1000000, 630930, 500000, 430677, 386853, 356207, 333333, 315465, 301030, 289065)
"""1/log₂(place + 2), in millionths."""


def ranking_quality(task: Task, views: Sequence[View], places: Mapping[str, int], left: int) -> NDArray[np.int64]:
    """The values of a window; zeros where nothing was shown, or where its arm has no cells.

    Args:
        task: The task; a reader gives at most 3 · `max_value`.
        views: What was shown in the window, the earliest first. Views of other arms than the last one's do not count.
        places: Where each cell is.
        left: What is left of the task's total; with less than 3 · `max_value` nothing is given.
    """
    values = task.nothing()
    if not views or left < MAX_TOTAL * task.max_value:
        return values
    arm = views[-1].arm
    found = measured([view.clicked for view in views if view.arm == arm], task.max_value)
    for metric, value in zip(METRICS, found, strict=True):
        place = places.get(f"{arm} {metric}", -1)
        if 0 <= place < task.length:
            values[place] = value
    return values


def measured(views: Sequence[Sequence[bool]], largest: int) -> tuple[int, int, int, int, int]:
    """The five values of some views, at least one, on a lattice from 0 to `largest`."""
    judged = [view for view in views if 0 < sum(view) < len(view)]
    clicked = _rounded(largest * sum(any(view[:TOP]) for view in views), len(views))
    if not judged:
        return 0, 0, 0, clicked, largest - clicked
    auc = _rounded(sum(_auc(view, largest) for view in judged), len(judged))
    ndcg = _rounded(sum(_ndcg(view, largest) for view in judged), len(judged))
    return auc, largest - auc, ndcg, clicked, largest - clicked


def _auc(view: Sequence[bool], largest: int) -> int:
    """Of all pairs of a clicked and another article, the share in which the clicked one stood above."""
    others_above, won, clicks = 0, 0, sum(view)
    others = len(view) - clicks
    for is_clicked in view:
        if is_clicked:
            won += others - others_above
        else:
            others_above += 1
    return _rounded(largest * won, clicks * others)


def _ndcg(view: Sequence[bool], largest: int) -> int:
    gained = sum(gain for gain, is_clicked in zip(GAINS, view, strict=False) if is_clicked)
    return _rounded(largest * gained, sum(GAINS[: sum(view)]))


def _rounded(above: int, below: int) -> int:
    """The quotient above / below, half up."""
    return (2 * above + below) // (2 * below)
