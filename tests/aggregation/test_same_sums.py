"""Simulated, over nodes, and by two aggregators: the same contributions and the same noise have the same sum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dap_site import START, WINDOW, Site, example_task

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.node_sums import NodeSums
from discreet.aggregation.sums import PlainSums, Sums
from discreet.aggregation.task import Task
from discreet.errors import DiscreetError
from discreet.privacy.noise import SimulatedNoise

TASKS: dict[str, dict[str, Any]] = {
    "histogram": {"kind": "histogram", "length": 3, "epsilon": 0.5},
    "multihot": {"kind": "multihot", "length": 6, "max_total": 2, "epsilon": 0.1},
    "signedvec": {"kind": "signedvec", "length": 4, "max_value": 60, "max_total": 60, "epsilon": 1.0},
    "sumvec": {"kind": "sumvec", "length": 4, "max_value": 60, "max_total": 60, "epsilon": 1.0},
    "sum": {"kind": "sum", "length": 1, "max_value": 9, "epsilon": 0.2},
    "count": {"kind": "count", "length": 1, "noise": "discrete_gaussian", "epsilon": 1.0, "delta": 1e-6},
}


def contributions(some: Task) -> list[Contribution]:
    rng, made = np.random.default_rng(4), []
    for _ in range(7):
        values = some.nothing()
        values[:] = 0
        values[rng.integers(some.length)] = some.max_value
        made.append(Contribution.of(some, values))
    return made


class OverDap:
    """The site of the DAP tests, as `Sums`."""

    def __init__(self, folder: Path, some: Task, noise: SimulatedNoise) -> None:
        self.site = Site(folder, task=some, noise=noise)

    def contribute(self, some: Task, window: int, contribution: Contribution) -> None:
        self.site.client.upload(window, contribution)

    def collect(self, some: Task, window: int) -> Any:
        self.site.clock.now = START + (window + 2) * WINDOW
        try:
            return self.site.collect(window)
        finally:
            self.site.close()


@pytest.mark.parametrize("kind", TASKS)
def test_a_method_does_not_know_which(kind: str, tmp_path: Path) -> None:
    some = example_task(**TASKS[kind])
    ways: list[Sums] = [
        PlainSums(SimulatedNoise(8)),
        NodeSums(3, SimulatedNoise(8)),
        OverDap(tmp_path, some, SimulatedNoise(8)),
    ]
    found = []
    for sums in ways:
        for contribution in contributions(some):
            sums.contribute(some, 0, contribution)
        found.append(sums.collect(some, 0))
    assert len({tuple(each.values.tolist()) for each in found}) == 1
    assert [each.contributions for each in found] == [7, 7, 7]
    assert {each.guarantee for each in found} == {some.guarantee()}


def test_nodes_keep_the_rules_of_sums() -> None:
    some = example_task(**TASKS["multihot"])
    sums = NodeSums(2, SimulatedNoise(1))
    sums.contribute(some, 0, contributions(some)[0])
    with pytest.raises(DiscreetError, match="fewer than the 2"):
        sums.collect(some, 0)
    sums.contribute(some, 0, contributions(some)[1])
    sums.collect(some, 0)
    with pytest.raises(DiscreetError, match="collected already"):
        sums.collect(some, 0)
    with pytest.raises(DiscreetError, match="promises"):
        sums.contribute(some, 1, contributions(example_task(**{**TASKS["multihot"], "epsilon": 2}))[0])
