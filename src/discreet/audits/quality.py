"""Audits of what devices measure of their own ranking, registered when this module is imported.

- A reader's window: how far the shipped measure lets whatever was shown and clicked move all values of the sum.
- One aggregator's share, by the exact probabilities of its noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from discreet.audits.audit_registry import Audit, Exact, register
from discreet.audits.hockey_stick import HockeyStick
from discreet.audits.sum_noise import ShareMasses
from discreet.edge.reader.sums.measures import MEASURES, Observed
from discreet.edge.reader.views import View
from discreet.privacy.guarantee import Status
from discreet.protocol.quality_cells import EVERYBODY, quality_cells
from discreet.serving.learning.quality_estimates import quality_task

ARMS = (EVERYBODY, "0123456789abcdef/a", "0123456789abcdef/b")


def all_views(longest: int, max_views: int) -> Iterator[tuple[View, ...]]:
    """All lists of at most so many views of at most so many articles, clicked in every way, in every arm."""
    single = [
        View(arm, clicked)
        for length in range(longest + 1)
        for clicked in product((False, True), repeat=length)
        for arm in ARMS
    ]
    for count in range(max_views + 1):
        yield from product(single, repeat=count)


@dataclass(frozen=True)
class WindowCost(Exact):
    """The ε that a window really costs: the most that a device's values sum to, over the scale of the noise."""

    epsilon: float
    longest: int
    max_views: int

    def lower_bound(self, error: float, seed: int) -> float:
        """By running the shipped measure on everything that can be shown and clicked."""
        task = quality_task(ARMS, self.epsilon, start=0, windows=1)
        places = {cell: place for place, cell in enumerate(quality_cells(ARMS))}
        measure = MEASURES[task.measure]
        views = all_views(self.longest, self.max_views)
        moved = max(int(measure(task, Observed((), seen, places), task.total).sum()) for seen in views)
        return moved / float(task.noise_scale)


def _register() -> None:
    for longest, max_views in ((8, 1), (3, 2)):
        setting = f"all windows of {max_views} views of {longest} articles, three arms, ε=0.1, exact"
        register(Audit("ranking quality", setting, Status.PROVED, 0.1, WindowCost(0.1, longest, max_views)))
    task = quality_task(ARMS, 1.0, start=0, windows=1)
    setting = "one value, one share, ε=1, exact"
    register(Audit("ranking quality", setting, Status.PROVED, 1.0, HockeyStick(ShareMasses(task), 0.0)))


_register()
