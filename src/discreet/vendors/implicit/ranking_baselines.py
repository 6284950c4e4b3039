"""Each vendor alone, with one model or the best of all; and all purchases in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.vendors.implicit.item_ranker import Floats, ItemRanker
from discreet.vendors.implicit.popularity import PopularItems
from discreet.vendors.implicit.ranking_method import RankingMethod
from discreet.vendors.implicit.tuning import ALL_MODELS, EASE_MODELS, IALS_MODELS, RankingModel, best_model
from discreet.vendors.partition import pooled


@dataclass(frozen=True)
class LocalRanking(RankingMethod):
    """Each vendor alone, with the model that is best on its own last purchases: popularity, EASE or iALS."""

    name: ClassVar[str] = "local"
    summary: ClassVar = "each vendor alone, with the best of popularity, EASE and iALS on its own last purchases"

    models: tuple[RankingModel, ...] = ALL_MODELS

    def share(self, vendors: Sequence[Ratings], seed: int) -> None:
        """Nothing leaves."""

    def predictor(self, shared: Any, recipient: int, own: Ratings, seed: int) -> ItemRanker:
        """The best model of own purchases."""
        return best_model(self.models, own, seed=seed).fit(own)


@dataclass(frozen=True)
class LocalPopularity(LocalRanking):
    """Each vendor's own most bought items."""

    name: ClassVar[str] = "popularity"
    summary: ClassVar = "each vendor's own most bought items"

    models: tuple[RankingModel, ...] = (PopularItems(),)


@dataclass(frozen=True)
class LocalEASE(LocalRanking):
    """Each vendor alone, with EASE (Steck 2019)."""

    name: ClassVar[str] = "ease"
    summary: ClassVar = "each vendor alone, with EASE (Steck 2019), its ridge chosen on own purchases"

    models: tuple[RankingModel, ...] = EASE_MODELS


@dataclass(frozen=True)
class LocalIALS(LocalRanking):
    """Each vendor alone, with iALS (Rendle et al. 2021)."""

    name: ClassVar[str] = "ials"
    summary: ClassVar = "each vendor alone, with iALS (Rendle et al. 2021), tuned on own purchases"

    models: tuple[RankingModel, ...] = IALS_MODELS


@dataclass(frozen=True)
class FullRanking(RankingMethod):
    """All purchases in one place, with the best of the same models: what sharing can reach at best."""

    name: ClassVar[str] = "full"
    summary: ClassVar = "all purchases in one place, the same models: what sharing can reach at best"

    models: tuple[RankingModel, ...] = ALL_MODELS

    def share(self, vendors: Sequence[Ratings], seed: int) -> list[ItemRanker]:
        """One model, as seen by each vendor."""
        everything = pooled(vendors)
        fitted = best_model(self.models, everything, seed=seed).fit(everything)
        first = np.cumsum([0, *(len(vendor.users) for vendor in vendors)])
        return [_Part(fitted, int(start), vendor) for start, vendor in zip(first[:-1], vendors, strict=True)]

    def predictor(self, shared: list[ItemRanker], recipient: int, own: Ratings, seed: int) -> ItemRanker:
        """The model, asked for the recipient's users."""
        return shared[recipient]


class _Part(ItemRanker):
    """A model of all vendors' users, asked for those of one vendor."""

    def __init__(self, fitted: ItemRanker, first: int, own: Ratings) -> None:
        self.users, self.items = own.users, own.items.ids
        self.bought = fitted.bought[first : first + len(own.users)]
        self._fitted, self._first = fitted, first

    def scores(self, users: NDArray[np.integer]) -> Floats:
        """Those of the whole model."""
        return self._fitted.scores(np.asarray(users) + self._first)

    def similarities(self, item: int) -> Floats:
        """Those of the whole model."""
        return self._fitted.similarities(item)
