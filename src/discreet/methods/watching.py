"""Showing how a training goes: its loss, and now and then the AUC on a few later impressions.

The AUC is only shown. Nothing is chosen by it, so the split it is measured on stays unseen by the method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DiscreetError
from discreet.evaluation.metrics import ranking_metrics
from discreet.federated.checkpoint import Checkpoint
from discreet.federated.rounds import RoundResult
from discreet.methods.base import Task
from discreet.methods.ranking import Serving, score_impressions
from discreet.progress import status

if TYPE_CHECKING:
    from discreet.methods.neural import Setup

_IMPRESSIONS = 200
_TIMES = 10


class Watch:
    """Called after every round; `points` collects (round, AUC)."""

    def __init__(self, task: Task, setup: Setup, steps: int, serving: Serving) -> None:
        later = task.data.splits.get("dev", task.data.splits["train"])
        some = np.random.default_rng(0).permutation(len(later))[:_IMPRESSIONS]
        self._sample = later.select(np.sort(some))
        self._setup = setup
        self._serving = serving
        self._every = max(1, steps // _TIMES)
        self.points: list[tuple[int, float]] = []

    def __call__(self, state: Checkpoint, result: RoundResult) -> None:
        """Show the loss, and on every tenth of the way the AUC."""
        if state.round % self._every == 0:
            self._measure(state)
        auc = f", AUC {self.points[-1][1]:.3f}" if self.points else ""
        status(f"loss {result.loss:.3f}{auc}")

    def _measure(self, state: Checkpoint) -> None:
        setup = self._setup
        scores = score_impressions(setup.network, setup.table, state.parameters, self._sample, self._serving)
        try:
            self.points.append((state.round, float(ranking_metrics(scores, self._sample)["auc"].mean())))
        except DiscreetError:
            return  # a split without published clicks, or without any: there is no AUC to show
