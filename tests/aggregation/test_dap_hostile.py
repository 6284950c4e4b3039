"""Devices, aggregators and networks that lie: a sum moves by at most one bound a report, and is told once."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from dap_site import COLLECTOR_TOKEN, LEADER, START, WINDOW, LocalPeer, Site, example_task
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap import messages as m
from discreet.aggregation.dap.client import ReportRefusedError
from discreet.aggregation.dap.hpke import input_share_info, seal
from discreet.aggregation.dap.http_app import leader_app
from discreet.aggregation.dap.problems import DapProblem, ProblemType, encode_id
from discreet.aggregation.dap.transport import PeerError, Reply
from discreet.errors import DiscreetError
from discreet.serving.addresses import Proxies
from discreet.serving.aggregation import one_address_admission

R, P = m.ReportError, ProblemType
CHANCE = random.Random(5)


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.close()


def after(window=0):
    return START + (window + 2) * WINDOW


def request_of(
    site, window=0, *, values=None, tamper=lambda shares: shares, tamper_public=lambda share: share, **metadata
):
    """An upload of one report that says bucket 1, or what is said, with lies in it."""
    public = site.agreement
    rand = CHANCE.randbytes(public.prio3.rand_size)
    about = m.ReportMetadata(CHANCE.randbytes(16), public.time_of(window), ())
    measurement = public.task.measurement(site.contribution(1).values if values is None else values)
    share, shares = public.prio3.shard(public.context, measurement, about.report_id, rand)
    about = replace(about, **metadata)
    share = tamper_public(share)
    aad = public.input_share_aad(about, share)
    sealed = [
        seal(site.keys[role.name.lower()].config, input_share_info(role), aad, m.PlaintextInputShare((), one).encode())
        for role, one in zip((m.Role.LEADER, m.Role.HELPER), tamper(shares), strict=True)
    ]
    return m.UploadRequest((m.Report(about, share, *sealed),))


def moved(site, by):
    """A lie: the leader's share of the first value, moved by a number."""
    field = site.agreement.prio3.circuit.field
    size = field.encoded_size

    def tamper(shares):
        first = (int.from_bytes(shares[0][:size], "little") + by) % field.modulus
        return [first.to_bytes(size, "little") + shares[0][size:], shares[1]]

    return tamper


# Devices


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


# Aggregators


def share_request(site, **changes):
    """What an honest leader would ask of the helper for window 0, with changes."""
    site.worker.step()
    collection = site.agreement.collection_of(0)
    interval = m.Interval(site.agreement.time_of(0), 1)
    with site.leader.store.locked(1) as connection:
        batch = site.leader.store.batch(connection, 1, site.agreement.prio3, interval)
    fields = {
        "collection_job_req": collection,
        "batch_selector": m.BatchSelector(m.BatchMode.TIME_INTERVAL, interval.encode()),
        "report_count": batch.count,
        "checksum": batch.checksum,
    }
    return m.AggregateShareReq(**{**fields, **changes})


def refusal(site, request):
    with pytest.raises(DapProblem) as problem:
        site.helper.share(site.task.id, request.encode())
    return problem.value.kind


def test_a_leader_that_lies_about_the_batch(site):
    for value in (0, 1, 2):
        site.upload(value)
    honest = share_request(site)
    time = site.agreement.time_of(0)

    def query(start, duration, kind=m.Query):
        return kind(m.BatchMode.TIME_INTERVAL, m.Interval(start, duration).encode())

    def asking(query, **more):
        return replace(honest.collection_job_req, query=query, **more)

    for changes, kind in (
        ({"report_count": 2}, P.BATCH_MISMATCH),
        ({"report_count": 4}, P.BATCH_MISMATCH),
        ({"checksum": bytes(32)}, P.BATCH_MISMATCH),
        ({"batch_selector": query(time + 1, 1, m.BatchSelector)}, P.INVALID_MESSAGE),
        ({"batch_selector": query(time, 0, m.BatchSelector)}, P.BATCH_INVALID),
        ({"batch_selector": query(time, 2**64 - 1, m.BatchSelector)}, P.BATCH_INVALID),
        ({"batch_selector": query(2**64 - 1, 1, m.BatchSelector)}, P.BATCH_INVALID),
        ({"batch_selector": m.BatchSelector(m.BatchMode.LEADER_SELECTED, bytes(32))}, P.INVALID_MESSAGE),
        ({"batch_selector": m.BatchSelector(m.BatchMode.TIME_INTERVAL, b"")}, P.INVALID_MESSAGE),
        ({"collection_job_req": asking(query(time + 1, 1))}, P.INVALID_MESSAGE),
        ({"collection_job_req": replace(honest.collection_job_req, agg_param=b"\0")}, P.INVALID_AGGREGATION_PARAMETER),
        (
            {"collection_job_req": replace(honest.collection_job_req, extensions=(m.Extension(3, b""),))},
            P.UNSUPPORTED_EXTENSION,
        ),
        (
            {"collection_job_req": replace(honest.collection_job_req, extensions=(m.Extension(3, b""),) * 2)},
            P.INVALID_EXTENSION,
        ),
    ):
        assert refusal(site, replace(honest, **changes)) == kind, changes
    told = site.helper.share(site.task.id, honest.encode())
    assert site.helper.share(site.task.id, honest.encode()) == told
    wider = {
        "collection_job_req": asking(query(time, 2)),
        "batch_selector": query(time, 2, m.BatchSelector),
    }
    for changes in (wider, {"report_count": 2}, {"collection_job_req": asking(query(time, 2))}):
        assert refusal(site, replace(honest, **changes)) == ProblemType.BATCH_OVERLAP, "no second share, no other noise"


