"""The messages of DAP (draft-ietf-ppm-dap, dap-18), with the draft's own names.

`media_type` gives the media type of those that are a whole HTTP body.
"""

# ruff: noqa: RUF009 (`wire` is a field, no default)
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Self

from discreet.aggregation.dap.wire import (
    Choice,
    Fixed,
    Message,
    MessageError,
    Nested,
    Opaque,
    Reader,
    Rest,
    Uint,
    Vector,
    wire,
)

MAX16, MAX32 = 2**16 - 1, 2**32 - 1
REPORT_ID_SIZE = 16
TASK_ID_SIZE = 32
BATCH_ID_SIZE = 32
CHECKSUM_SIZE = 32


class Role(IntEnum):
    """Who sends or receives."""

    COLLECTOR = 0
    CLIENT = 1
    LEADER = 2
    HELPER = 3


class ReportError(IntEnum):
    """What is wrong with one report."""

    RESERVED = 0
    BATCH_COLLECTED = 1
    REPORT_REPLAYED = 2
    REPORT_DROPPED = 3
    HPKE_UNKNOWN_CONFIG_ID = 4
    HPKE_DECRYPT_ERROR = 5
    VDAF_VERIFY_ERROR = 6
    TASK_EXPIRED = 7
    INVALID_MESSAGE = 8
    REPORT_TOO_EARLY = 9
    TASK_NOT_STARTED = 10
    OUTDATED_CONFIG = 11


class BatchMode(IntEnum):
    """How reports come into batches."""

    RESERVED = 0
    TIME_INTERVAL = 1
    LEADER_SELECTED = 2


class VerifyRespType(IntEnum):
    """What became of a report at the helper."""

    CONTINUE = 0
    FINISH = 1
    REJECT = 2


TASK_INTERVAL_EXTENSION = 1
LEADER_SELECTED_BATCH_ID_EXTENSION = 1


@dataclass(frozen=True)
class Extension(Message):
    """An extension of a report, a task, an aggregation job or a collection job: all have this form."""

    extension_type: int = wire(Uint(2))
    extension_data: bytes = wire(Opaque(0, MAX16))


def strictly_increasing(extensions: Sequence[Extension]) -> bool:
    """Whether extensions stand in the order that the draft demands, which no type breaks by coming twice."""
    types = [extension.extension_type for extension in extensions]
    return all(earlier < later for earlier, later in pairwise(types))


@dataclass(frozen=True)
class Interval(Message):
    """From `start`, included, `duration` long; both count the task's time precision."""

    start: int = wire(Uint(8))
    duration: int = wire(Uint(8))

    def __contains__(self, time: int) -> bool:
        return self.start <= time < self.start + self.duration


@dataclass(frozen=True)
class HpkeCiphertext(Message):
    """What was sealed to a server's key."""

    config_id: int = wire(Uint(1))
    enc: bytes = wire(Opaque(1, MAX16))
    payload: bytes = wire(Opaque(1, MAX32))


@dataclass(frozen=True)
class HpkeConfig(Message):
    """A server's public key and what it is used with."""

    id: int = wire(Uint(1))
    kem_id: int = wire(Uint(2))
    kdf_id: int = wire(Uint(2))
    aead_id: int = wire(Uint(2))
    public_key: bytes = wire(Opaque(1, MAX16))


@dataclass(frozen=True)
class HpkeConfigList(Message):
    """A server's keys, the preferred first."""

    configs: tuple[HpkeConfig, ...] = wire(Vector(HpkeConfig, 10, MAX16))

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """The list at the front; each identifier may be there once."""
        message = super().read(reader)
        if len({config.id for config in message.configs}) != len(message.configs):
            raise MessageError("two HPKE configurations have one identifier")
        return message


