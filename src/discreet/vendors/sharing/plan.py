"""The course of the rounds. Every decision is made from public numbers and from what was released before.

First an opening: how high and how often items are rated. Then another, whose emphasis on items follows from the first:
uniform weights would spend most of the budget on items so popular that every vendor knows them. Its residuals are
counted from the biases that the first has told: they are smaller, so they weigh more under the same bound. If taste
is visible through the noise that the budget allows, pairs of popular items follow, which give directions of taste, and
then projections of all items onto them, twice: the first ones tell how far many more items lean to the directions, so
that users' profiles are better known in the second. Otherwise the second opening has all the rest of the budget.

The constants were chosen on partitions of MovieLens 1M over 10 and 100 vendors with seed 100: another random partition
of the same ratings that results are reported on, not other ratings. `COUNT_WEIGHT` was chosen on those 53 % of the
ratings that no reported partition tests.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.vendors.sharing.contributions import COUNT_WEIGHT, UNIT, Directions, Floats, Integers
from discreet.vendors.sharing.estimates import Openings, item_estimates
from discreet.vendors.sharing.leanings import expected_leanings, released_features
from discreet.vendors.sharing.sharing_budget import SharingBudget
from discreet.vendors.sharing.sharing_rounds import Answered, Ask, Opening, Pairs, Projections, Round

FIRST_SHARE, SECOND_SHARE, PAIRS_SHARE, PROJECTIONS_SHARE = 0.2, 0.3, 0.1, 0.15
POPULAR = 200
"""How many items the directions are learnt from."""
KNOWN = 2000
"""Of so many items at most the second projections use how far they lean to the directions."""
MAX_DIRECTIONS = 8

_TASTE = 0.0013
"""The first eigenvalue of the users' covariance of popular items, per weight of all ratings."""
_MIN_VISIBLE = 1.5
_DIRECTIONS_PER_VISIBILITY = 1.25
_TAIL = 0.8
_MIN_SPREAD = 1e-12
_MAX_LOADING = 10.0


def converse(ask: Ask, budget: SharingBudget, items: int) -> list[Answered]:
    """Ask the vendors everything, once, and give back what they answered together."""
    first = Opening.even(FIRST_SHARE, items)
    answers = [Answered(first, ask(first))]
    known = Openings.of(answers[0].total / UNIT, total_deviation(first, budget))
    rank = directions_worth(float(known.counts.sum()) / COUNT_WEIGHT, budget, items)
    share = SECOND_SHARE if rank else 1 - FIRST_SHARE
    estimates = item_estimates(known)
    second = Opening(share, emphasis(estimates.weight, budget, share), estimates.bias)
    answers.append(Answered(second, ask(second)))
    if not rank:
        return answers
    known = known.joined(answers[1].total / UNIT, total_deviation(second, budget), second.emphasis, second.offset)
    estimates = item_estimates(known)
    popular = np.argsort(-estimates.weight, kind="stable")[:POPULAR]
    pairs = Pairs(PAIRS_SHARE, estimates.bias, popular)
    answers.append(Answered(pairs, ask(pairs)))
    directions = Directions(estimates.bias, popular, basis(answers[2].total, len(popular), rank), second.emphasis)
    projections = Projections(PROJECTIONS_SHARE, directions)
    answers.append(Answered(projections, ask(projections)))
    leaning = expected_leanings(
        (answers[3].total / UNIT).reshape(items, rank),
        estimates.weight,
        known.relative,
        total_deviation(projections, budget),
        released_features(estimates),
    )
    rest = 1 - FIRST_SHARE - SECOND_SHARE - PAIRS_SHARE - PROJECTIONS_SHARE
    again = Projections(rest, later_directions(directions, leaning, estimates.weight))
    answers.append(Answered(again, ask(again)))
    return answers


def later_directions(first: Directions, leaning: Floats, weight: Floats) -> Directions:
    """The directions that items' leanings span, uncorrelated over the ratings and of variance 1."""
    best = np.argsort(-weight, kind="stable")[:KNOWN]
    share = weight[best] / weight[best].sum()
    centred = leaning[best] - share @ leaning[best]
    spread, axes = np.linalg.eigh((centred * share[:, None]).T @ centred)
    basis = centred @ axes[:, ::-1] / np.sqrt(np.maximum(spread[::-1], _MIN_SPREAD))
    return Directions(first.offset, best, np.clip(basis, -_MAX_LOADING, _MAX_LOADING), first.emphasis)


def emphasis(weight: Floats, budget: SharingBudget, share: float) -> Floats:
    """√W/(W + W₀): as 1/√W where an item has enough ratings to be seen, and falling below W₀, about the noise's σ.

    The expected error Σ n_i/(P_i + I_i), with n_i ratings and prior precision P_i at the reader, of which the release
    adds I_i ∝ (a_i·W_i)² at a cost of a_i²·W_i each, is least where I_i is linear in W_i: a_i ∝ 1/√W_i.
    """
    least = _TAIL * budget.hidden_deviation(1.0, share)
    return np.asarray(np.sqrt(weight) / (weight + least) * (2 * np.sqrt(least)))


def directions_worth(weight: float, budget: SharingBudget, items: int) -> int:
    """How many directions of taste to ask for; 0 if none would be seen.

    The signal expected from the released weight of all ratings is set against σ·√(popular items) of the noise, from
    which on eigenvectors begin to show.
    """
    popular = min(POPULAR, items)
    sigma = total_deviation(Pairs(PAIRS_SHARE, np.zeros(0), np.zeros(0, np.int64)), budget)
    visible = _TASTE * weight / (sigma * math.sqrt(popular))
    if visible < _MIN_VISIBLE or popular < 2:
        return 0
    return min(MAX_DIRECTIONS, popular - 1, int(_DIRECTIONS_PER_VISIBILITY * visible))


def basis(upper: Integers, size: int, rank: int) -> Floats:
    """The first eigenvectors of the released covariance of so many items, with entries of about 1."""
    covariance = np.zeros((size, size))
    covariance[np.triu_indices(size, 1)] = upper / UNIT
    vectors = np.linalg.eigh(covariance + covariance.T)[1][:, ::-1][:, :rank]
    return np.asarray(vectors * math.sqrt(size))


def total_deviation(asked: Round, budget: SharingBudget) -> float:
    """σ, in units, of the noise of all vendors in a round's total."""
    return float(budget.vendor_deviation(asked.sensitivity, asked.share)) * math.sqrt(budget.vendors) / UNIT
