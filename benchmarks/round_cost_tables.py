"""What the fitted constants say of rounds that nobody has run: cohorts of devices, and nodes that host readers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.aggregation.secure_sum import SumPlan
from round_cost_model import Fit, Fits, SumSize, server_in, server_out, whole_round, wrapped_received, wrapped_sent
from round_cost_points import Head

COHORT = 1_000
READERS = (10**4, 10**5, 10**6, 10**7, 10**8)
ROUND_SECONDS = 600.0
ROSTER = 36
"""Number and signing key of one party, which a device must have from elsewhere."""


@dataclass(frozen=True)
class Costs:
    """All constants: seconds of a party, the server, the plain sum, updates by head; bytes of the server's memory."""

    party: Fits
    server: Fits
    plain: Fit[SumSize]
    memory: Fit[SumSize]
    update: Mapping[str, Fit[int]]
    clip: Fit[tuple[int, int]]
    noise: Fit[int]

    def contribution(self, head: Head, readers: int) -> float:
        """Seconds of a contribution of so many readers: updates, clipping, the party's part of the noise."""
        return self.update[head.name](readers) + self.clip((readers, head.length)) + self.noise(head.length)


def sum_of(parties: int, head: Head) -> SumSize:
    """The secure sum of a head's updates over so many parties, a tenth dropping out."""
    return SumSize(SumPlan.default(parties), head.length, parties // 10)


def print_sizes(head: Head, costs: Costs) -> None:
    """Which cohort is sensible: what a reader and the server pay by its size, and the noise for 10⁸ readers."""
    rows = []
    for parties in (50, 100, 300, 1_000, 3_000, 10_000):
        size = sum_of(parties, head)
        rows.append(
            (
                f"{parties:,}",
                f"{size.plan.degree}, {size.plan.threshold}",
                f"{whole_round(costs.party, size) + costs.contribution(head, 1):.3f}",
                _size(wrapped_sent(size)),
                _size(wrapped_received(size, head.task) + ROSTER * parties),
                f"{1e3 * whole_round(costs.server, size) / parties:.2f}",
                _size(costs.memory(size)),
                f"{size.noise * math.sqrt(READERS[-1] / parties):,.0f}",
            )
        )
    title = f"{head.name}, {head.length - 1:,} parameters: cohorts of n devices (above {COHORT:,} not measured)"
    _table(title, ("n", "k, t", "device, s", "up", "down", "server, ms/reader", "memory/cohort", "noise at 10⁸"), rows)


def print_cohorts(head: Head, costs: Costs) -> None:
    """Way A: every device is a party, in cohorts of 1,000 whose sums are opened and added."""
    size = sum_of(COHORT, head)
    rows = []
    for readers in READERS:
        cohorts = readers // COHORT
        seconds, plain = cohorts * whole_round(costs.server, size), cohorts * costs.plain(size)
        came, went = cohorts * server_in(size), cohorts * server_out(size, head.task) + ROSTER * COHORT * readers
        rows.append(
            (
                f"{readers:,}",
                f"{cohorts:,}",
                f"{seconds:,.0f}",
                f"{seconds / plain:,.0f}",
                f"{math.ceil(seconds / ROUND_SECONDS):,}",
                _size(came),
                _size(went),
                _rate(came, went),
                _size(cohorts * costs.memory(size)),
                f"{size.noise * math.sqrt(cohorts):.1f}",
                f"{size.noise * math.sqrt(cohorts) / readers:.1e}",
            )
        )
    device = costs.contribution(head, 1), whole_round(costs.party, size)
    up, down = _size(wrapped_sent(size)), _size(wrapped_received(size, head.task) + ROSTER * COHORT)
    title = (
        f"{head.name}, {head.length - 1:,} parameters, A: devices in cohorts of {COHORT:,}; each {device[0]:.3f} s for"
        f" its update and noise, {device[1]:.3f} s for the sum, {up} up, {down} down"
    )
    columns = (
        "readers",
        "cohorts",
        "server, s",
        "to plain",
        "cores",
        "in",
        "out",
        "network",
        "memory",
        "noise, σ",
        "in the mean",
    )
    _table(title, columns, rows)


def print_nodes(head: Head, costs: Costs) -> None:
    """Way B: nodes host the readers, one secure sum over the nodes."""
    rows = []
    for nodes in (4, 10, 100):
        size = sum_of(nodes, head)
        for readers in READERS:
            hosted = readers // nodes
            node = costs.contribution(head, hosted) + whole_round(costs.party, size)
            server = whole_round(costs.server, size)
            rows.append(
                (
                    f"{nodes}",
                    f"{readers:,}",
                    f"{node:,.1f}",
                    f"{math.ceil(node / ROUND_SECONDS):,}",
                    _size(hosted * head.memory),
                    _size(wrapped_sent(size)),
                    _size(wrapped_received(size, head.task)),
                    f"{server:.3f}",
                    f"{server / costs.plain(size):,.0f}",
                    _size(server_in(size) + server_out(size, head.task)),
                    f"{size.noise:.2f}",
                    f"{size.noise / readers:.1e}",
                )
            )
    title = f"{head.name}, {head.length - 1:,} parameters, B: nodes host the readers"
    columns = (
        "nodes",
        "readers",
        "node, s",
        "its cores",
        "its memory",
        "up",
        "down",
        "server, s",
        "to plain",
        "in + out",
        "noise, σ",
        "in the mean",
    )
    _table(title, columns, rows)


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    lines = [columns, *rows]
    widths = [max(len(line[i]) for line in lines) + 2 for i in range(len(columns))]
    print(f"\n{title}\n")
    for line in lines:
        print("".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)))


def _rate(came: float, went: float) -> str:
    """What the busier direction takes to be done within a round."""
    bits = 8 * max(came, went) / ROUND_SECONDS
    return f"{bits / 1e9:,.3g} Gbit/s"


def _size(value: float) -> str:
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= unit:
            return f"{value / unit:,.3g} {name}" if value < 1000 * unit else f"{value / unit:,.0f} {name}"
    return f"{value:.0f} B"
