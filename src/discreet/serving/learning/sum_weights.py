"""The weights of the features, as `front_page` learns them, from the sums of a server's devices.

A window is a day. When it ends, its cells say at which candidate weights devices compute their gradient: those of the
posterior after all sums that were used by then. When its sum has come, the posterior learns from it. Both tests of
`methods.front_page.learnt_weights` decide which weights rank from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.task import DAY, OF_EACH_WINDOW, Task
from discreet.errors import DiscreetError
from discreet.methods.front_page.learnt_weights import (
    MAX_CHI_SQUARED,
    WeightPosterior,
    clicking_readers,
    pull_variance,
)
from discreet.protocol.weight_cells import FEATURES, MAX_PULL, MEASURE, TENTH, read_weights, weight_cells
from discreet.serving.learning.learnt_state import Arrays, unpacked
from discreet.serving.learning.window_store import ClosedWindow, Learnt, UsedSum

_KEPT_DAYS = 8


def learns_weights(task: Task) -> bool:
    """Whether the weights of features are learnt from a task."""
    return task.measure == MEASURE and task.cells == OF_EACH_WINDOW


def weights_window(first: NDArray[np.float64], known: Arrays, task: Task, window: int) -> ClosedWindow:
    """A day that has ended, with the weights at which devices compute its gradient."""
    cells = weight_cells(WeightPosterior.of(known, first).candidate, first)
    return ClosedWindow(task.id.hex(), window, task.begins(window + 1), cells, np.zeros(0))


def weights_after(first: NDArray[np.float64], known: Arrays, slate_clicks: float, used: UsedSum) -> Arrays:
    """What is known of the weights after one more sum.

    Args:
        first: The weights that rank before any sum.
        known: All that is known before it.
        slate_clicks: How many clicks a slate gives, by what is known of popularity.
        used: The sum.
    """
    at = read_weights(used.closed.cells)
    if at is None:
        raise DiscreetError(f"window {used.closed.window} of {used.task.name} has no cells of weights")
    contributions = used.found.contributions or 0
    clicking = clicking_readers(contributions, slate_clicks, _slates(known).get(_day(used.closed), 0.0))
    posterior = WeightPosterior.of(known, first)
    pull = used.found.values.astype(np.float64) * (MAX_PULL / used.task.max_value)
    posterior.update(pull, pull_variance(used.task), np.array(at[0]), clicking)
    sums = known.get("weights_sums", np.zeros(1, np.int64)) + 1
    return {**posterior.state(), "weights_sums": sums, "weights_first": first}


def slates_after(known: Arrays, closed: ClosedWindow, slates: float) -> Arrays:
    """How many slates each of the latest days had, after one more window of popularity."""
    days = _slates(known)
    days[_day(closed)] = days.get(_day(closed), 0.0) + slates
    kept = sorted(days)[-_KEPT_DAYS:]
    return {"slate_days": np.array(kept, np.int64), "slates": np.array([days[day] for day in kept])}


def learnt_weights(learnt: Learnt) -> dict[str, Any] | None:
    """What an operator is told: the weights, and both tests; None before the first sum of them."""
    known = unpacked(learnt.state)
    if "weights_sums" not in known:
        return None
    first = known["weights_first"]
    posterior = WeightPosterior.of(known, first)
    both = {"first": first, "candidate": posterior.candidate, "ranking": posterior.weights}
    return {
        "sums": int(known["weights_sums"][0]),
        "learnt": not np.array_equal(posterior.weights, first),
        "chi_squared": posterior.chi_squared,
        "max_chi_squared": MAX_CHI_SQUARED,
        "gain": TENTH * posterior.gain,
        "least_gain": TENTH * posterior.least_gain,
        "weights": [
            {"feature": name, **{which: float(weights[place]) for which, weights in both.items()}}
            for place, name in enumerate(FEATURES)
        ],
    }


def weights_line(found: Mapping[str, Any]) -> str:
    """The same in a sentence."""
    ranks = "learnt weights rank" if found["learnt"] else "the first weights rank"
    return (
        f"Weights, {found['sums']} sums: {ranks}; against the first weights chi² = {found['chi_squared']:.1f} (beyond"
        f" {found['max_chi_squared']:.1f} there is a candidate), its gain in AUC, summed over readers,"
        f" {found['gain']:+.1f} (beyond {found['least_gain']:.1f} it ranks)."
    )


def _slates(known: Arrays) -> dict[int, float]:
    """How many slates each of the latest days had."""
    return dict(zip(*(known.get(name, np.zeros(0)).tolist() for name in ("slate_days", "slates")), strict=True))


def _day(closed: ClosedWindow) -> int:
    return (closed.end - 1) // DAY
