"""Showing how a training goes: its loss, and now and then the AUC on a few later impressions.

The AUC is only shown. Nothing is chosen by it, so the split it is measured on stays unseen by the method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DiscreetError
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.method import TrainingTask
from discreet.methods.ranking import Serving, score_impressions
from discreet.progress import detail, status
from discreet.training.checkpoint import Checkpoint
from discreet.training.rounds import RoundResult

if TYPE_CHECKING:
    from discreet.methods.setup import Setup

_IMPRESSIONS = 200
_TIMES = 10


class TrainingMonitor:
    """Called after every round; the AUC that it returns now and then is kept with the training."""

    def __init__(self, task: TrainingTask, setup: Setup, steps: int, serving: Serving) -> None:
        later = task.data.splits.get("dev", task.data.splits["train"])
        some = np.random.default_rng(0).permutation(len(later))[:_IMPRESSIONS]
        self._sample = later.select(np.sort(some))
        self._setup = setup
        self._serving = serving
        self._every = max(1, steps // _TIMES)

    def __call__(self, state: Checkpoint, result: RoundResult) -> float | None:
        """Show the loss, and on every tenth of the way the AUC, which is returned."""
        auc = self._measure(state) if state.round % self._every == 0 else None
        last = auc if auc is not None else state.watched[-1][1] if state.watched else None
        shown = f"loss {result.loss:.3f}{'' if last is None else f', AUC {last:.3f}'}"
        status(shown)
        detail(f"round {state.round}: {shown}")
        return auc

    def _measure(self, state: Checkpoint) -> float | None:
        setup = self._setup
        scores = score_impressions(setup.network, setup.table, state.parameters, self._sample, self._serving)
        try:
            return float(ranking_metrics(scores, self._sample)["auc"].mean())
        except DiscreetError:
            return None  # a split without published clicks, or without any: there is no AUC to show
