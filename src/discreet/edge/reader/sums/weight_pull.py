"""How a device's clicks pull the weights of its ranking, a day at a time, and what it would gain by others.

A slate whose clicked article has features x_c, and whose articles have features x_j, pulls the weights by

    g = x_c − Σ_j p_j x_j,   p the soft-max of the scores at the candidate weights:

the gradient of the click's log-likelihood; several clicks of a slate share it. Where a head is learnt, each of its
directions is one more feature, z̄ₖ zₖ, whose weight is λₖ. A device gives the mean of g over its slates with a click,
each feature in its public unit: the six of features clipped to length `MAX_PULL` in L1, those of a head to
`MAX_HEAD_PULL`. One more number is the mean gain in AUC of the candidate over the weights of reference, in tenths, from
−1 to 1. All are rounded towards zero on a lattice of `unit` steps. A device without clicks gives zeros. The simulator
of `front_page` calls the same function.

**Theorem.** The sizes of the values of a day sum to at most `max_total`, whatever was shown and clicked. That is
(`MAX_PULL` + 1)·unit, and with a head (`MAX_PULL` + `MAX_HEAD_PULL` + 1)·unit. So with discrete Laplace noise of scale
`max_total`/ε of each aggregator a day is ε-differentially private for a reader, in the sense of
`aggregation.aggregator_noise`.

**Proof.** After clipping, the first six sum to at most `MAX_PULL` in size, those of a head to at most `MAX_HEAD_PULL`,
and the last is at most 1. They are multiplied with unit·(1 − 2⁻⁴⁰), which is more than the arithmetic of doubles can be
wrong by, and rounding towards zero makes no value longer. This holds at whatever weights and units, so for whatever a
server asks. The device checks the bound again before it gives. Nothing else depends on clicks. ∎
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.task import Kind, Task
from discreet.edge.reader.views import View
from discreet.protocol.weight_cells import (
    FEATURES,
    LENGTH,
    MAX_HEAD_PULL,
    MAX_PULL,
    TENTH,
    ToldWeights,
    max_total,
    read_weights,
)

Floats = NDArray[np.float64]


def weights_pull(task: Task, views: Sequence[View], cells: Sequence[str], left: int) -> NDArray[np.int64]:
    """The values of a day; zeros where nothing was clicked, or where the cells are not those of weights.

    Args:
        task: The task, in which a value is at most `MAX_PULL` units.
        views: What was shown in the window, with its features.
        cells: What the values stand for.
        left: What is left of the task's total; with less than the most that a reader gives nothing is given.
    """
    told, unit, values = read_weights(cells), task.max_value // MAX_PULL, task.nothing()
    if told is None or task.kind is not Kind.SIGNEDVEC or len(cells) > task.length:
        return values
    known = [view for view in views if _has_features(view, len(told.units))]
    if not known or not 0 < max_total(task.length - LENGTH) * unit <= left:
        return values
    features = np.array([row[: len(told.units)] for view in known for row in view.features], np.float64)
    clicked = np.array([one for view in known for one in view.clicked], np.bool_)
    slate = np.cumsum([0, *(len(view.clicked) for view in known)])
    values[: len(cells)] = reader_pulls(features, clicked, slate, np.zeros(len(known), np.int64), told, unit)[0]
    return values


def reader_pulls(
    features: Floats,
    clicked: NDArray[np.bool_],
    slate: NDArray[np.integer],
    reader: NDArray[np.integer],
    told: ToldWeights,
    unit: int,
) -> NDArray[np.int64]:
    """What each reader gives for a day, one in a row; each from her own slates alone.

    Args:
        features: A row for each shown article.
        clicked: Whether it was clicked.
        slate: Where each slate begins, and where the last one ends; none is empty.
        reader: Of each slate the reader's row.
        told: The weights at which gradients are computed, those that their gain is against, and units.
        unit: Steps of the lattice in the length 1.
    """
    begins, each = slate[:-1], np.repeat(np.arange(len(slate) - 1), np.diff(slate))
    clicks = np.add.reduceat(clicked.astype(np.float64), begins)
    scores, others = _scores(features, told.candidate), _scores(features, told.reference)
    chance = np.exp(scores - np.maximum.reduceat(scores, begins)[each])
    surprise = clicked / np.maximum(clicks, 1)[each] - chance / np.add.reduceat(chance, begins)[each]
    pull = np.add.reduceat(features * surprise[:, None], begins, axis=0) / np.array(told.units)
    pull[clicks == 0] = 0.0
    gains = auc_gains(scores, others, clicked, slate) / TENTH
    mean = np.zeros((int(reader.max(initial=-1)) + 1, len(told.units) + 1))
    np.add.at(mean, reader, np.column_stack((pull, gains)))
    mean /= np.maximum(np.bincount(reader, clicks > 0, len(mean)), 1)[:, None]
    for part, most in ((slice(0, len(FEATURES)), MAX_PULL), (slice(len(FEATURES), -1), MAX_HEAD_PULL)):
        mean[:, part] *= most / np.maximum(np.abs(mean[:, part]).sum(axis=1, keepdims=True), most)
    mean[:, -1] = np.clip(mean[:, -1], -1, 1)
    return np.trunc(mean * (unit * (1 - 2.0**-40))).astype(np.int64)


def _has_features(view: View, width: int) -> bool:
    """Whether a view kept so many features of each of its articles; it may have kept more."""
    return len(view.features) == len(view.clicked) > 0 and all(len(row) >= width for row in view.features)


def _scores(features: Floats, weights: Sequence[float]) -> Floats:
    """Each row's, summed in the order of the features, so that equal rows have equal scores on every device."""
    found = np.zeros(len(features))
    for column, weight in enumerate(weights):
        found += weight * features[:, column]
    return found


def auc_gains(scores: Floats, others: Floats, clicked: NDArray[np.bool_], slate: NDArray[np.integer]) -> Floats:
    """By how much the scores order each slate better than the others do; 0 for a slate that has no AUC."""
    found = np.zeros(len(slate) - 1)
    if np.array_equal(scores, others):
        return found
    for place, (begin, end) in enumerate(zip(slate[:-1].tolist(), slate[1:].tolist(), strict=True)):
        mine = clicked[begin:end]
        if mine.any() and not mine.all():
            found[place] = _auc(scores[begin:end], mine) - _auc(others[begin:end], mine)
    return found


def _auc(scores: Floats, clicked: NDArray[np.bool_]) -> float:
    """The share of pairs of a clicked and another article in the right order; a tie counts half."""
    apart = scores[clicked][:, None] - scores[~clicked]
    return float(((apart > 0).sum() + 0.5 * (apart == 0).sum()) / apart.size)
