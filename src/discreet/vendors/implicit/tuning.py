"""Which model is best for a vendor: tried on its own purchases, of which each user's last are held out once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.evaluation.recommendation import Scorer, recommendation_metrics
from discreet.vendors.implicit.ease import EASE
from discreet.vendors.implicit.holdout import leave_last_out
from discreet.vendors.implicit.ials import IALS
from discreet.vendors.implicit.item_ranker import ItemRanker
from discreet.vendors.implicit.popularity import PopularItems
from discreet.vendors.partition import Fold

TOP = 20


class RankingModel(Protocol):
    """How to fit."""

    def fit(self, purchases: Ratings) -> ItemRanker:
        """The fitted model."""
        ...


EASE_MODELS: tuple[EASE, ...] = (
    *(EASE(ridge) for ridge in (100.0, 200.0, 400.0, 800.0)),
    EASE(50.0, evenness=0.5),
)
IALS_MODELS = tuple(
    IALS(unobserved=unobserved, ridge=ridge) for unobserved, ridge in ((0.1, 0.03), (0.3, 0.01), (0.3, 0.03))
)
ALL_MODELS: tuple[RankingModel, ...] = (PopularItems(), *EASE_MODELS, *IALS_MODELS)

Choice = TypeVar("Choice")


def best_model(models: Sequence[RankingModel], purchases: Ratings, *, seed: int = 0) -> RankingModel:
    """The model with the highest nDCG@20 on the purchases' own last part; the first where nothing can be held out."""
    return best_of(models, lambda model, fold: model.fit(fold.train), purchases, seed=seed)


def best_of(
    choices: Sequence[Choice], fit: Callable[[Choice, Fold], Scorer], purchases: Ratings, *, seed: int = 0
) -> Choice:
    """The choice whose fit to the first part of the purchases ranks their last part best."""
    fold = leave_last_out(purchases, seed=seed)
    if len(choices) == 1 or not len(fold.test):
        return choices[0]
    found = [recommendation_metrics(fit(each, fold), fold.train, fold.test, TOP)[f"ndcg@{TOP}"] for each in choices]
    return choices[int(np.argmax(found))]
