"""Training on clicks that were simply collected: CenNewsRec of FedNewsRec's tables, "Centralized" of PrivateRec's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.data.news import Impressions
from discreet.methods.in_rounds import InRounds
from discreet.methods.learnt import learnt, score_learnt
from discreet.methods.method import Scores, State, TrainingTask
from discreet.methods.ranking import OnDevice, Serving
from discreet.methods.round_server import open_server
from discreet.methods.setup import Setup, prepare
from discreet.privacy.guarantee import Guarantee
from discreet.training.clients import round_size
from discreet.training.draws import round_generator
from discreet.training.objective import Parameters
from discreet.training.optimisers import FedAdam
from discreet.training.rounds import RoundResult
from discreet.training.simulator import summed_gradient


@dataclass(frozen=True, kw_only=True)
class Centralized(InRounds):
    """Small batches of all collected samples with Adam: what a publisher has who gives no privacy.

    It passes over the readers as often as the federated methods do in their `rounds`, but `batch` readers at a time:
    the same data, in many more steps.
    """

    name: ClassVar[str] = "centralized"
    epsilon: ClassVar[None] = None

    batch: int = 32

    def train(self, task: TrainingTask, seed: int, checkpoint: Path | None = None) -> State:
        """Adam over as many batches as a federated method has readers in all its rounds."""
        setup = prepare(self, task, seed)
        steps = max(self.rounds, self.rounds * round_size(len(setup.clients), self.fraction) // self.batch)
        with open_server(self, task, setup, FedAdam(self.rate, tau=1e-6), checkpoint, steps=steps) as server:
            for number in server:
                server.step(self.batch_gradient(setup, server.parameters, number))
        return learnt(self, task, setup, server.state)

    def batch_gradient(self, setup: Setup, parameters: Parameters, number: int) -> RoundResult:
        """The mean over the samples of one batch of readers, in the shuffled order of its epoch."""
        epoch, step = divmod(number - 1, max(1, len(setup.clients) // self.batch))
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
