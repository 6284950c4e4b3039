"""The weights of a ranking, as `front_page` learns them, from the sums of a server's devices.

They are those of the features, of popularity and, where a task has room for them, of a head's directions. A window is
a day. When it ends, its cells say at which candidate weights devices compute their gradient: those of the
posterior after all sums that were used by then. When its sum has come, the posterior learns from it. Both tests of
`methods.front_page.weight_posterior` decide which weights rank from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.task import DAY, OF_EACH_WINDOW, Task
from discreet.errors import DiscreetError
from discreet.methods.front_page.learnt_weights import clicking_readers, pull_variance
from discreet.methods.front_page.weight_posterior import MAX_CHI_SQUARED, WeightPosterior, WeightPrior
from discreet.protocol.weight_cells import FEATURES, LENGTH, MAX_PULL, MEASURE, TENTH, read_weights, weight_cells
from discreet.serving.learning.learnt_state import Arrays, unpacked
from discreet.serving.learning.window_store import ClosedWindow, Learnt, UsedSum

_KEPT_DAYS = 8
_SIZE = len(FEATURES)


def learns_weights(task: Task) -> bool:
    """Whether the weights of a ranking are learnt from a task."""
    return task.measure == MEASURE and task.cells == OF_EACH_WINDOW


def learns_head(task: Task) -> bool:
    """Whether a head is learnt from it, too."""
    return learns_weights(task) and task.length > LENGTH


def weights_window(prior: WeightPrior, known: Arrays, task: Task, window: int) -> ClosedWindow:
    """A day that has ended, with the weights at which devices compute its gradient."""
    cells = weight_cells(prior.told(WeightPosterior.of(known, prior).candidate))
    if len(cells) > task.length:
        raise DiscreetError(f"task {task.name} has room for {task.length - LENGTH} directions of a head; write it anew")
    return ClosedWindow(task.id.hex(), window, task.begins(window + 1), cells, np.zeros(0))


def weights_after(prior: WeightPrior, known: Arrays, slate_clicks: float, used: UsedSum) -> Arrays:
    """What is known of the weights after one more sum. Of a sum for another head the features' part is used.

    Args:
        prior: What is known before any sum.
        known: All that is known before this one.
        slate_clicks: How many clicks a slate gives, by what is known of popularity.
        used: The sum.
    """
    cells = used.closed.cells
    told = read_weights(cells)
    if told is None:
        raise DiscreetError(f"window {used.closed.window} of {used.task.name} has no cells of weights")
    contributions = used.found.contributions or 0
    clicking = clicking_readers(contributions, slate_clicks, _slates(known).get(_day(used.closed), 0.0))
    same = len(told.units) == len(prior.units) and np.allclose(told.units, prior.units, rtol=1e-6)
    size = len(prior.units) if same else _SIZE
    pull = used.found.values[[*range(size), len(cells) - 1]].astype(np.float64) * (MAX_PULL / used.task.max_value)
    at = prior.first if told.candidate == told.reference else np.array(told.candidate)
    posterior = WeightPosterior.of(known, prior)
    posterior.update(pull, pull_variance(used.task), at[:size], clicking)
    sums = known.get("weights_sums", np.zeros(1, np.int64)) + 1
    first = {"weights_first": prior.first, "weights_units": prior.units}
    return {**posterior.state(), **first, "weights_sums": sums}


def knows_head(known: Arrays) -> bool:
    """Whether sums have taught something of a head."""
    return len(known.get("weights_first", ())) > _SIZE


def ranking_weights(known: Arrays) -> NDArray[np.float64] | None:
    """The weights that rank, by what is known; None before the first sum of them."""
    return None if "weights_sums" not in known else _posterior(known).weights


def slates_after(known: Arrays, closed: ClosedWindow, slates: float) -> Arrays:
    """How many slates each of the latest days had, after one more window of popularity."""
    days = _slates(known)
    days[_day(closed)] = days.get(_day(closed), 0.0) + slates
    kept = sorted(days)[-_KEPT_DAYS:]
    return {"slate_days": np.array(kept, np.int64), "slates": np.array([days[day] for day in kept])}


def learnt_weights(learnt: Learnt) -> dict[str, Any] | None:
    """What an operator is told: the weights, the head, and the tests; None before the first sum of them."""
    known = unpacked(learnt.state)
    if "weights_sums" not in known:
        return None
    posterior = _posterior(known)
    first = posterior.prior.first
    each = {"first": first, "candidate": posterior.candidate, "ranking": posterior.weights}
    head = {
        "directions": posterior.prior.directions,
        "chi_squared": posterior.head_chi_squared,
        "max_chi_squared": posterior.max_head_chi_squared,
        "learnt": not np.array_equal(posterior.weights[_SIZE:], first[_SIZE:]),
        **{which: _length(posterior.prior, weights) for which, weights in each.items()},
    }
    return {
        "sums": int(known["weights_sums"][0]),
        "learnt": not np.array_equal(posterior.weights, first),
        "chi_squared": posterior.chi_squared,
        "max_chi_squared": MAX_CHI_SQUARED,
        "gain": TENTH * posterior.gain,
        "least_gain": TENTH * posterior.least_gain,
        "weights": [
            {"feature": name, **{which: float(weights[place]) for which, weights in each.items()}}
            for place, name in enumerate(FEATURES)
        ],
        "head": head if posterior.prior.directions else None,
    }


def weights_line(found: Mapping[str, Any]) -> str:
    """The same in a sentence."""
    ranks = "learnt weights rank" if found["learnt"] else "the first weights rank"
    line = (
        f"Weights, {found['sums']} sums: {ranks}; against the first weights chi² = {found['chi_squared']:.1f} (beyond"
        f" {found['max_chi_squared']:.1f} there is a candidate), its gain in AUC, summed over readers,"
        f" {found['gain']:+.1f} (beyond {found['least_gain']:.1f} it ranks)."
    )
    if (head := found.get("head")) is None:
        return line
    return (
        f"{line} Head of {head['directions']} directions: {'a learnt' if head['learnt'] else 'the first'} one ranks;"
        f" against the first chi² = {head['chi_squared']:.1f} (beyond {head['max_chi_squared']:.1f} it is learnt); its"
        f" length is {head['ranking']:.3f}, the first one's {head['first']:.3f}."
    )


def _posterior(known: Arrays) -> WeightPosterior:
    first, units = known["weights_first"], known.get("weights_units", np.zeros(0))
    prior = WeightPrior(first)
    if len(first) > _SIZE:
        prior = WeightPrior.with_head(first[:_SIZE], first[_SIZE:], units[_SIZE:])
    return WeightPosterior.of(known, prior)


def _length(prior: WeightPrior, weights: NDArray[np.float64]) -> float:
    """Of a head, its weights in units."""
    return float(np.linalg.norm((weights * prior.units)[_SIZE:]))


def _slates(known: Arrays) -> dict[int, float]:
    """How many slates each of the latest days had."""
    return dict(zip(*(known.get(name, np.zeros(0)).tolist() for name in ("slate_days", "slates")), strict=True))


def _day(closed: ClosedWindow) -> int:
    return (closed.end - 1) // DAY
