"""The three ways to rank side by side: on the device, on the device from a shortlist, on the server.

A shortlist is fetched from the whole catalogue by what was released, so noise decides which articles the device gets to
see, and its exact history how they are ordered. An article that is not on the shortlist ranks behind all that are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.evaluation.metrics import RankingMetrics, ranking_metrics
from discreet.evaluation.uncertainty import estimate
from discreet.methods.click_reports.oneshot import OneShot
from discreet.methods.method import State, TrainingTask

_MEASURED = 400
"""On how many impressions: each of them ranks the whole catalogue."""

_BEHIND = 1e6


def three_rankings(
    method: OneShot, task: TrainingTask, state: State, impressions: Impressions, seed: int, *, shortlist: int = 200
) -> dict[str, RankingMetrics]:
    """What local, shortlist and server ranking achieve on some of the impressions, evenly spread in time."""
    some = impressions.select(np.unique(np.linspace(0, len(impressions) - 1, _MEASURED).astype(np.int64)))
    exact = replace(method, ranking="device").score(task, state, some, seed)
    on_server = replace(method, ranking="release")
    released = on_server.score(task, state, some, seed)
    catalogue = np.unique(impressions.shown)
    everything = on_server.score(task, state, _showing(some, catalogue), seed).reshape(len(some), len(catalogue))
    place = max(len(catalogue) - shortlist, 0)
    least = np.partition(everything, place, axis=1)[:, place][some.impression_of_shown]
    scores = {
        "local": exact,
        "shortlist": np.where(released >= least, exact, released - least - _BEHIND),
        "server": released,
    }
    return {name: ranking_metrics(found, some) for name, found in scores.items()}


def qualities(measured: Mapping[str, RankingMetrics]) -> dict[str, dict[str, float | None]]:
    """Each ranking's AUC with its standard error, as a served run tells it to devices (`rankings.json`)."""
    found = {name: estimate(metrics["auc"], metrics.reader).to_json() for name, metrics in measured.items()}
    return {name: {"auc": auc["mean"], "se": auc["se"]} for name, auc in found.items()}


def _showing(impressions: Impressions, articles: NDArray[np.int32]) -> Impressions:
    """The same readers at the same times, each shown all of `articles`, none of them clicked."""
    count = len(impressions)
    return replace(
        impressions,
        slate=np.arange(count + 1, dtype=np.int64) * len(articles),
        shown=np.tile(articles, count),
        clicked=np.zeros(count * len(articles), np.bool_),
    )
