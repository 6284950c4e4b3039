"""Ways to recommend from implicit feedback side by side: the same purchases, dealt out to the same vendors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import numpy as np

from discreet.data.purchases import Purchases
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.evaluation.recommendation import Scorer, metric_names, recommendation_metrics
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.implicit_results import RankingComparison, RankingResult
from discreet.experiments.rating_comparison import Design, Floats, at_vendors
from discreet.progress import counted, notice
from discreet.vendors.implicit.holdout import leave_last_out
from discreet.vendors.implicit.ranking_method import RankingMethod
from discreet.vendors.partition import Distribution, Fold
from discreet.vendors.vendor_registry import MethodRefusal


def compare_rankings(
    purchases: Purchases,
    design: Design,
    methods: Sequence[RankingMethod],
    cache: MeasurementCache,
    refused: Sequence[MethodRefusal] = (),
    own: Sequence[Ratings] | None = None,
    *,
    top: int = 20,
) -> RankingComparison:
    """Measure every method at every vendor that is to be measured; the first method is `local`.

    The purchases are dealt out as `design` says, or each vendor has its `own`. A vendor all of whose users have a
    single item cannot be measured; a notice says how many such there are.

    Raises:
        DiscreetError: the purchases cannot be dealt out so, or no vendor can be measured.
    """
    if design.distribution is not Distribution.HORIZONTAL or design.folds != 1:
        raise DiscreetError("implicit feedback is compared with the horizontal distribution and 1 fold only")
    names = metric_names(top)
    measure = partial(_measured, top=top)
    found, reused = at_vendors(
        purchases, design, methods, cache, _one_fold, measure, (len(names) + 1,), f"ranking, top {top}", own
    )
    found = found[:, :, 0]
    usable = np.isfinite(found).all(axis=(0, 1, 3))
    if not usable.any():
        raise DiscreetError(f"{purchases.name}: no vendor has a user with two items, so nothing can be tested")
    if not usable.all():
        notice(f"left out: {counted(int((~usable).sum()), 'vendor')}; no user there has two items to test with")
    results = [
        RankingResult(
            method.name,
            method.epsilon,
            table[:, usable, :-1],
            method.guarantee(design.vendors),
            settings=repr(method),
            reused=int(again),
        )
        for method, table, again in zip(methods, found, reused, strict=True)
    ]
    part = "the last" if purchases.has_times else "a random"
    dealt = design.dealt_in_words() if own is None else f"{design.vendors} vendors' own files"
    words = f"{dealt}, {part} fifth of each user's items tested"
    settings = asdict(design) | {"top": top, "dealing": "own files" if own is not None else str(design.dealing)}
    tested = int(found[0, :, usable, -1].sum())
    return RankingComparison(purchases.name, design.vendors, top, words, tested, results, refused, settings)


def _one_fold(ratings: Ratings, *, seed: int) -> list[Fold]:
    return [leave_last_out(ratings, seed=seed)]


def _measured(scorer: Scorer, fold: Fold, *, top: int) -> Floats:
    """All metrics, and how many purchases were tested; not a number where there are none."""
    if not len(fold.test):
        return np.full(len(metric_names(top)) + 1, np.nan)
    found = recommendation_metrics(scorer, fold.train, fold.test, top)
    return np.array([*(found[name] for name in metric_names(top)), len(fold.test)])
