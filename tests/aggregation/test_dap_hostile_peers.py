"""Aggregators, collectors and networks that lie: each window's sum is released once."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from dap_lies import P, R, after, request_of
from dap_site import Site
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.aggregation.dap import messages as m
from discreet.aggregation.dap.client import ReportRefusedError
from discreet.aggregation.dap.problems import DapProblem, ProblemType
from discreet.aggregation.dap.transport import PeerError, Reply
from discreet.errors import DiscreetError


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
