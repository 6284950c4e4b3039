"""The client: a device's part. One message goes to the leader, with a sealed share for each aggregator in it."""

from __future__ import annotations

import secrets
from pathlib import Path

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.agreement import PublicTask
from discreet.aggregation.dap.hpke import input_share_info, seal, supported_config
from discreet.aggregation.dap.messages import (
    REPORT_ID_SIZE,
    HpkeConfig,
    HpkeConfigList,
    PlaintextInputShare,
    Report,
    ReportError,
    ReportMetadata,
    Role,
    UploadErrors,
    UploadRequest,
)
from discreet.aggregation.dap.problems import encode_id
from discreet.aggregation.dap.transport import Peer, PeerError
from discreet.aggregation.dap.wire import MessageError
from discreet.aggregation.sums import require_promised
from discreet.aggregation.task import Task
from discreet.errors import DiscreetError


class ReportRefusedError(DiscreetError):
    """A report that the leader did not take, and will not take.

    Attributes:
        why: What it says is wrong.
    """

    def __init__(self, why: ReportError) -> None:
        super().__init__(f"the leader did not take the report: {why.name.lower()}")
        self.why = why


class Client:
    """A client of one task.

    Args:
        task: What is summed, and where the aggregators are.
        authorities: A file with the certificates that are trusted, for https; by default the system's.
    """

    def __init__(self, task: Task, authorities: Path | None = None) -> None:
        self._public = PublicTask(task)
        self._leader, self._helper = (Peer(url, authorities=authorities) for url in (task.leader, task.helper))
        self._configs: tuple[HpkeConfig, HpkeConfig] | None = None

    def upload(self, window: int, contribution: Contribution) -> None:
        """Send a contribution to a window; when this returns, the leader has it on its disk.

        There is one report for one call, ever: a leader that says it did not take it may have kept it, and two reports
        would show twice as much. If a key is outdated, the next report is sealed with the new one. After a `PeerError`
        the report may or may not have arrived: to send it again, make the bytes with `report`, keep them, and `send`.
        """
        try:
            self.send(self.report(window, contribution))
        except ReportRefusedError as refused:
            if refused.why == ReportError.OUTDATED_CONFIG:
                self._configs = None
            raise

    def report(self, window: int, contribution: Contribution) -> bytes:
        """An upload request with one report, which may be sent as often as needed: it counts once."""
        public = self._public
        require_promised(public.task, contribution)
        measurement = public.task.measurement(public.task.checked(contribution.values))
        metadata = ReportMetadata(secrets.token_bytes(REPORT_ID_SIZE), public.time_of(window), ())
        rand = secrets.token_bytes(public.prio3.rand_size)
        public_share, shares = public.prio3.shard(public.context, measurement, metadata.report_id, rand)
        aad = public.input_share_aad(metadata, public_share)
        leader, helper = (
            seal(config, input_share_info(role), aad, PlaintextInputShare((), share).encode())
            for config, role, share in zip(self.configs(), (Role.LEADER, Role.HELPER), shares, strict=True)
        )
        return UploadRequest((Report(metadata, public_share, leader, helper),)).encode()

    def send(self, request: bytes) -> None:
        """Send an upload request, as it is."""
        path = f"/tasks/{encode_id(self._public.task.id)}/reports"
        answer = self._leader.send(path, request, UploadRequest, UploadErrors)
        try:
            refused = UploadErrors.decode(answer).status
        except MessageError as error:
            raise PeerError(f"{self._leader.url}: {error}") from None
        if refused:
            raise ReportRefusedError(refused[0].error)

    def configs(self) -> tuple[HpkeConfig, HpkeConfig]:
        """The keys of leader and helper, asked for once."""
        if self._configs is None:
            self._configs = _config_of(self._leader), _config_of(self._helper)
        return self._configs


def _config_of(peer: Peer) -> HpkeConfig:
    try:
        return supported_config(HpkeConfigList.decode(peer.get("/hpke_config", HpkeConfigList)))
    except MessageError as error:
        raise PeerError(f"{peer.url}: {error}") from None
