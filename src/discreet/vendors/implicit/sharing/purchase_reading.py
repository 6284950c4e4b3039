"""What a vendor makes of the answers: a few rows that stand for all users of the others, next to its own users' rows.

With V the directions and C = G·V the projections of the others' Gram matrix G, Nyström's approximation is

    G ≈ C·(VᵀC)⁻¹·Cᵀ + D = L·Lᵀ + D

A column of L is a user who never was: EASE takes it as one more row of its matrix, and the diagonal D, what directions
do not say of an item's own sales, as more ridge. Without D items would seem to follow from the directions without fail.
The vendor takes off its own share and its own noise, exactly. Directions that do not stand out from the noise are left
out, and rows of items are shrunk by the noise in them; both cost no privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.vendors.implicit.sharing.purchase_contributions import unit_rows
from discreet.vendors.implicit.sharing.purchase_rounds import SalesProjections
from discreet.vendors.sharing.contributions import UNIT, Floats, Integers
from discreet.vendors.sharing.sharing_budget import SharingBudget
from discreet.vendors.sharing.sharing_rounds import Answered, Round, others


@dataclass(frozen=True, eq=False)
class GramOfOthers:
    """The others' Gram matrix, about: `rows`ᵀ·`rows` + diag(`rest`). There may be no row at all."""

    rows: Floats
    rest: Floats


def gram_of_others(
    answers: Sequence[Answered], own: Ratings, added: Sequence[Integers], budget: SharingBudget
) -> GramOfOthers:
    """What the others' users buy together, as the vendor of these purchases can tell from the answers."""
    rest = [others(answered, own, noise) for answered, noise in zip(answers, added, strict=True)]
    return gram_from([answered.round for answered in answers], rest, own, budget)


def gram_from(rounds: Sequence[Round], rest: Sequence[Floats], own: Ratings, budget: SharingBudget) -> GramOfOthers:
    """The same from what the others alone have said in each round (`rest`, with their noise, in units)."""
    asked = rounds[-1]
    if not isinstance(asked, SalesProjections):
        raise ValueError("there are no projections among the answers")
    deviation = budget.reader_deviation(asked.sensitivity, asked.share) / UNIT
    part = nystrom(rest[-1].reshape(len(asked.kept), -1), asked, deviation)
    rows = np.zeros((part.shape[1], len(own.items)))
    rows[:, asked.kept] = part.T
    entries = unit_rows(own).data
    usual = float(np.square(entries).sum() / max(1.0, entries.sum()))
    sold = np.maximum(0.0, rest[0])
    return GramOfOthers(rows, np.maximum(0.0, usual * sold - np.square(rows).sum(axis=0)))


def nystrom(projected: Floats, asked: SalesProjections, deviation: float) -> Floats:
    """L of the kept items from C with noise of this σ."""
    place = np.searchsorted(asked.kept, asked.popular)
    inner = asked.basis.T @ projected[place]
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    seen = values > 2 * deviation * np.sqrt(len(values))
    scale = np.sqrt(values[seen])
    rows = projected @ vectors[:, seen] / scale
    noise = float(np.sum(np.square(deviation / scale)))
    squares = np.maximum(np.square(rows).sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(rows * np.maximum(0.0, 1 - noise / squares))