@dataclass(frozen=True)
class TaskConfiguration(Message):
    """All on which the parties to a task agree."""

    task_info: bytes = wire(Opaque(1, 255))
    leader_aggregator_endpoint: bytes = wire(Opaque(1, MAX16))
    helper_aggregator_endpoint: bytes = wire(Opaque(1, MAX16))
    time_precision: int = wire(Uint(8))
    min_batch_size: int = wire(Uint(8))
    batch_mode: BatchMode = wire(Choice(BatchMode))
    batch_config: bytes = wire(Opaque(0, MAX16))
    vdaf_type: int = wire(Uint(4))
    vdaf_configuration: bytes = wire(Opaque(0, MAX16))
    extensions: tuple[Extension, ...] = wire(Vector(Extension, 0, MAX16))


@dataclass(frozen=True)
class ReportMetadata(Message):
    """What everybody may know of a report."""

    report_id: bytes = wire(Fixed(REPORT_ID_SIZE))
    time: int = wire(Uint(8))
    public_extensions: tuple[Extension, ...] = wire(Vector(Extension, 0, MAX16))


@dataclass(frozen=True)
class Report(Message):
    """What a client uploads."""

    report_metadata: ReportMetadata = wire(Nested(ReportMetadata))
    public_share: bytes = wire(Opaque(0, MAX32))
    leader_encrypted_input_share: HpkeCiphertext = wire(Nested(HpkeCiphertext))
    helper_encrypted_input_share: HpkeCiphertext = wire(Nested(HpkeCiphertext))


@dataclass(frozen=True)
class UploadRequest(Message):
    """Reports for the leader."""

    reports: tuple[Report, ...] = wire(Rest(Report))


@dataclass(frozen=True)
class ReportUploadStatus(Message):
    """A report that the leader did not take."""

    id: bytes = wire(Fixed(REPORT_ID_SIZE))
    error: ReportError = wire(Choice(ReportError))


@dataclass(frozen=True)
class UploadErrors(Message):
    """The reports that the leader did not take."""

    status: tuple[ReportUploadStatus, ...] = wire(Rest(ReportUploadStatus))


@dataclass(frozen=True)
class PlaintextInputShare(Message):
    """What is inside an encrypted input share."""

    private_extensions: tuple[Extension, ...] = wire(Vector(Extension, 0, MAX16))
    payload: bytes = wire(Opaque(1, MAX32))


@dataclass(frozen=True)
class InputShareAad(Message):
    """What an input share is bound to."""

    task_id: bytes = wire(Fixed(TASK_ID_SIZE))
    task_configuration: TaskConfiguration = wire(Nested(TaskConfiguration))
    report_metadata: ReportMetadata = wire(Nested(ReportMetadata))
    public_share: bytes = wire(Opaque(0, MAX32))


@dataclass(frozen=True)
class ReportShare(Message):
    """The helper's part of a report."""

    report_metadata: ReportMetadata = wire(Nested(ReportMetadata))
    public_share: bytes = wire(Opaque(0, MAX32))
    encrypted_input_share: HpkeCiphertext = wire(Nested(HpkeCiphertext))


@dataclass(frozen=True)
class VerifyInit(Message):
    """A report share with the leader's first message of the ping-pong."""

    report_share: ReportShare = wire(Nested(ReportShare))
    payload: bytes = wire(Opaque(1, MAX32))


@dataclass(frozen=True)
class AggregationJobInitReq(Message):
    """The leader starts an aggregation job."""

    verification_key_id: int = wire(Uint(1))
    agg_param: bytes = wire(Opaque(0, MAX32))
    extensions: tuple[Extension, ...] = wire(Vector(Extension, 0, MAX16))
    verify_inits: tuple[VerifyInit, ...] = wire(Rest(VerifyInit))


@dataclass(frozen=True)
class VerifyResp(Message):
    """The helper's answer to one report: a payload to continue with, an error to reject it with, or neither."""

    report_id: bytes
    verify_resp_type: VerifyRespType
    payload: bytes = b""
    report_error: ReportError = ReportError.RESERVED

    def encode(self) -> bytes:
        """The message's bytes; what its type does not have is not written."""
        head = Fixed(REPORT_ID_SIZE).write(self.report_id) + Choice(VerifyRespType).write(self.verify_resp_type)
        if self.verify_resp_type == VerifyRespType.CONTINUE:
            return head + Opaque(1, MAX32).write(self.payload)
        if self.verify_resp_type == VerifyRespType.REJECT:
            return head + Choice(ReportError).write(self.report_error)
        return head

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """The message at the front."""
        report_id = reader.take(REPORT_ID_SIZE)
        kind = VerifyRespType(Choice(VerifyRespType).read(reader))
        if kind == VerifyRespType.CONTINUE:
            return cls(report_id, kind, payload=Opaque(1, MAX32).read(reader))
        if kind == VerifyRespType.REJECT:
            return cls(report_id, kind, report_error=ReportError(Choice(ReportError).read(reader)))
        return cls(report_id, kind)


