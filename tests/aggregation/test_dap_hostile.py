"""Devices that lie: a sum moves by at most one bound a report."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from functools import partial
from unittest import mock

import pytest
from dap_lies import R, after, request_of, with_false_part
from dap_site import COLLECTOR_TOKEN, LEADER, START, WINDOW, LocalPeer, Site, example_task
from starlette.requests import Request

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap import messages as m
from discreet.aggregation.dap.client import ReportRefusedError
from discreet.aggregation.dap.http_app import leader_app
from discreet.aggregation.dap.problems import DapProblem, encode_id
from discreet.aggregation.dap.transport import PeerError
from discreet.aggregation.prio3 import InvalidReportError
from discreet.aggregation.task import Task
from discreet.serving.addresses import Proxies
from discreet.serving.aggregation import one_address_admission


def moved(site, by):
    """A lie: the leader's share of the first value, moved by a number."""
    field = site.agreement.prio3.circuit.field
    size = field.encoded_size

    def tamper(shares):
        first = (int.from_bytes(shares[0][:size], "little") + by) % field.modulus
        return [first.to_bytes(size, "little") + shares[0][size:], shares[1]]

    return tamper


@pytest.mark.parametrize("by", [1, 10**9, -1, -(10**9)])
@pytest.mark.parametrize(
    "terms", [{}, {"kind": "count", "length": 1}, {"kind": "sum", "length": 1, "max_value": 5}], ids=lambda t: str(t)
)
def test_a_value_out_of_bounds_moves_nothing(terms, by, tmp_path):
    task = example_task(**terms)
    site = Site(tmp_path, task=task)
    honest = Contribution.of(task, task.nothing())
    for _ in range(2):
        site.client.upload(0, honest)
    site.client.send(request_of(site, values=honest.values, tamper=moved(site, by)).encode())
    site.clock.now = after()
    found = site.collect()
    assert found.values.tolist() == (2 * honest.values).tolist()
    assert found.contributions == 2
    site.close()


@pytest.mark.parametrize("lie", ["leader's proof", "helper's seed", "public share", "swapped", "helper's of another"])
def test_a_wrong_proof_moves_nothing(lie, site):
    def flip(share):
        return share[:-1] + bytes([share[-1] ^ 1])

    tamper = {
        "leader's proof": lambda s: [flip(s[0]), s[1]],
        "helper's seed": lambda s: [s[0], flip(s[1])],
        "helper's of another": lambda s: [s[0], random.Random(1).randbytes(len(s[1]))],
    }.get(lie, lambda s: s)
    public = flip if lie == "public share" else lambda s: s
    request = request_of(site, tamper=tamper, tamper_public=public)
    if lie == "swapped":
        one = request.reports[0]
        request = m.UploadRequest(
            (replace(one, helper_encrypted_input_share=request_of(site).reports[0].helper_encrypted_input_share),)
        )
    site.client.send(request.encode())
    for _ in range(2):
        site.upload(0)
    site.clock.now = after()
    found = site.collect()
    assert (found.values.tolist(), found.contributions) == ([2, 0, 0], 2)


@pytest.mark.parametrize("kind", ["sumvec", "signedvec"])
def test_a_false_part_of_the_helper_destroys_no_window(kind, tmp_path):
    """What the helper would count and the leader reject would make their counts differ for ever."""
    site = Site(
        tmp_path, task=example_task(kind=kind, length=2, max_value=1 if kind == "signedvec" else 3, max_total=1)
    )
    public = site.agreement
    lie = partial(with_false_part, public.prio3, public.context)
    measurement = [public.prio3.circuit.max_measurement] * 2
    with mock.patch.object(Task, "measurement", return_value=measurement):
        request = request_of(site, values=(), tamper_both=lie)
    site.client.send(request.encode())
    for value in (0, 1, 1):
        site.upload(value)
    site.clock.now = after()
    found = site.collect()
    assert (found.values.tolist(), found.contributions) == ([1, 2], 3)
    site.close()


def test_a_report_that_only_the_helper_counts_is_logged(site, caplog):
    """The leader's randomness is spoilt here, so that it rejects what the helper has accepted."""
    site.upload(0)

    def spoilt(prio3, state, inbound):
        raise InvalidReportError("spoilt")

    with mock.patch("discreet.aggregation.dap.leader.leader_continued", spoilt):
        site.worker.step()
    (record,) = [one for one in caplog.records if hasattr(one, "fields")]
    body = next(body for _, url, body in site.to_helper.asked if url.endswith("aggregation_jobs"))
    (init,) = m.AggregationJobInitReq.decode(body).verify_inits
    told = {"report": encode_id(init.report_share.report_metadata.report_id), "side": "leader"}
    assert told.items() <= record.fields.items()


