"""Training on clicks that were simply collected: CenNewsRec of FedNewsRec's tables, "Centralized" of PrivateRec's."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.data.news import Impressions
from discreet.data.split import with_validation
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.in_rounds import InRounds
from discreet.methods.learnt import learnt, score_learnt
from discreet.methods.method import Scores, State, TrainingTask
from discreet.methods.ranking import OnDevice, Serving, score_impressions
from discreet.methods.round_server import open_server
from discreet.methods.setup import Setup, prepare
from discreet.privacy.guarantee import Guarantee
from discreet.progress import notice
from discreet.training.clients import round_size
from discreet.training.draws import round_generator
from discreet.training.objective import Parameters
from discreet.training.optimisers import FedAdam
from discreet.training.rounds import RoundResult, Server
from discreet.training.simulator import summed_gradient


@dataclass(frozen=True, kw_only=True)
class Centralized(InRounds):
    """Small batches of all collected samples with Adam: what a publisher has who gives no privacy.

    It passes over the readers as often as the federated methods do in their `rounds`, but `batch` readers at a time:
    the same data, in many more steps. With a `validation` share it passes only as often as is best: a training without
    the latest impressions, so large a share of them, is measured on these after each pass; then all of them train.
    """

    name: ClassVar[str] = "centralized"
    epsilon: ClassVar[None] = None

    batch: int = 32
    validation: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch < 1 or not 0 <= self.validation < 1:
            raise DiscreetError(f"{self.name}: batch must be at least 1, validation at least 0 and below 1")

    def train(self, task: TrainingTask, seed: int, checkpoint: Path | None = None) -> State:
        """Adam over as many batches as a federated method has readers in all its rounds."""
        setup = prepare(self, task, seed)
        steps = max(self.rounds, self.rounds * round_size(len(setup.clients), self.fraction) // self.batch)
        if self.validation:
            each = self.steps_in_pass(setup)
            steps = each * self.best_pass(task, seed, most=max(1, steps // each))
        with open_server(self, task, setup, FedAdam(self.rate, tau=1e-6), checkpoint, steps=steps) as server:
            for number in server:
                server.step(self.batch_gradient(setup, server.parameters, number))
        return learnt(self, task, setup, server.state)

    def best_pass(self, task: TrainingTask, seed: int, most: int) -> int:
        """Which pass of `most` is best on the latest train impressions, if the earlier ones train."""
        data = with_validation(task.data, self.validation)
        setup, later = prepare(self, replace(task, data=data, found={}), seed), data.splits["validation"]
        each = self.steps_in_pass(setup)
        found = []
        server = Server(setup.start, FedAdam(self.rate, tau=1e-6), most * each)
        for number in server:
            server.step(self.batch_gradient(setup, server.parameters, number))
            if number % each == 0:
                scores = score_impressions(setup.network, setup.table, server.parameters, later, OnDevice())
                found.append(float(ranking_metrics(scores, later)["auc"].mean()))
        best = int(np.argmax(found)) + 1
        notice(f"{self.name}, {self.model}: pass {best} of {most} is best on validation, AUC {found[best - 1]:.4f}")
        return best

    def steps_in_pass(self, setup: Setup) -> int:
        """How many batches there are in one pass over the readers."""
        return max(1, len(setup.clients) // self.batch)

    def batch_gradient(self, setup: Setup, parameters: Parameters, number: int) -> RoundResult:
        """The mean over the samples of one batch of readers, in the shuffled order of its epoch."""
        epoch, step = divmod(number - 1, self.steps_in_pass(setup))
        order = round_generator(setup.seed, epoch, "epoch").permutation(len(setup.clients))
        chosen = np.sort(order[step * self.batch : (step + 1) * self.batch])
        samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)
        weights = np.full(len(chosen), 1 / max(1, len(samples)))
        summed = summed_gradient(setup.network, setup.table, parameters, samples, weights)
        return RoundResult(summed.gradient, float(summed.losses.sum() / len(samples)) if len(samples) else math.nan)

    def guarantee(self, state: State) -> Guarantee | None:
        """None: clicks are collected."""
        return None

    def serving(self, size: int, seed: int) -> Serving:
        """The server has the exact history."""
        return OnDevice()

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Rank with the trained model."""
        return score_learnt(self, task, state, impressions, seed)
