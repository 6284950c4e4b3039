"""What all parties to a task agree on, in DAP's terms: derived from the public task, so that nobody can differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from discreet.aggregation.dap.hpke import vdaf_context
from discreet.aggregation.dap.messages import (
    TASK_INTERVAL_EXTENSION,
    AggregateShareAad,
    BatchMode,
    CollectionJobReq,
    Extension,
    HpkeConfig,
    InputShareAad,
    Interval,
    Query,
    ReportMetadata,
    TaskConfiguration,
)
from discreet.aggregation.dap.vdaf import vdaf_configuration
from discreet.aggregation.prio3 import VERIFY_KEY_SIZE, Prio3
from discreet.aggregation.task import Task
from discreet.errors import DiscreetError


@dataclass(frozen=True)
class PublicTask:
    """A task as everybody knows it. DAP counts time in windows since 1970."""

    task: Task

    def __post_init__(self) -> None:
        if self.task.start % self.task.window_seconds:
            raise DiscreetError(f"task {self.task.name}: start must be a multiple of window_seconds")
        for side, url in (("leader", self.task.leader), ("helper", self.task.helper)):
            if not url.isascii() or not url.startswith(("https://", "http://")):
                raise DiscreetError(f"task {self.task.name}: {side} must be an https or http address")

    @cached_property
    def prio3(self) -> Prio3:
        """The VDAF."""
        return self.task.prio3()

    @cached_property
    def context(self) -> bytes:
        """The application context of the VDAF."""
        return vdaf_context(self.task.id)

    @cached_property
    def first_time(self) -> int:
        """The time of window 0."""
        return self.task.start // self.task.window_seconds

    @property
    def interval(self) -> Interval:
        """The times that the task has."""
        return Interval(self.first_time, self.task.windows)

    def time_of(self, window: int) -> int:
        """The time of a window's reports."""
        self.task.require_window(window)
        return self.first_time + window

    @cached_property
    def configuration(self) -> TaskConfiguration:
        """DAP's description of the task. `task_info` is the digest of all terms, also of those DAP does not know."""
        return TaskConfiguration(
            task_info=self.task.id,
            leader_aggregator_endpoint=self.task.leader.encode(),
            helper_aggregator_endpoint=self.task.helper.encode(),
            time_precision=self.task.window_seconds,
            min_batch_size=self.task.min_batch,
            batch_mode=BatchMode.TIME_INTERVAL,
            batch_config=b"",
            vdaf_type=self.prio3.algorithm,
            vdaf_configuration=vdaf_configuration(self.prio3),
            extensions=(Extension(TASK_INTERVAL_EXTENSION, self.interval.encode()),),
        )

    def input_share_aad(self, metadata: ReportMetadata, public_share: bytes) -> bytes:
        """What an input share is bound to."""
        return InputShareAad(self.task.id, self.configuration, metadata, public_share).encode()

    def aggregate_share_aad(self, request: CollectionJobReq) -> bytes:
        """What an aggregate share is bound to."""
        return AggregateShareAad(self.task.id, self.configuration, request).encode()

    def collection_of(self, window: int) -> CollectionJobReq:
        """The request for a window's sum."""
        query = Query(BatchMode.TIME_INTERVAL, Interval(self.time_of(window), 1).encode())
        return CollectionJobReq(query, b"", ())


@dataclass(frozen=True)
class Agreement(PublicTask):
    """A task as its aggregators know it.

    Attributes:
        verify_key: The secret with which both verify reports. No device may know it.
        collector: The key to which aggregate shares are sealed.
    """

    verify_key: bytes = field(repr=False)
    collector: HpkeConfig

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.verify_key) != VERIFY_KEY_SIZE:
            raise DiscreetError(f"a verification key has {VERIFY_KEY_SIZE} bytes, not {len(self.verify_key)}")
