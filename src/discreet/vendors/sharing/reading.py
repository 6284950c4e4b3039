"""What a vendor makes of the answers: a prior for the items in its own model.

It takes off its own contributions and noise, exactly, and knows how much noise is left. Biases become observations of
known noise, where they tell anything. Leanings to the last directions become features, drawn to what items with the
same features have as far as their noise asks for. Their link to the vendor's own factors its sampler learns. What it
knows by itself stays among the features; a release that tells nothing of any item changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.vendors.gibbs import ItemPrior, PseudoObservations
from discreet.vendors.item_features import local_prior, public_features, rating_counts, standardised
from discreet.vendors.sharing.contributions import COUNT_WEIGHT, UNIT, Floats, Integers, opening, star
from discreet.vendors.sharing.estimates import (
    BIAS_VARIANCE,
    RATING_WEIGHT,
    Openings,
    OwnCounts,
    item_estimates,
)
from discreet.vendors.sharing.leanings import expected_leanings, released_features
from discreet.vendors.sharing.sharing_budget import SharingBudget
from discreet.vendors.sharing.sharing_rounds import Answered, Opening, Projections, Round, others

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
    items, known, projected = len(own.items), None, None
    for asked, sums in zip(rounds, rest, strict=True):
        deviation = budget.reader_deviation(asked.sensitivity, asked.share) / UNIT
        if isinstance(asked, Opening):
            known = (
                known.joined(sums, deviation, asked.emphasis, asked.offset) if known else Openings.of(sums, deviation)
            )
        elif isinstance(asked, Projections):
            projected = sums.reshape(items, -1), deviation
    if known is None:
        raise ValueError("there is no opening among the answers")
    estimates, alone = item_estimates(known, OwnCounts(rating_counts(own))), local_prior(own)
    known_items = np.flatnonzero(estimates.deviation**2 < BIAS_VARIANCE / _MIN_EXPLAINED)
    if not len(known_items):
        return alone
    own_weight = opening(own, np.ones(items), np.zeros(items))[items:] / UNIT / COUNT_WEIGHT
    popularity = np.log1p((estimates.weight + own_weight) / RATING_WEIGHT)
    columns = [alone.features, standardised(popularity[:, None])]
    if projected is not None:
        like = np.column_stack((public_features(own.items), released_features(estimates)))
        sums, deviation = projected
        columns.append(expected_leanings(sums, estimates.weight, known.relative, deviation, like))
    kinds = np.repeat(np.array([0, 0, 1], np.int32)[: len(columns)], [part.shape[1] for part in columns])
    observed = estimates.observed - np.average(estimates.observed, weights=estimates.deviation**-2)
    pseudo = PseudoObservations.of_biases(
        known_items.astype(np.int32),
        observed[known_items] * star(own),
        estimates.deviation[known_items] * star(own),
        rank,
    )
    return ItemPrior(np.column_stack(columns), reliability_groups(estimates.deviation), pseudo, kinds)


def reliability_groups(deviation: Floats) -> NDArray[np.int32]:
    """Quarters of the items, by how well the others' ratings tell their biases.

    Groups by the vendor's own counts would put all items that it never saw into one. Of their factors nothing is known,
    and the sampler would spend its iterations on that group's precision.
    """
    return np.searchsorted(np.quantile(deviation, [0.25, 0.5, 0.75]), deviation).astype(np.int32)
