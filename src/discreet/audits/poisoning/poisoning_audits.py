"""Audits of what liars can do, registered when this module is imported.

- Sums: Prio3 proves that one report moves a sum by at most what one reader may. Lies are tried on the shipped path.
- Training: 2 % of the readers lie (`liars`). What is examined is how much AUC that costs. No paper states a bound, and
  none is proved; the claim is that a few liars do no harm, here 0.02. A server that clips each client's gradient and
  counts all alike is the defence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from discreet.audits.audit_registry import Audit, Exact, Measure, register
from discreet.audits.poisoning.forged_reports import Forger
from discreet.audits.poisoning.liars import Bound, Liars
from discreet.data.synthetic import news_world
from discreet.evaluation.metrics import RankingMetrics, ranking_metrics
from discreet.evaluation.uncertainty import paired_difference
from discreet.methods.in_rounds import Federated
from discreet.methods.method import TrainingTask
from discreet.methods.published.dp_fedrec import DPFedRec
from discreet.methods.published.fednewsrec import FedNewsRec
from discreet.methods.published.fedrec import FedRec
from discreet.privacy.guarantee import Status

_READERS, _SHARE, _HARMLESS = 800, 0.02, 0.02
_TRAINING = {"model": "naml", "rounds": 40, "fraction": 0.1}


@dataclass(frozen=True)
class ForgedReports(Exact):
    """How far a lying device moves a sum with one report."""

    forger: Forger

    @property
    def measure(self) -> Measure:
        """In units of what is summed."""
        return Measure.INFLUENCE

    def lower_bound(self, error: float, seed: int) -> float:
        """The largest influence that was reached."""
        return self.forger.influence(seed)


@dataclass(frozen=True)
class PoisonedTraining(Exact):
    """How much AUC liars cost: two standard errors below the paired difference from the honest training."""

    method: Federated
    bound: Bound

    @property
    def measure(self) -> Measure:
        """AUC."""
        return Measure.AUC_LOST

    def lower_bound(self, error: float, seed: int) -> float:
        """What was lost beyond chance; 0 if nothing was."""
        honest, poisoned = _measured(self.method, None), _measured(self.method, Liars(_SHARE, self.bound))
        lost = paired_difference(honest["auc"], poisoned["auc"], honest.reader)
        return max(0.0, lost.mean - 2 * lost.se)


@cache
def _task() -> TrainingTask:
    return TrainingTask(news_world(_READERS, seed=11), "hashed")


def _measured(method: Federated, liars: Liars | None) -> RankingMetrics:
    task = _task()
    dev = task.data.splits["dev"]
    return ranking_metrics(method.score(task, method.train(task, 0, None, liars), dev, 0), dev)


register(Audit("poisoning", "a forged report to a sum, k=1", Status.PROVED, 1.0, ForgedReports(Forger())))
register(Audit("poisoning", "a forged report to a sum, k=3", Status.PROVED, 3.0, ForgedReports(Forger(max_weight=3))))

for _words, _method, _bound in (
    ("FedRec, 2 % lie, nothing bounds a gradient", FedRec(rate=0.01, **_TRAINING), Bound()),  # type: ignore[arg-type]
    (
        "FedNewsRec without noise, 2 % lie about |B_u| too",
        FedNewsRec(rate=0.5, epsilon=math.inf, **_TRAINING),  # type: ignore[arg-type]
        Bound(coordinate=0.005, says_count=True),
    ),
    (
        "gradients clipped to 0.005, all count alike, 2 % lie",
        DPFedRec(rate=0.01, epsilon=math.inf, **_TRAINING),  # type: ignore[arg-type]
        Bound(norm=0.005),
    ),
):
    register(Audit("poisoning", _words, Status.CLAIMED, _HARMLESS, PoisonedTraining(_method, _bound)))
