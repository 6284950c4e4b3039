"""Comparisons with as many methods as there are, and figures that lie close together."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.data.news import Impressions
from discreet.evaluation.beyond import BEYOND
from discreet.evaluation.metrics import RankingMetrics, ranking_metrics
from discreet.experiments.ranking_results import Comparison, MethodResult
from discreet.experiments.rating_results import BUCKETS, VendorComparison, VendorResult
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.vendors.partition import Distribution
from discreet.vendors.sharing import Sharing
from discreet.vendors.vendor_registry import METHODS


def crowded_vendors() -> VendorComparison:
    """All vendors' methods, those with a budget at three, their errors nearly alike."""
    rng, results = np.random.default_rng(0), []
    for place, name in enumerate(METHODS):
        private = METHODS[name].level_for(Distribution.HORIZONTAL) is not None
        for epsilon in (1.0, 5.0, math.inf) if private else (None,):
            rmse = 0.95 - 0.002 * place + 0.03 / (epsilon or 1.0) + 0.01 * rng.random((1, 1, 8, 1))
            squared = np.square(np.broadcast_to(rmse, (1, 1, 8, len(BUCKETS))) - 0.03 * np.arange(len(BUCKETS)))
            promised = None if epsilon is None else Sharing(5.0).guarantee(8)
            results.append(VendorResult(name, epsilon, squared, np.ones_like(squared), promised))
    return VendorComparison("ratings of a rather long name", 8, "by hand", results)


def crowded_news() -> Comparison:
    """Baselines, and methods with budgets, claims and long names; with all metrics that there are."""
    impressions = _impressions()
    names = ["random", "popularity", "recency", "exposure", "content", "combined", "a_baseline_with_a_long_name"]
    results = [
        MethodResult(name, None, None, [_metrics(impressions, 0.01 * place)], None, baseline=True)
        for place, name in enumerate(names)
    ]
    for place in range(13):
        for epsilon in (1.0, 3.0, 10.0):
            claimed = epsilon if place % 4 == 0 else None
            status = Status.PROVED if claimed is None else Status.CLAIMED
            promised = Guarantee(
                epsilon * (20 if claimed else 1), 1e-6, Unit.CLICK, Adjacency.SUBSTITUTE, Adversary.SERVER,
                Scope.LIFETIME, status, "by hand", 1, claimed,
            )  # fmt: skip
            runs = [_metrics(impressions, 0.02 * place)]
            model = "nrms_of_titles" if place % 2 else None
            results.append(
                MethodResult(f"private_method_{place}", model, epsilon, runs, promised, variant="rounds=200")
            )
    return Comparison("a data set of a rather long name", "dev", results)


def _impressions(count: int = 120, slate: int = 6) -> Impressions:
    clicked = np.tile(np.arange(slate) < 1, count)
    none = np.zeros(count, np.int64)
    starts = np.arange(count + 1) * slate
    reader = np.arange(count, dtype=np.int32)
    shown, timeline = np.zeros(count * slate, np.int32), np.zeros(0, np.int32)
    return Impressions(reader, np.arange(count), starts, shown, clicked, timeline, none, none)


def _metrics(impressions: Impressions, signal: float) -> RankingMetrics:
    noise = np.random.default_rng(3).normal(size=len(impressions.shown))
    found = ranking_metrics(signal * impressions.clicked + noise, impressions)
    return replace(found, values={**found.values, **dict.fromkeys(BEYOND, found.values["mrr"])})
