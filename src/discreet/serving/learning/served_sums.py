"""The sums of a server: its leader, what learns from them, and what readers are told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.aggregation.dap.config import Config
from discreet.aggregation.task import Task
from discreet.errors import DiscreetError
from discreet.protocol.quality_cells import quality_cells
from discreet.serving.addresses import Proxies
from discreet.serving.aggregation import Aggregator, Background, mount_leader, open_leader
from discreet.serving.learning.experiment import Experiment, arm_names
from discreet.serving.learning.one_process_trial import FOLDER, WARNING, open_trial, trial_words
from discreet.serving.learning.public_terms import PublicTerms
from discreet.serving.learning.quality_estimates import measures_quality
from discreet.serving.learning.window_learner import WindowLearner, teaches
from discreet.serving.logs import log
from discreet.serving.public_tasks import publish_cells, read_cells
from discreet.serving.service import Service
from discreet.serving.status import Running


@dataclass(frozen=True)
class ServedSums:
    """A leader inside the server.

    Attributes:
        leader: The leader, perhaps with the collector.
        background: What starts and ends with it.
        words: What readers are told, a sentence for each task.
        warning: What everybody must know; empty if there is nothing.
        logged: Whether the publisher logs which slates were shown; else exposure is estimated.
    """

    leader: Aggregator
    background: Sequence[Background]
    words: tuple[str, ...]
    warning: str = ""
    logged: bool = False

    def mount(self, app: Any, service: Service) -> None:
        """Serve the leader, and let the service learn from its sums, if they teach what its model uses."""
        learner = self.learner(service)
        background = [*self.background, *([] if learner is None else [learner])]
        mount_leader(app, self.leader, background, service.clock)

    def learner(self, service: Service) -> WindowLearner | None:
        """What learns from the sums, if they teach what the service's model uses; it does not work yet."""
        tasks, leader = self.leader.tasks, self.leader
        service.takes_slates = self.logged
        service.running = lambda: Running(tasks, leader.refused(), leader.health())
        if leader.worker is not None:
            leader.worker.leads = service.lease.held
        if self.warning:
            log("warning", self.warning)
        if not any(teaches(task) or measures_quality(task) for task in tasks):
            return None
        assert leader.cells is not None
        _publish_quality_cells(leader.cells, tasks, service.offer.experiment)
        if leader.collector is None:
            log("warning", "no collector_key in the leader's configuration: nothing is learnt from sums here")
        return WindowLearner(service, tasks, leader.collector, leader.cells, logged=self.logged)


def _publish_quality_cells(folder: Path, tasks: Sequence[Task], experiment: Experiment | None) -> None:
    """Tell devices what the values of tasks for quality stand for.

    Raises:
        DiscreetError: A task is for other arms than those of the experiment.
    """
    cells = quality_cells(arm_names(experiment))
    digest = publish_cells(folder, cells)
    for task in filter(measures_quality, tasks):
        if task.cells != digest and read_cells(folder, task) is None:
            raise DiscreetError(f"task {task.name} is for other arms than those of [experiment]; write its terms again")


def open_sums(config: Config, proxies: Proxies | None = None) -> ServedSums:
    """The sums of a leader's configuration; the helper is somebody else."""
    leader = open_leader(config, proxies)
    words = tuple(
        f"Your device may contribute to sums over all readers. {task.purpose} {task.guarantee()}."
        for task in leader.tasks
    )
    return ServedSums(leader, (), words)


def open_trial_sums(
    place: Path, address: str, terms: PublicTerms | None, experiment: Experiment | None = None
) -> ServedSums:
    """The sums of a trial, whose files are in a folder of `place`."""
    if terms is None:
        raise DiscreetError("--helper embedded is for front_page: serve a run of it, or a feed without a run")
    if math.isinf(terms.epsilon):
        raise DiscreetError(
            "sums with ε = inf have no noise, and no device takes part; train front_page with another ε"
        )
    trial = open_trial(place / FOLDER, address, terms, experiment)
    return ServedSums(trial.leader, (trial.helper,), trial_words(trial.leader.tasks), WARNING)
