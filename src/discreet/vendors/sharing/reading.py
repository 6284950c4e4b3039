"""What a vendor makes of the answers: a prior for the items in its own model.

It takes off its own contributions and noise, exactly, and knows how much noise is left. Biases become observations of
known noise, where they tell anything; leanings to the directions become features, shrunk as their noise asks for, whose
link to the vendor's own factors its sampler learns. What it knows by itself stays among the features; a release that
tells nothing of any item changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.vendors.gibbs import ItemPrior, PseudoObservations
from discreet.vendors.item_features import local_prior, rating_counts, standardised
from discreet.vendors.sharing.contributions import COUNT_WEIGHT, UNIT, Floats, Integers, opening, star
from discreet.vendors.sharing.estimates import (
    BIAS_VARIANCE,
    RATING_VARIANCE,
    RATING_WEIGHT,
    Openings,
    OwnCounts,
    item_estimates,
)
from discreet.vendors.sharing.sharing_budget import SharingBudget
from discreet.vendors.sharing.sharing_rounds import Answered, Opening, Projections, Round, others

_MIN_LEANING = 1e-6
_MIN_EXPLAINED = 0.02
"""How much of the variance of biases the release must explain of an item to be an observation of it."""


def item_prior(
    answers: Sequence[Answered], own: Ratings, added: Sequence[Integers], budget: SharingBudget, rank: int
) -> ItemPrior:
    """The prior for a model with `rank` factors of the vendor that owns these ratings and added this noise."""
    rest = [others(answered, own, noise) for answered, noise in zip(answers, added, strict=True)]
    return prior_of_others([answered.round for answered in answers], rest, own, budget, rank)


def prior_of_others(
    rounds: Sequence[Round], rest: Sequence[Floats], own: Ratings, budget: SharingBudget, rank: int
) -> ItemPrior:
    """The prior from what the others alone have said in each round (`rest`, with their noise, in units)."""
    items, known, leanings = len(own.items), None, []
    for asked, sums in zip(rounds, rest, strict=True):
        deviation = budget.reader_deviation(asked.sensitivity, asked.share) / UNIT
        if isinstance(asked, Opening):
            known = (
                known.joined(sums, deviation, asked.emphasis, asked.offset) if known else Openings.of(sums, deviation)
            )
        elif isinstance(asked, Projections):
            leanings.append((sums.reshape(items, -1), deviation))
    if known is None:
        raise ValueError("there is no opening among the answers")
    estimates, alone = item_estimates(known, OwnCounts(rating_counts(own))), local_prior(own)
    known_items = np.flatnonzero(estimates.deviation**2 < BIAS_VARIANCE / _MIN_EXPLAINED)
    if not len(known_items):
        return alone
    own_weight = opening(own, np.ones(items), np.zeros(items))[items:] / UNIT / COUNT_WEIGHT
    popularity = np.log1p((estimates.weight + own_weight) / RATING_WEIGHT)
    columns = [alone.features, standardised(popularity[:, None])]
    columns += [leaning_features(sums, estimates.weight, known.relative, deviation) for sums, deviation in leanings]
    observed = estimates.observed - np.average(estimates.observed, weights=estimates.deviation**-2)
    pseudo = PseudoObservations.of_biases(
        known_items.astype(np.int32),
        observed[known_items] * star(own),
        estimates.deviation[known_items] * star(own),
        rank,
    )
    return ItemPrior(np.column_stack(columns), reliability_groups(estimates.deviation), pseudo)


def reliability_groups(deviation: Floats) -> NDArray[np.int32]:
    """Quarters of the items, by how well the others' ratings tell their biases.

    Groups by the vendor's own counts would put all items that it never saw into one. Of their factors nothing is known,
    and the sampler would spend its iterations on that group's precision.
    """
    return np.searchsorted(np.quantile(deviation, [0.25, 0.5, 0.75]), deviation).astype(np.int32)


def leaning_features(sums: Floats, weight: Floats, relative: Floats, deviation: float) -> Floats:
    """Expected leaning of each item to each direction, in units of the leanings' deviation over the items.

    Model: sum = W·θ + N(0, σ² + sampling), θ ~ N(0, t²) with t² from the released sums' own variance. A rating weighs
    `relative` times what it does in `weight`.
    """
    mass = weight * relative
    noise = deviation**2 + RATING_VARIANCE * RATING_WEIGHT * relative * mass / sums.shape[1]
    variance = np.maximum(_MIN_LEANING, (np.square(sums) - noise[:, None]).sum(axis=0) / np.square(mass).sum())
    signal = mass[:, None] * variance
    return np.asarray(signal * sums / (mass[:, None] * signal + noise[:, None]) / np.sqrt(variance))
