"""Audit of nodes that train by `dp_fedavg` against a server that lies, registered when this module is imported.

Between worlds, the readers of one node have clicked on other articles, on all or on none of what they were shown, and
have other histories or none. How many they are, and what they were shown, is public and stays. What the node answers
must not tell which world it is, whatever it is asked. The other nodes give what the server wants.

What runs the audit is imported when it runs, so that listing audits does not wait for PyTorch.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

from discreet.aggregation.contribution import Contribution
from discreet.audits.audit_registry import Audit, register
from discreet.audits.hostile_nodes import HostileCoordinator
from discreet.audits.node_lies import damaged, json_changed
from discreet.nodes import Assignment, Contribute, OpenJob
from discreet.privacy.guarantee import Guarantee, Scope, Status
from discreet.privacy.noise import SimulatedNoise

if TYPE_CHECKING:
    from discreet.data.news import Impressions, NewsData
    from discreet.methods.training_job import Description
    from discreet.training.objective import Parameters

NODES = (1, 2, 3, 4)
_READERS = 6

Change = Callable[["Impressions"], "Impressions"]
CHANGES: tuple[Change, ...] = (
    lambda part: part,
    lambda part: replace(part, clicked=np.roll(part.clicked, 1)),
    lambda part: replace(part, clicked=np.zeros_like(part.clicked)),
    lambda part: replace(part, clicked=np.ones_like(part.clicked)),
    lambda part: replace(part, history_start=part.history_stop),
    lambda part: replace(part, timeline=part.timeline[::-1].copy(), clicked=np.roll(part.clicked, 2)),
)
"""What the readers of node 1 did, in each world."""


@dataclass
class ReadersWorld:
    """Four nodes, the first with readers of this world."""

    folder: Path
    data: NewsData
    length: int
    opened: dict[bytes, Contribute] = field(default_factory=dict)
    opener: OpenJob | None = None

    def openers(self) -> Mapping[int, OpenJob]:
        """How they open jobs; who has joined and what was spent in an earlier conversation is forgotten."""
        from discreet.edge.node import training_node as training
        from discreet.nodes.configuration import NodeSettings

        shutil.rmtree(self.folder, ignore_errors=True)
        if self.opener is None:
            with patch.object(training, "open_with_train", lambda _: self.data):
                self.opener = training.job_opener(NodeSettings(self.folder, 1, self.folder, None, 5.0))
        return {1: self._open} | dict.fromkeys(NODES[1:], self._willing)

    def _open(self, description: bytes) -> Contribute:
        """A job as it is opened where nothing was spent before; kept, for all that it remembers is in the folder."""
        assert self.opener is not None
        if description not in self.opened:
            aside = self.folder.with_name(f"{self.folder.name}-aside")
            with _moved(self.folder, aside):
                self.opened[description] = self.opener(description)
        return self.opened[description]

    def _willing(self, _: bytes) -> Contribute:
        def contribute(_: Assignment) -> Contribution:
            return Contribution(np.zeros(self.length, np.int64), Guarantee.unprotected("nothing", Scope.LIFETIME))

        return contribute


@dataclass(frozen=True)
class TrainingScript:
    """Trainings and rounds that nodes might be asked for, and some that nobody should."""

    honest: bytes
    others: tuple[bytes, ...]
    start: Parameters

    def description(self, rng: Random) -> bytes:
        """The agreed training mostly; one with other settings or another model; or what is no training."""
        kind = rng.random()
        if kind < 0.5:
            return self.honest
        if kind < 0.8:
            return rng.choice(self.others)
        return json_changed(rng, json.loads(self.honest), sort_keys=True)

    def task(self, rng: Random, description: bytes, asked: int) -> tuple[bytes, int]:
        """A round with parameters as large as may be, or none; and rounds that were, or never will be."""
        import torch

        from discreet.methods.training_job import write_task

        number = asked + 1 if rng.random() < 0.8 else rng.choice((0, 1, 1, 2, 3, 4, 2**31, 2**63))
        factor = rng.choice((1.0, 1.0, 0.0, -1.0, 1e6, 1e20, 1e38, 3e38, 1e-30, math.nan, math.inf))
        changed = {name: value * 0 + factor if rng.random() < 0.5 else value for name, value in self.start.items()}
        if rng.random() < 0.05:
            changed[rng.choice(list(changed))] = torch.zeros(rng.randrange(3))
        data = write_task(changed, number)
        length = sum(value.numel() for value in self.start.values()) + 1
        data = damaged(rng, data) if rng.random() < 0.05 else data
        return data, length if rng.random() < 0.95 else rng.choice((1, length + 1))


@contextmanager
def _moved(folder: Path, aside: Path) -> Iterator[None]:
    there = folder.exists()
    if there:
        folder.rename(aside)
    try:
        yield
    finally:
        if there:
            aside.rename(folder)


def _other_trainings(honest: Description, start: Parameters) -> Iterator[bytes]:
    """With a promise that a node would find itself, so that they go as far as they can."""
    from discreet.errors import DiscreetError
    from discreet.methods.training_job import promised

    for change in (
        {"clip": 1e-30}, {"clip": 1e30}, {"epsilon": 5.1}, {"epsilon": 1.0}, {"epsilon": math.inf}, {"rounds": 1},
        {"rounds": 10**6}, {"negatives": 100}, {"negatives": 10**6}, {"local_steps": 3}, {"local_rate": 1e30},
        {"local_steps": 2, "local_rate": 1e38}, {"fraction": 0.5}, {"participations": 4}, {"participation": "hidden"},
        {"history_clicks": 2}, {"delta": 1e-3},
    ):  # fmt: skip
        try:
            method = replace(honest.method, **change)
            yield replace(honest, method=method, promise=str(promised(method, start))).to_bytes()
        except DiscreetError:
            continue
    yield replace(honest, seed=2**63 - 1).to_bytes()
    yield replace(honest, centre=honest.centre + np.float32(1e38)).to_bytes()
    yield replace(honest, centre=np.zeros(3, np.float32)).to_bytes()
    yield replace(
        honest, fixed={name: np.sign(part) * np.float32(1e38) for name, part in honest.fixed.items()}
    ).to_bytes()
    yield replace(honest, catalogue="another").to_bytes()


def _worlds() -> Iterator[NewsData]:
    from discreet.data.synthetic import news_world

    data = news_world(_READERS, seed=1, articles_per_day=10)
    for change in CHANGES:
        yield replace(data, splits={**data.splits, "train": change(data.splits["train"])})


@contextmanager
def stage() -> Iterator[tuple[Sequence[ReadersWorld], TrainingScript]]:
    """All worlds, in folders that are gone afterwards; noise is simulated, for it is replaced in any case."""
    from discreet.methods.dp_fedavg import DPFedAvg
    from discreet.methods.method import TrainingTask
    from discreet.methods.training_job import Description
    from discreet.training.randomness import SecretRandomness

    method, worlds = DPFedAvg(rounds=3), list(_worlds())
    task = TrainingTask(worlds[0], "hashed")
    setup = method.setup(task, 7)
    start, honest = setup.start, Description.of(method, task, setup)
    script = TrainingScript(honest.to_bytes(), tuple(_other_trainings(honest, start)), start)
    with (
        tempfile.TemporaryDirectory(prefix="discreet-") as folder,
        patch.object(SecretRandomness, "noise", lambda _, number: SimulatedNoise(number)),
    ):
        yield [ReadersWorld(Path(folder) / str(n), data, method.length(start)) for n, data in enumerate(worlds)], script


CONVERSATIONS = 500
register(
    Audit("nodes", f"dp_fedavg, a lying server, {CONVERSATIONS} conversations", Status.PROVED, 0.0,
          HostileCoordinator(stage, CONVERSATIONS))
)  # fmt: skip
