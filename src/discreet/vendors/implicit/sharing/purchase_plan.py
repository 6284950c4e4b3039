"""The course of the rounds. Every decision is made from public numbers and from what was released before.

    sales        which items are bought, to choose the popular ones and those that stand out from the noise
    pairs        the Gram matrix of the popular items; its first eigenvectors are the directions of taste
    projections  the Gram matrix of all kept items times the directions

The last two together are a Nyström approximation of the whole Gram matrix XᵀX of all users, which EASE needs. The cost
of a wide catalogue: an item beyond `MAX_KEPT`, or whose sales do not stand out from the noise, gets nothing from the
others. Answers have I, M·(M − 1)/2 and kept·directions values of 8 bytes.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.vendors.implicit.sharing.purchase_rounds import Sales, SalesPairs, SalesProjections
from discreet.vendors.sharing.contributions import UNIT, Floats
from discreet.vendors.sharing.sharing_budget import SharingBudget
from discreet.vendors.sharing.sharing_rounds import Answered, Ask, Round

SALES_SHARE, PAIRS_SHARE = 0.15, 0.35
POPULAR = 400
MAX_KEPT = 20_000
MAX_DIRECTIONS = 32
_DIAGONAL_STEPS = 8


def converse(ask: Ask, budget: SharingBudget, items: int) -> list[Answered]:
    """Ask the vendors everything, once, and give back what they answered together."""
    first = Sales(SALES_SHARE)
    answers = [Answered(first, ask(first))]
    sold = answers[0].total / UNIT
    order = np.argsort(-sold, kind="stable")
    popular = order[: min(POPULAR, items)]
    visible = int((sold > total_deviation(first, budget)).sum())
    kept = np.sort(order[: min(MAX_KEPT, max(len(popular), visible))])
    second = SalesPairs(PAIRS_SHARE, popular)
    answers.append(Answered(second, ask(second)))
    basis = directions(answers[1].total / UNIT, len(popular), total_deviation(second, budget))
    third = SalesProjections(1 - SALES_SHARE - PAIRS_SHARE, popular, basis, kept)
    answers.append(Answered(third, ask(third)))
    return answers


def directions(upper: Floats, size: int, deviation: float) -> Floats:
    """The eigenvectors of the released Gram matrix that stand out from its noise, one at least.

    The diagonal is not released: it is filled in from the directions themselves, a few times over.
    """
    gram = np.zeros((size, size))
    gram[np.triu_indices(size, 1)] = upper
    gram += gram.T
    edge = 2 * deviation * math.sqrt(size)
    for _ in range(_DIAGONAL_STEPS):
        values, vectors = np.linalg.eigh(gram)
        count = int(np.clip((values > edge).sum(), 1, min(MAX_DIRECTIONS, size)))
        chosen = vectors[:, ::-1][:, :count]
        np.fill_diagonal(gram, np.maximum(0.0, np.square(chosen) @ np.maximum(0.0, values[::-1][:count])))
    return np.asarray(chosen)


def total_deviation(asked: Round, budget: SharingBudget) -> float:
    """σ, in units, of the noise of all vendors in a round's total."""
    return float(budget.vendor_deviation(asked.sensitivity, asked.share)) * math.sqrt(budget.vendors) / UNIT
