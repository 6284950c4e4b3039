"""The course of the rounds. Every decision is made from public numbers and from what was released before.

First the opening: how high and how often items are rated. If taste is visible through the noise that the budget allows,
pairs of popular items follow, which give directions of taste, and then projections of all items onto them; otherwise
the opening once more, with all the rest of the budget.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.vendors.sharing.budget import Budget
from discreet.vendors.sharing.contributions import COUNT_WEIGHT, UNIT, Directions, Floats, Integers
from discreet.vendors.sharing.estimates import item_estimates
from discreet.vendors.sharing.rounds import Answered, Ask, Opening, Pairs, Projections

OPENING_SHARE, PAIRS_SHARE = 0.4, 0.2
POPULAR = 300
"""How many items the directions are learnt from."""
MOST_DIRECTIONS = 8

_TASTE = 0.0013
"""The first eigenvalue of the users' covariance of popular items, per weight of all ratings, on generated ratings."""
_LEAST_VISIBLE = 1.5
_DIRECTIONS_PER_VISIBILITY = 1.25


def converse(ask: Ask, budget: Budget, items: int) -> list[Answered]:
    """Ask the vendors everything, once, and give back what they answered together."""
    opening = Opening(OPENING_SHARE)
    answers = [Answered(opening, ask(opening))]
    sums, counts = halves(answers[0].total)
    rank = directions_worth(float(counts.sum()) / COUNT_WEIGHT, budget, items)
    if not rank:
        again = Opening(1 - OPENING_SHARE)
        return [*answers, Answered(again, ask(again))]
    known = item_estimates(sums, counts, total_deviation(opening.sensitivity, opening.share, budget))
    popular = np.argsort(-counts, kind="stable")[:POPULAR]
    pairs = Pairs(PAIRS_SHARE, known.bias, popular)
    answers.append(Answered(pairs, ask(pairs)))
    directions = Directions(known.bias, popular, basis(answers[1].total, known.weight[popular], rank))
    projections = Projections(1 - OPENING_SHARE - PAIRS_SHARE, directions)
    answers.append(Answered(projections, ask(projections)))
    return answers


def directions_worth(weight: float, budget: Budget, items: int) -> int:
    """How many directions of taste to ask for; 0 if none would be seen.

    The signal expected from the released weight of all ratings is set against σ·√(popular items) of the noise, from
    which on eigenvectors begin to show.
    """
    popular = min(POPULAR, items)
    sigma = total_deviation(UNIT / math.sqrt(2), PAIRS_SHARE, budget)
    visible = _TASTE * weight / (sigma * math.sqrt(popular))
    if visible < _LEAST_VISIBLE or popular < 2:
        return 0
    return min(MOST_DIRECTIONS, popular - 1, int(_DIRECTIONS_PER_VISIBILITY * visible))


def basis(upper: Integers, weight: Floats, rank: int) -> Floats:
    """The first eigenvectors of the released covariance, each item's part scaled to how often it is rated."""
    size = len(weight)
    covariance = np.zeros((size, size))
    covariance[np.triu_indices(size, 1)] = upper / UNIT
    scale = np.sqrt(weight / weight.mean())
    covariance = (covariance + covariance.T) / np.outer(scale, scale)
    vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, :rank]
    return np.asarray(vectors * math.sqrt(size))


def total_deviation(sensitivity: float, share: float, budget: Budget) -> float:
    """σ, in units, of the noise of all vendors in a round's total."""
    return float(budget.vendor_deviation(sensitivity, share)) * math.sqrt(budget.vendors) / UNIT


def halves(opening: Integers) -> tuple[Floats, Floats]:
    """Sums and counts of an opening, in units."""
    sums, counts = np.split(opening / UNIT, 2)
    return sums, counts