def test_a_collector_that_asks_for_overlapping_batches(site):
    for value in (0, 1, 2):
        site.upload(value)
    site.clock.now = after(3)
    jobs, time = site.worker.collections, site.agreement.time_of(0)

    def ask(start, duration):
        query = m.Query(m.BatchMode.TIME_INTERVAL, m.Interval(start, duration).encode())
        return jobs.create(site.task.id, m.CollectionJobReq(query, b"", ()).encode())

    key = ask(time, 2)
    for start, duration in ((time, 1), (time + 1, 1), (time, 3)):
        with pytest.raises(DapProblem, match="another job"):
            ask(start, duration)
    site.worker.step()
    assert m.CollectionJobResp.decode(jobs.answer(site.task.id, key)).interval == m.Interval(time, 1)
    for start, duration in ((time, 1), (time + 1, 1), (time, 3)):
        with pytest.raises(DapProblem, match="another job"):
            ask(start, duration)
    with pytest.raises(ReportRefusedError, match="report_replayed"):
        site.upload(0, 1)  # of a window that had no report when it was collected
    ask(time + 2, 1)


def test_a_leader_that_brings_a_report_twice(site):
    """In one job, in two jobs, with another window's time, and after its batch was collected."""
    for value in (0, 1, 2):
        site.upload(value)
    site.worker.step()
    body = next(body for _, url, body in site.to_helper.asked if url.endswith("aggregation_jobs"))
    job = m.AggregationJobInitReq.decode(body)

    def errors(*inits, **changes):
        answer = site.helper.start_job(site.task.id, replace(job, verify_inits=inits, **changes).encode())
        return [one.report_error for one in m.AggregationJobResp.decode(answer.body).verify_resps]

    first, second, third = job.verify_inits
    assert errors(second, first) == [R.REPORT_REPLAYED] * 2
    later = replace(
        first.report_share,
        report_metadata=replace(first.report_share.report_metadata, time=site.agreement.time_of(0) + 1),
    )
    site.clock.now = after()
    assert errors(replace(first, report_share=later)) == [R.HPKE_DECRYPT_ERROR]
    for changes, kind in (
        ({"verify_inits": (first, second, first)}, ProblemType.INVALID_MESSAGE),
        ({"agg_param": b"x"}, ProblemType.INVALID_AGGREGATION_PARAMETER),
        ({"verification_key_id": 1}, ProblemType.INVALID_MESSAGE),
        ({"extensions": (m.Extension(1, bytes(32)),)}, ProblemType.UNSUPPORTED_EXTENSION),
        ({"extensions": (m.Extension(1, b""),) * 2}, ProblemType.INVALID_MESSAGE),
    ):
        with pytest.raises(DapProblem) as problem:
            site.helper.start_job(site.task.id, replace(job, **changes).encode())
        assert problem.value.kind == kind
    assert site.collect().contributions == 3
    assert errors(third, second) == [R.BATCH_COLLECTED] * 2


@pytest.mark.parametrize("lie", ["doubled", "missing", "reordered", "finish", "other payload", "cut", "empty list"])
def test_a_helper_that_answers_something_else(lie, site):
    """The leader counts nothing of such an answer, and the collection fails instead of being wrong."""
    for value in (0, 1, 2):
        site.upload(value)

    def fail(method, url, body, ask):
        reply = ask()
        if method != "POST" or not url.endswith("aggregation_jobs"):
            return reply
        told = m.AggregationJobResp.decode(reply.body).verify_resps
        changed = {
            "doubled": (told[0], *told),
            "missing": told[1:],
            "reordered": told[::-1],
            "finish": (m.VerifyResp(told[0].report_id, m.VerifyRespType.FINISH), *told[1:]),
            "other payload": tuple(replace(one, payload=one.payload[:-1] + b"\0\0") for one in told),
            "empty list": (),
        }.get(lie, told)
        content = m.AggregationJobResp(changed).encode()
        return Reply(reply.status, reply.headers, content[:-1] if lie == "cut" else content or b"\0")

    site.to_helper.fail = fail
    site.worker.step()
    site.to_helper.fail = lambda method, url, body, ask: ask()
    for value in (0, 0):
        site.upload(value)
    site.clock.now = after()
    with pytest.raises(DiscreetError, match="counted different reports"):
        site.collect()