def test_a_report_that_is_sent_often_counts_once(site):
    body = site.client.report(0, site.contribution(1))
    for _ in range(3):
        site.client.send(body)
    site.worker.step()
    site.client.send(body)
    one = m.UploadRequest.decode(body).reports
    site.client.send(m.UploadRequest(one * 4).encode())
    site.upload(0)
    site.clock.now = after()
    found = site.collect()
    assert (found.values.tolist(), found.contributions) == ([1, 1, 0], 2)
    with pytest.raises(ReportRefusedError, match="report_replayed"):
        site.client.send(body)


def test_one_id_with_two_times_cannot_bring_a_report_twice(site):
    """Whoever sends the same id for two windows gains no second count of one report."""
    site.clock.now = START + WINDOW + 1
    first = request_of(site, 0)
    other = request_of(site, 1, report_id=first.reports[0].report_metadata.report_id)
    site.client.send(first.encode())
    site.client.send(m.UploadRequest((*other.reports, *first.reports)).encode())
    for window in (0, 0, 1, 1):
        site.upload(0, window)
    site.clock.now = after(1)
    assert site.collect(0).values.tolist()[1] <= 1
    assert site.collect(1).values.tolist()[1] <= 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"time": 0}, R.REPORT_DROPPED),
        ({"time": 2**64 - 1}, R.REPORT_DROPPED),
        ({"time": START // WINDOW - 1}, R.REPORT_DROPPED),
        ({"time": START // WINDOW + 100}, R.REPORT_DROPPED),
        ({"time": START // WINDOW + 1}, R.REPORT_TOO_EARLY),
        ({"public_extensions": (m.Extension(7, b""),)}, R.INVALID_MESSAGE),
    ],
)
def test_reports_that_the_leader_does_not_take(change, problem, site):
    with pytest.raises(ReportRefusedError) as refused:
        site.client.send(request_of(site, **change).encode())
    assert refused.value.why == problem


def test_a_time_that_was_changed_on_the_way_spoils_the_report(site):
    site.clock.now = START + WINDOW + 1
    report = request_of(site).reports[0]
    moved = replace(report, report_metadata=replace(report.report_metadata, time=report.report_metadata.time + 1))
    site.client.send(m.UploadRequest((moved,)).encode())
    for _ in range(2):
        site.upload(0, 1)
    site.clock.now = after(1)
    assert site.collect(1).values.tolist() == [2, 0, 0]


def test_errors_are_in_the_order_of_the_reports(site):
    good = request_of(site).reports[0]
    unknown = replace(good.leader_encrypted_input_share, config_id=77)
    outdated = replace(request_of(site).reports[0], leader_encrypted_input_share=unknown)
    early = request_of(site, time=START // WINDOW + 1).reports[0]
    short = replace(request_of(site).reports[0], public_share=b"")
    answer = site.client._leader.send(
        f"/tasks/{encode_id(site.task.id)}/reports",
        m.UploadRequest((outdated, good, early, short)).encode(),
        m.UploadRequest,
        m.UploadErrors,
    )
    told = [(one.id, one.error) for one in m.UploadErrors.decode(answer).status]
    assert told == [
        (outdated.report_metadata.report_id, R.OUTDATED_CONFIG),
        (early.report_metadata.report_id, R.REPORT_TOO_EARLY),
        (short.report_metadata.report_id, R.INVALID_MESSAGE),
    ]


def test_ten_thousand_reports_of_one_address():
    """One address is admitted so often in a day; others are not held up by it."""
    admit = one_address_admission(500, Proxies())

    def request(address):
        return Request({"type": "http", "headers": [], "client": (address, 1)})

    async def flood():
        admitted, refused = 0, set()
        for _ in range(10_000):
            try:
                await admit(request("192.0.2.1"))
                admitted += 1
            except DapProblem as problem:
                refused.add(problem.status)
        await admit(request("192.0.2.2"))
        return admitted, refused

    admitted, refused = asyncio.run(flood())
    assert 500 <= admitted <= 510
    assert refused == {429}


def test_many_reports_in_one_upload_are_many(site):
    left = [3]

    async def admit(_):
        left[0] -= 1
        if left[0] < 0:
            raise DapProblem(None, "too many", 429)

    app = leader_app(site.leader, site.worker, COLLECTOR_TOKEN, admit)
    peer = LocalPeer(LEADER, app)
    path = f"/tasks/{encode_id(site.task.id)}/reports"

    def send(count):
        body = m.UploadRequest(tuple(request_of(site).reports[0] for _ in range(count))).encode()
        return peer.send(path, body, m.UploadRequest, m.UploadErrors)

    with pytest.raises(PeerError, match="429"):
        send(4)
    left[0] = 3
    assert send(3) == b""
    site.clock.now = after()
    assert site.collect().contributions == 3
