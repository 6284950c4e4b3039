"""The client against a leader that lies about what it took."""

from __future__ import annotations

from typing import Any

import pytest
from sums_tools import task

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.client import Client, ReportRefusedError
from discreet.aggregation.dap.hpke import generate_key
from discreet.aggregation.dap.messages import (
    HpkeConfigList,
    ReportError,
    ReportUploadStatus,
    UploadErrors,
    UploadRequest,
)


class LyingLeader:
    """Keeps every report, and says that its key was outdated."""

    url = "https://news.example"

    def __init__(self) -> None:
        self.reports: list[bytes] = []
        self.asked = 0

    def get(self, path: str, kind: Any) -> bytes:
        self.asked += 1
        return HpkeConfigList((generate_key(self.asked).config,)).encode()

    def send(self, path: str, request: bytes, of: Any, kind: Any) -> bytes:
        self.reports.append(request)
        (report,) = UploadRequest.decode(request).reports
        status = ReportUploadStatus(report.report_metadata.report_id, ReportError.OUTDATED_CONFIG)
        return UploadErrors((status,)).encode()


def test_a_leader_that_calls_the_key_outdated_gets_no_second_report() -> None:
    """Two reports of one window would count the reader twice, and cost twice the ε that was paid."""
    some = task()
    client, leader = Client(some), LyingLeader()
    client._leader, client._helper = leader, leader  # type: ignore[assignment]
    with pytest.raises(ReportRefusedError):
        client.upload(0, Contribution.of(some, some.nothing()))
    assert len(leader.reports) == 1
    with pytest.raises(ReportRefusedError):
        client.upload(1, Contribution.of(some, some.nothing()))
    assert len(leader.reports) == 2
    assert leader.asked == 4, "the next report is sealed with new keys"