def test_a_location_at_another_server_never_sees_the_token(site):
    site.upload(0)
    site.to_helper.fail = lambda method, url, body, ask: Reply(200, {"location": "http://evil.test/x"}, b"")
    assert not site.leader.run_jobs(site.task.id)
    assert all(url.startswith("http://helper.test/") for _, url, _ in site.to_helper.asked)


def test_a_helper_that_takes_its_time(site):
    """The draft lets it answer later; the leader asks for the job's location until it is there."""
    for value in (0, 1):
        site.upload(value)
    kept = {}

    def fail(method, url, body, ask):
        reply = ask()
        if method == "POST":
            kept[reply.headers["location"]] = reply
            return Reply(202, {"location": reply.headers["location"] + "?step=0", "retry-after": "1"}, b"")
        if method == "GET":
            later = kept.pop(url.removeprefix("http://helper.test").partition("?")[0], None)
            return Reply(200, {"retry-after": "1"}, b"") if later else reply
        return reply

    site.to_helper.fail = fail
    site.clock.now = after()
    assert site.collect().values.tolist() == [1, 1, 0]


# Networks


@pytest.mark.parametrize("seed", range(4))
def test_requests_that_are_lost_doubled_or_answered_to_nobody(seed, tmp_path):
    """Whatever the network does, nothing is lost and nothing counted twice, once it is well again."""
    site, chance = Site(tmp_path), random.Random(seed)
    truth = np.zeros(3, np.int64)

    def fail(method, url, body, ask):
        what = chance.random()
        if what < 0.2:
            raise PeerError("lost on the way")
        reply = ask()
        if what < 0.4:
            reply = ask()
        if what < 0.6:
            raise PeerError("the answer is lost")
        if what < 0.7:
            return Reply(chance.choice([500, 502, 503, 429, 401, 404]), {}, b"<html>")
        return reply

    for _ in range(6):
        for _ in range(chance.randrange(1, 5)):
            value = chance.randrange(3)
            truth[value] += 1
            site.upload(value)
        site.to_helper.fail = fail
        site.worker.step()
    site.clock.now = after()
    for _ in range(3):
        site.worker.collections.create(site.task.id, site.agreement.collection_of(0).encode())
        site.worker.step()
    site.to_helper.fail = lambda method, url, body, ask: ask()
    assert site.collect().values.tolist() == truth.tolist()
    site.close()


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory):
    made = Site(tmp_path_factory.mktemp("shared"))
    for value in (0, 1, 2):
        made.upload(value)
    made.worker.step()
    yield made
    made.close()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cut_and_changed_messages_are_refused_and_count_nothing(data, shared_site):
    """Jobs, share requests and uploads with bytes cut, put in or changed: an abortion, or refused reports."""
    site = shared_site
    job = next(body for _, url, body in site.to_helper.asked if url.endswith("aggregation_jobs"))
    upload = m.UploadRequest(tuple(request_of(site).reports * 2)).encode()
    share = share_request(site, report_count=99).encode()
    body, send = data.draw(
        st.sampled_from(
            [
                (job, lambda body: site.helper.start_job(site.task.id, body)),
                (share, lambda body: site.helper.share(site.task.id, body)),
                (upload, lambda body: site.leader.read_upload(site.task.id, body)),
                (job, lambda body: site.worker.collections.create(site.task.id, body)),
            ]
        )
    )
    place = data.draw(st.integers(0, len(body) - 1))
    changed = data.draw(
        st.one_of(
            st.just(body[:place]),
            st.just(body[:place] + body[place + 1 :]),
            st.just(body + body),
            st.integers(1, 255).map(lambda x: body[:place] + bytes([body[place] ^ x]) + body[place + 1 :]),
            st.binary(max_size=200),
        )
    )
    before = shares_of(site)
    with suppress(DapProblem):
        send(changed)
    assert shares_of(site) == before


def test_a_time_that_no_database_can_hold_is_refused(shared_site):
    """A time is of 64 bits, without a sign; a database takes 63."""
    site = shared_site
    job = next(body for _, url, body in site.to_helper.asked if url.endswith("aggregation_jobs"))
    first = m.AggregationJobInitReq.decode(job).verify_inits[0].report_share.report_metadata
    place = job.index(first.report_id + first.time.to_bytes(8, "big")) + len(first.report_id)
    before = shares_of(site)
    answer = site.helper.start_job(site.task.id, job[:place] + bytes([128]) + job[place + 1 :])
    assert m.AggregationJobResp.decode(answer.body).verify_resps[0].verify_resp_type == m.VerifyRespType.REJECT
    assert shares_of(site) == before


def shares_of(site):
    """All that both have counted."""
    interval = m.Interval(site.agreement.time_of(0), 1)
    found = []
    for store in (site.leader.store, site.helper.store):
        with store.locked(1) as connection:
            batch = store.batch(connection, 1, site.agreement.prio3, interval)
            found.append((batch.count, batch.checksum, batch.share.tobytes()))
    return found
