"""`Sums` over two aggregators."""

from __future__ import annotations

from pathlib import Path

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.client import Client
from discreet.aggregation.dap.collector import Collector
from discreet.aggregation.sums import NoisySum
from discreet.aggregation.task import Task
from discreet.errors import DiscreetError


class DapSums:
    """Sums by the two aggregators that a task names: each contribution is a report, each sum a collection.

    Args:
        collector: Who collects; not needed on a device.
        authorities: A file with the certificates that are trusted, for https; by default the system's.
    """

    def __init__(self, collector: Collector | None = None, authorities: Path | None = None) -> None:
        self._collector, self._authorities = collector, authorities
        self._clients: dict[bytes, Client] = {}

    def contribute(self, task: Task, window: int, contribution: Contribution) -> None:
        """Send one reader's contribution to a window; when this returns, the leader has it on its disk."""
        client = self._clients.get(task.id)
        if client is None:
            client = self._clients[task.id] = Client(task, self._authorities)
        client.upload(window, contribution)

    def collect(self, task: Task, window: int) -> NoisySum:
        """The noised sum of a window, once the leader has brought all its reports to the helper."""
        if self._collector is None:
            raise DiscreetError("a device contributes; only the collector, with its key, can collect")
        return self._collector.collect(task, window)
