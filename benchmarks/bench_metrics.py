"""All metrics of 70,000 impressions: Discreet against a loop over impressions with scikit-learn.

The loop is what MIND's official scorer does: `roc_auc_score`, and MRR and nDCG in NumPy, for one impression at a time.
It is timed on a random tenth of the impressions, and its time scaled up; the values of that tenth must agree to 1e-9.

    python benchmarks/bench_metrics.py
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.metrics import roc_auc_score

from discreet.data.news import Impressions
from discreet.evaluation.metrics import METRICS, ranking_metrics

IMPRESSIONS = 70_000
MEAN_SLATE = 37
SHARE_TIMED = 10
TARGET_RATIO = 50
TOLERANCE = 1e-9


def make_impressions(rng: np.random.Generator) -> Impressions:
    """Slates of 2 to 300 articles, 37 on average, with one or more clicks each and articles left unclicked."""
    sizes = np.clip(rng.geometric(1 / (MEAN_SLATE - 1), IMPRESSIONS) + 1, 2, 300)
    slate = np.concatenate(([0], np.cumsum(sizes)))
    clicked = np.zeros(slate[-1], dtype=np.bool_)
    clicks = np.minimum(rng.geometric(1 / 1.5, IMPRESSIONS), sizes - 1)
    for more in range(clicks.max()):
        chosen = clicks > more
        clicked[slate[:-1][chosen] + rng.integers(0, sizes[chosen])] = True
    return Impressions(
        reader=rng.integers(0, IMPRESSIONS // 2, IMPRESSIONS).astype(np.int32),
        time=np.arange(IMPRESSIONS),
        slate=slate,
        shown=np.zeros(slate[-1], dtype=np.int32),
        clicked=clicked,
        timeline=np.zeros(0, dtype=np.int32),
        history_start=np.zeros(IMPRESSIONS, dtype=np.int64),
        history_stop=np.zeros(IMPRESSIONS, dtype=np.int64),
    )


def dcg(clicks: np.ndarray, order: np.ndarray, k: int) -> float:
    """Discounted gain of the first k."""
    gains = 2.0 ** clicks[order[:k]] - 1
    return float(np.sum(gains / np.log2(np.arange(len(gains)) + 2)))


def one_by_one(scores: np.ndarray, impressions: Impressions, which: np.ndarray) -> dict[str, np.ndarray]:
    """The official scorer's functions, impression by impression; equal scores in slate order."""
    found: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for i in which:
        place = slice(impressions.slate[i], impressions.slate[i + 1])
        y, s = impressions.clicked[place].astype(np.int64), scores[place]
        order, ideal = np.argsort(-s, kind="stable"), np.argsort(-y, kind="stable")
        found["auc"].append(float(roc_auc_score(y, s)))
        found["mrr"].append(float(np.sum(y[order] / (np.arange(len(y)) + 1)) / np.sum(y)))
        found["ndcg@5"].append(dcg(y, order, 5) / dcg(y, ideal, 5))
        found["ndcg@10"].append(dcg(y, order, 10) / dcg(y, ideal, 10))
    return {metric: np.array(values) for metric, values in found.items()}


def main() -> int:
    """Run both, print both, and fail if the target is missed."""
    rng = np.random.default_rng(0)
    impressions = make_impressions(rng)
    scores = rng.normal(size=len(impressions.shown)).round(2)
    which = np.sort(rng.choice(IMPRESSIONS, IMPRESSIONS // SHARE_TIMED, replace=False))

    times = []
    for _ in range(3):
        start = time.perf_counter()
        ours = ranking_metrics(scores, impressions)
        times.append(time.perf_counter() - start)
    start = time.perf_counter()
    theirs = one_by_one(scores, impressions, which)
    loop = (time.perf_counter() - start) * SHARE_TIMED

    gap = max(float(np.abs(ours[metric][which] - theirs[metric]).max()) for metric in METRICS)
    fastest = min(times)
    print(f"{IMPRESSIONS:,} impressions, {len(impressions.shown):,} shown articles: AUC, MRR, nDCG@5, nDCG@10")
    print(f"  scikit-learn and NumPy, one impression at a time  {loop:8.2f} s (from a tenth of them)")
    print(f"  discreet.evaluation.ranking_metrics               {fastest:8.2f} s (best of {len(times)})")
    print(
        f"  ratio {loop / fastest:.0f}, target at least {TARGET_RATIO}; largest gap {gap:.0e}, allowed {TOLERANCE:.0e}"
    )
    return 0 if loop / fastest >= TARGET_RATIO and gap <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
