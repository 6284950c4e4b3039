"""Sharing for implicit feedback: co-purchases of all users with user-level privacy, released once, as rows for EASE.

the others ──▶ noised sums over users (secure sum) ──▶ minus the own share ──▶ a few rows ──▶ EASE ◀── own purchases
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, vstack

from discreet.data.ratings import Ratings
from discreet.evaluation.recommendation import bought
from discreet.privacy.guarantee import Guarantee
from discreet.vendors.implicit.ease import fit_rows
from discreet.vendors.implicit.item_ranker import ItemRanker
from discreet.vendors.implicit.ranking_method import RankingMethod
from discreet.vendors.implicit.sharing.purchase_plan import converse
from discreet.vendors.implicit.sharing.purchase_reading import GramOfOthers, gram_of_others
from discreet.vendors.implicit.tuning import ALL_MODELS, RankingModel, beats, best_model
from discreet.vendors.partition import Distribution, Level
from discreet.vendors.sharing.sharing_budget import SharingBudget, usual_colluders
from discreet.vendors.sharing.sharing_method import Shared, simulate_rounds


@dataclass(frozen=True, eq=False)
class WithOthers:
    """EASE of own purchases, and of rows that stand for the others' users.

    Attributes:
        others: What the others' users buy together.
        weight: The weight of a user of the others, relative to an own one with an average number of items.
        ridge: λ.
    """

    others: GramOfOthers
    weight: float
    ridge: float

    def fit(self, purchases: Ratings) -> ItemRanker:
        """The closed form."""
        own = bought(purchases)
        weight = self.weight * own.nnz / max(1, own.shape[0])
        more = csr_array(np.sqrt(weight) * self.others.rows)
        return fit_rows(purchases, vstack([own, more]).tocsr(), self.ridge + weight * self.others.rest)


@dataclass(frozen=True)
class RankingSharing(RankingMethod):
    """Vendors release noised co-purchases once; each chooses on its own purchases how much they count, if at all.

    Privacy: `contributions` bounds what a user adds to each sum, and `SharingBudget` proves (ε, δ) for a user added or
    removed, for life, against the other vendors of whom `colluders` tell the reader their noise.

    Attributes:
        epsilon: ε of a user for everything that ever leaves her vendor.
        delta: δ.
        colluders: How many other vendors may tell the reader their noise; more cost more noise. By default one, where
            there are three vendors or more.
        models: What a vendor would use alone. It keeps to the best of them unless the release is better by a margin.
        weights: Of the others' users, to choose from.
        ridges: λ, to choose from.
    """

    name: ClassVar[str] = "sharing"
    summary: ClassVar = "private co-purchases, released once, and used with each vendor's own in EASE; protects users"

    epsilon: float
    delta: float = 1e-5
    colluders: int | None = None
    models: tuple[RankingModel, ...] = ALL_MODELS
    weights: tuple[float, ...] = (0.03, 0.1, 0.3)
    ridges: tuple[float, ...] = (100.0, 300.0)

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """Users."""
        return Level.USER

    def share(self, vendors: Sequence[Ratings], seed: int) -> Shared:
        """All rounds, in simulation."""
        return simulate_rounds(vendors, self.budget(len(vendors)), converse, seed)

    def predictor(self, shared: Shared, recipient: int, own: Ratings, seed: int) -> ItemRanker:
        """The model with the others' rows at some weight, if it is better on own purchases; else the best without."""
        return self.ranker(
            gram_of_others(shared.answers, own, shared.kept[recipient], self.budget(len(shared.kept))), own, seed
        )

    def ranker(self, known: GramOfOthers, own: Ratings, seed: int) -> ItemRanker:
        """The same from what is known of the others: they must beat the best own model by a margin (`beats`).

        Both are tried on users whose last purchases are held out while the other users' are not. Were all users' held
        out, as where models are chosen, the own model would lack what was bought last, and the others' rows would not.
        """
        alone = best_model(self.models, own, seed=seed)
        if not len(known.rows):
            return alone.fit(own)
        with_others = [WithOthers(known, weight, ridge) for weight in self.weights for ridge in self.ridges]
        together = best_model(with_others, own, seed=seed)
        return (together if beats(together, alone, own, seed=seed) else alone).fit(own)

    def guarantee(self, vendors: int) -> Guarantee:
        """(ε, δ) for a user's whole life, against the other vendors, proved in `SharingBudget`."""
        return self.budget(vendors).guarantee()

    def budget(self, vendors: int) -> SharingBudget:
        """What the rounds may cost when so many take part."""
        colluders = usual_colluders(vendors) if self.colluders is None else self.colluders
        return SharingBudget(self.epsilon, self.delta, vendors, colluders)