@dataclass(frozen=True)
class AggregationJobResp(Message):
    """The helper's answers, in the order of the request."""

    verify_resps: tuple[VerifyResp, ...] = wire(Rest(VerifyResp))


@dataclass(frozen=True)
class VerifyContinue(Message):
    """The leader's next message of a report's ping-pong."""

    report_id: bytes = wire(Fixed(REPORT_ID_SIZE))
    payload: bytes = wire(Opaque(1, MAX32))


@dataclass(frozen=True)
class AggregationJobContinueReq(Message):
    """The leader continues an aggregation job."""

    step: int = wire(Uint(2))
    verify_continues: tuple[VerifyContinue, ...] = wire(Rest(VerifyContinue))


@dataclass(frozen=True)
class Query(Message):
    """Which batch the collector wants."""

    batch_mode: BatchMode = wire(Choice(BatchMode))
    config: bytes = wire(Opaque(0, MAX16))


@dataclass(frozen=True)
class BatchSelector(Message):
    """Which batch the leader means."""

    batch_mode: BatchMode = wire(Choice(BatchMode))
    config: bytes = wire(Opaque(0, MAX16))


@dataclass(frozen=True)
class CollectionJobReq(Message):
    """The collector asks for a result."""

    query: Query = wire(Nested(Query))
    agg_param: bytes = wire(Opaque(0, MAX32))
    extensions: tuple[Extension, ...] = wire(Vector(Extension, 0, MAX16))


@dataclass(frozen=True)
class CollectionJobResp(Message):
    """Both aggregate shares, for the collector."""

    report_count: int = wire(Uint(8))
    interval: Interval = wire(Nested(Interval))
    leader_encrypted_agg_share: HpkeCiphertext = wire(Nested(HpkeCiphertext))
    helper_encrypted_agg_share: HpkeCiphertext = wire(Nested(HpkeCiphertext))


@dataclass(frozen=True)
class AggregateShareReq(Message):
    """The leader asks for the helper's aggregate share."""

    collection_job_req: CollectionJobReq = wire(Nested(CollectionJobReq))
    batch_selector: BatchSelector = wire(Nested(BatchSelector))
    report_count: int = wire(Uint(8))
    checksum: bytes = wire(Fixed(CHECKSUM_SIZE))


@dataclass(frozen=True)
class AggregateShare(Message):
    """The helper's aggregate share, sealed to the collector."""

    encrypted_aggregate_share: HpkeCiphertext = wire(Nested(HpkeCiphertext))


@dataclass(frozen=True)
class AggregateShareAad(Message):
    """What an aggregate share is bound to."""

    task_id: bytes = wire(Fixed(TASK_ID_SIZE))
    task_configuration: TaskConfiguration = wire(Nested(TaskConfiguration))
    collection_job_req: CollectionJobReq = wire(Nested(CollectionJobReq))


_MEDIA: dict[type[Message], str] = {
    HpkeConfigList: "hpke-config-list",
    UploadRequest: "upload-req",
    UploadErrors: "upload-errors",
    AggregationJobInitReq: "aggregation-job-init-req",
    AggregationJobContinueReq: "aggregation-job-continue-req",
    AggregationJobResp: "aggregation-job-resp",
    CollectionJobReq: "collection-job-req",
    CollectionJobResp: "collection-job-resp",
    AggregateShareReq: "aggregate-share-req",
    AggregateShare: "aggregate-share",
}


def media_type(kind: type[Message]) -> str:
    """The media type of a message."""
    return f"application/ppm-dap;message={_MEDIA[kind]}"
