"""Aggregators, collectors and networks that lie: each window's sum is released once."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from dap_lies import P, R, after, request_of
from dap_site import Site, example_task
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.aggregation.dap import messages as m
from discreet.aggregation.dap.client import ReportRefusedError
from discreet.aggregation.dap.collector import Collector
from discreet.aggregation.dap.problems import DapProblem, ProblemType
from discreet.aggregation.dap.transport import PeerError, Reply
from discreet.errors import DiscreetError


def share_request(site, **changes):
    """What an honest leader would ask of the helper for window 0, with changes."""
    site.worker.step()
    collection = site.agreement.collection_of(0)
    time = site.agreement.time_of(0)
    with site.leader.store.locked(1) as connection:
        batch = site.leader.store.batch(connection, 1, site.agreement.prio3, time)
    fields = {
        "collection_job_req": collection,
        "batch_selector": query(time, 1, m.BatchSelector),
        "report_count": batch.count,
        "checksum": batch.checksum,
    }
    return m.AggregateShareReq(**{**fields, **changes})


def query(start, duration, kind=m.Query):
    return kind(m.BatchMode.TIME_INTERVAL, m.Interval(start, duration).encode())


def refusal(site, request):
    with pytest.raises(DapProblem) as problem:
        site.helper.share(site.task.id, request.encode())
    return problem.value.kind


def test_a_leader_that_lies_about_the_batch(site):
    for value in (0, 1, 2):
        site.upload(value)
    honest = share_request(site)
    time = site.agreement.time_of(0)

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
    for changes in ({"report_count": 2}, {"checksum": bytes(32)}):
        assert refusal(site, replace(honest, **changes)) == P.BATCH_OVERLAP, "no second share, no other noise"


NO_WINDOW = [(0, 0), (0, 2), (0, 30), (0, 100), (-1, 2), (-1, 1), (99, 2), (100, 1), (-5, 200), (0, 2**63)]
"""First window and number of windows of batches that are not one window of the task."""


@pytest.mark.parametrize(("first", "windows"), NO_WINDOW)
def test_a_helper_shares_one_window_and_nothing_else(first, windows, site):
    """A share has one window's noise in it; also if leader and collector agree on more."""
    for value in (0, 1, 2):
        site.upload(value)
    honest, start = share_request(site), site.agreement.time_of(0) + first
    wide = {
        "collection_job_req": replace(honest.collection_job_req, query=query(start, windows)),
        "batch_selector": query(start, windows, m.BatchSelector),
    }
    assert refusal(site, replace(honest, **wide)) == P.BATCH_INVALID
    assert refusal(site, replace(honest, batch_selector=wide["batch_selector"])) == P.BATCH_INVALID
    assert refusal(site, replace(honest, collection_job_req=wide["collection_job_req"])) == P.BATCH_INVALID
    assert site.helper.share(site.task.id, honest.encode())


@pytest.mark.parametrize(("first", "windows"), NO_WINDOW)
def test_a_leader_begins_no_collection_of_anything_but_one_window(first, windows, site):
    request = m.CollectionJobReq(query(site.agreement.time_of(0) + first, windows), b"", ())
    with pytest.raises(DapProblem) as problem:
        site.worker.collections.create(site.task.id, request.encode())
    assert problem.value.kind == P.BATCH_INVALID


@pytest.mark.parametrize(("first", "windows"), [(0, 2), (0, 0), (1, 1), (-1, 3)])
def test_a_collector_takes_no_sum_of_anything_but_its_window(first, windows, site):
    for value in (0, 1, 2):
        site.upload(value)
    site.clock.now = after()
    jobs = site.worker.collections
    key = jobs.create(site.task.id, site.agreement.collection_of(0).encode())
    site.worker.step()
    honest = m.CollectionJobResp.decode(jobs.answer(site.task.id, key))
    collector = Collector(site.keys["collector"], lambda *_: honest)
    assert collector.collect(site.task, 0).contributions == 3
    honest = replace(honest, interval=m.Interval(site.agreement.time_of(0) + first, windows))
    with pytest.raises(DiscreetError, match="another interval"):
        collector.collect(site.task, 0)


def test_a_helper_alone_keeps_to_min_batch(tmp_path):
    """Two reports where three make a batch, whatever the leader asks for."""
    site = Site(tmp_path, task=example_task(min_batch=3))
    for value in (0, 1):
        site.upload(value)
    assert refusal(site, share_request(site)) == P.INVALID_BATCH_SIZE
    site.upload(2)
    assert site.helper.share(site.task.id, share_request(site).encode())
    site.close()


def test_what_was_collected_is_closed_and_its_neighbours_are_not(site):
    """Window 1 first, so that there is a window on either side of it."""
    site.clock.now = after(2)
    for window in (0, 1, 1, 2):
        site.upload(0, window)
    assert site.collect(1).contributions == 2
    with pytest.raises(ReportRefusedError, match="report_replayed"):
        site.upload(0, 1)
    for window in (0, 2):
        site.upload(1, window)
        assert site.collect(window).values.tolist() == [1, 1, 0]
    times = range(site.agreement.time_of(0), site.agreement.time_of(4))
    for store in (site.leader.store, site.helper.store):
        with store.locked(1) as connection:
            assert [len(store.collected_times(connection, 1, [time])) for time in times] == [1, 1, 1, 0]
            assert store.collected_times(connection, 1, times) == set(times[:3])


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
    found, time = [], site.agreement.time_of(0)
    for store in (site.leader.store, site.helper.store):
        with store.locked(1) as connection:
            batch = store.batch(connection, 1, site.agreement.prio3, time)
            found.append((batch.count, batch.checksum, batch.share.tobytes()))
    return found
