"""What a vendor makes of the answers: a prior for the items in its own model.

It takes off its own contributions and noise, exactly, and knows how much noise is left. Biases become observations of
known noise; leanings to the directions become features, shrunk as their noise asks for, whose link to the vendor's own
factors its sampler learns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.data.ratings import Ratings
from discreet.vendors.features import popularity_groups, public_features, standardised
from discreet.vendors.gibbs import ItemPrior, PseudoObservations
from discreet.vendors.sharing.budget import Budget
from discreet.vendors.sharing.contributions import COUNT_WEIGHT, UNIT, Floats, Integers, opening, star
from discreet.vendors.sharing.estimates import RATING_VARIANCE, RATING_WEIGHT, item_estimates
from discreet.vendors.sharing.rounds import Answered, Opening, Projections, others

_LEAST_LEANING = 1e-6


def item_prior(
    answers: Sequence[Answered], own: Ratings, added: Sequence[Integers], budget: Budget, rank: int
) -> ItemPrior:
    """The prior for a model with `rank` factors of the vendor that owns these ratings and added this noise."""
    items = len(own.items)
    sums, counts, precision = np.zeros(items), np.zeros(items), 0.0
    leanings: list[tuple[Floats, float]] = []
    for answered, noise in zip(answers, added, strict=True):
        rest = others(answered, own, noise)
        deviation = budget.reader_deviation(answered.round.sensitivity, answered.round.share) / UNIT
        if isinstance(answered.round, Opening):
            sums += rest[:items] / deviation**2
            counts += rest[items:] / deviation**2
            precision += deviation**-2
        elif isinstance(answered.round, Projections):
            leanings.append((rest.reshape(items, -1), deviation))
    estimates = item_estimates(sums / precision, counts / precision, precision**-0.5)
    own_weight = opening(own)[items:] / UNIT / COUNT_WEIGHT
    popularity = np.log1p((estimates.weight + own_weight) / RATING_WEIGHT)
    columns = [public_features(own.items), standardised(popularity[:, None])]
    columns += [leaning_features(sums_, estimates.weight, deviation) for sums_, deviation in leanings]
    observed = estimates.observed - np.average(estimates.observed, weights=estimates.deviation**-2)
    pseudo = PseudoObservations.of_biases(
        np.arange(items, dtype=np.int32), observed * star(own), estimates.deviation * star(own), rank
    )
    return ItemPrior(np.column_stack(columns), popularity_groups(own), pseudo)


def leaning_features(sums: Floats, weight: Floats, deviation: float) -> Floats:
    """Expected leaning of each item to each direction, in units of the leanings' deviation over the items.

    Model: sum = W·θ + N(0, σ² + sampling), θ ~ N(0, t²) with t² from the released sums' own variance.
    """
    noise = deviation**2 + RATING_VARIANCE * RATING_WEIGHT * weight / sums.shape[1]
    variance = np.maximum(_LEAST_LEANING, (np.square(sums) - noise[:, None]).sum(axis=0) / np.square(weight).sum())
    signal = weight[:, None] * variance
    return np.asarray(signal * sums / (weight[:, None] * signal + noise[:, None]) / np.sqrt(variance))
