"""Biases from openings whose users were centred on their own mean: what an item's raters rate is put right.

A user's residual of item i is expected to be b_i − o_i − c_u, with the opening's offsets o and her centre

    c_u = Σ_j (b_j − o_j) / (n_u + 2),  over the n_u items j that she rates

so an opening tells b_i − o_i − m_i, where m_i is the mean centre of those who rate the item. It is no constant: who
rates a good film that few know mostly rates good films, and the film looks less good than it is. On MovieLens 1M m_i
deviates by 0.11 stars in the first opening and by 0.07 in the second, as much as all the noise in what is told of a
popular item at ε = 1. The others' raters are not known; the vendor's own raters of the item are, and are like them. So
the vendor takes their mean centre for m_i, with the best biases that it has, which gives better biases, and so on.
Nothing of this leaves the vendor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.data.ratings import Ratings
from discreet.vendors.item_features import rating_counts
from discreet.vendors.sharing.contributions import Floats, centres, opening_weights, residuals, star
from discreet.vendors.sharing.estimates import (
    BIAS_VARIANCE,
    RATING_VARIANCE,
    ItemEstimates,
    Openings,
    OwnCounts,
    WeightDistribution,
)
from discreet.vendors.sharing.sharing_rounds import Opening

_PASSES = 4
_LEVEL_PASSES = 3
_USUAL_RATERS = 0.5
"""The mean centre of all raters counts as so many raters of each item. By the error of biases at vendor 1 of 10 and of
100 (partition of seed 100; ε = 1 and 5); 0.3 and 1 were as good."""
_UNSEEN = 0.01


class OpeningOfOthers(NamedTuple):
    """An opening, what the others alone answered (with their noise, in units), and σ of that noise."""

    asked: Opening
    sums: Floats
    deviation: float


def biases_of_others(opened: Sequence[OpeningOfOthers], own: Ratings) -> tuple[Openings, ItemEstimates]:
    """The openings joined, and what they say of each item, as the vendor that owns these ratings can tell.

    Observed biases are counted from the vendor's own mean rating.
    """
    known = _joined(opened, [each.asked.offset for each in opened])
    distribution = WeightDistribution.learnt(known, OwnCounts(rating_counts(own)))
    estimates = centred(distribution.estimates(known), own)
    for _ in range(_PASSES):
        bias = joint_biases(estimates, own)
        known = _joined(opened, [each.asked.offset + mean_centres(each.asked, own, bias) for each in opened])
        estimates = centred(distribution.estimates(known), own)
    return known, estimates


def mean_centres(asked: Opening, own: Ratings, bias: Floats) -> Floats:
    """m: the mean centre of those of the own users who rate each item, weighted as in the opening."""
    weight = opening_weights(own, asked.emphasis, residuals(own, asked.offset))
    centre = weight * centres(own, (bias - asked.offset)[own.item])[own.user]
    sums, weights = (np.bincount(own.item, of_rating, len(own.items)) for of_rating in (centre, weight))
    usual = _USUAL_RATERS / max(1, len(own))
    return np.asarray((sums + usual * centre.sum()) / np.maximum(weights + usual * weight.sum(), 1e-300))


def joint_biases(estimates: ItemEstimates, own: Ratings) -> Floats:
    """The items' biases by own ratings and the release together, each weighed by its precision; users have levels."""
    value = own.value.astype(np.float64) / star(own)
    value -= value.mean() if len(value) else 0.0
    items, known = len(own.items), estimates.deviation**-2
    precision = known + rating_counts(own) / RATING_VARIANCE + 1 / BIAS_VARIANCE
    bias = estimates.bias
    for _ in range(_LEVEL_PASSES):
        level = centres(own, value - bias[own.item])[own.user]
        bias = (np.bincount(own.item, value - level, items) / RATING_VARIANCE + known * estimates.observed) / precision
    return np.asarray(bias)


def centred(estimates: ItemEstimates, own: Ratings) -> ItemEstimates:
    """Observed biases with mean 0 over the own ratings, as the vendor's model has them, as far as they are observed."""
    explained = BIAS_VARIANCE / (BIAS_VARIANCE + estimates.deviation**2)
    mean = np.average(estimates.observed, weights=(rating_counts(own) + _UNSEEN) * explained)
    return ItemEstimates(estimates.bias, estimates.observed - mean, estimates.deviation, estimates.weight)


def _joined(opened: Sequence[OpeningOfOthers], shifts: Sequence[Floats]) -> Openings:
    known = Openings.of(opened[0].sums, opened[0].deviation, shifts[0])
    for (asked, sums, deviation), shift in zip(opened[1:], shifts[1:], strict=True):
        known = known.joined(sums, deviation, asked.emphasis, shift)
    return known
