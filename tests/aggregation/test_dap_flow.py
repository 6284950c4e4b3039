"""DAP from upload to result: the sum is true, each report counts once, each batch is told once."""

from __future__ import annotations

import hashlib
from unittest import mock

import pytest
from dap_site import COLLECTOR_TOKEN, LEADER, LEADER_TOKEN, START, WINDOW, LocalPeer, Site, example_task
from sqlalchemy import func, select
from starlette.testclient import TestClient

from discreet.aggregation.aggregator_noise import noise_deviation
from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap import messages as m
from discreet.aggregation.dap import tables
from discreet.aggregation.dap.client import ReportRefusedError
from discreet.aggregation.dap.hpke import generate_key
from discreet.aggregation.dap.problems import ProblemType, encode_id
from discreet.aggregation.dap.retention import ClockWatch
from discreet.aggregation.dap.transport import PeerError
from discreet.errors import DiscreetError


@pytest.fixture
def site(tmp_path, databases):
    made = Site(tmp_path, databases=databases)
    yield made
    made.close()


def after(window=0):
    """When all reports of a window have been sent."""
    return START + (window + 2) * WINDOW


def rows(store, table):
    with store.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_the_sum_is_the_truth(site):
    for value in (0, 1, 1, 2, 1):
        site.upload(value)
    site.clock.now = after()
    found = site.collect()
    assert found.values.tolist() == [1, 3, 1]
    assert found.contributions == 5
    assert found.guarantee == site.task.guarantee()


@pytest.mark.parametrize(
    ("terms", "vectors", "total"),
    [
        ({"kind": "count", "length": 1}, [[1], [0], [1]], [2]),
        ({"kind": "sum", "length": 1, "max_value": 4}, [[4], [0], [3]], [7]),
        ({"kind": "sumvec", "length": 4, "max_value": 3, "max_total": 6}, [[3, 0, 0, 3], [0, 1, 2, 3]], [3, 1, 2, 6]),
        (
            {"kind": "signedvec", "length": 3, "max_value": 3, "max_total": 4},
            [[-3, 0, 1], [-1, 2, 1], [0] * 3],
            [-4, 2, 2],
        ),
        ({"kind": "multihot", "length": 5, "max_total": 2}, [[1, 1, 0, 0, 0], [0, 1, 0, 0, 1]], [1, 2, 0, 0, 1]),
    ],
)
def test_every_kind(terms, vectors, total, tmp_path):
    """With small values: at ε = 100 noise of scale 6/100 is hardly ever other than zero."""
    site = Site(tmp_path, task=example_task(**terms))
    for values in vectors:
        site.client.upload(0, Contribution.of(site.task, values))
    site.clock.now = after()
    assert site.collect().values.tolist() == total
    site.close()


def test_a_window_is_collected_once_and_its_sum_stays_the_same(tmp_path, databases):
    """Also when it is asked for again after a restart of both aggregators."""
    site = Site(tmp_path, task=example_task(epsilon=0.01), databases=databases)
    for value in (0, 1, 1):
        site.upload(value)
    site.clock.now = after()
    first = site.collect().values
    assert first.tolist() == site.collect().values.tolist()
    assert 0 < abs(first - [1, 2, 0]).max() < 20 * noise_deviation(site.task)
    site.close()
    again = Site(tmp_path, task=site.task, clock=site.clock, keys=site.keys, databases=databases)
    assert again.collect().values.tolist() == first.tolist()
    with pytest.raises(ReportRefusedError, match="report_replayed"):
        again.upload(1)
    again.close()


def test_windows_are_apart(site):
    site.clock.now = START + WINDOW + 1
    for window, value in ((0, 0), (0, 1), (1, 2), (1, 2), (1, 1)):
        site.upload(value, window)
    site.clock.now = after(1)
    assert site.collect(1).values.tolist() == [0, 1, 2]
    assert site.collect(0).values.tolist() == [1, 1, 0]


def test_a_window_is_not_closed_before_all_its_reports_are_sent(site):
    for value in (0, 1):
        site.upload(value)
    site.clock.now = after() - 1
    with pytest.raises(PeerError, match="never ready"):
        site.collect()
    site.upload(2)
    site.clock.now = after()
    assert site.collect().values.tolist() == [1, 1, 1]


def test_too_few_reports_are_not_told_and_more_may_come(site):
    site.upload(0)
    site.clock.now = after()
    with pytest.raises(DiscreetError, match="fewer contributions than min_batch"):
        site.collect()
    assert rows(site.helper.store, tables.collected) == 0
    site.upload(1)
    assert site.collect().values.tolist() == [1, 1, 0]


def test_what_was_counted_is_not_kept(site):
    """Reports go when they are counted, ids when their batch is collected, answers when the leader has them."""
    for value in (0, 1, 1):
        site.upload(value)
    assert rows(site.leader.store, tables.reports) == 3
    site.worker.step()
    for table, left in ((tables.reports, 0), (tables.jobs, 0), (tables.seen, 3), (tables.buckets, 1)):
        assert rows(site.leader.store, table) == left
    assert rows(site.helper.store, tables.seen) == 3
    assert rows(site.helper.store, tables.answers) == 0
    site.clock.now = after()
    site.upload(1, 1)
    site.collect()
    site.leader.forget(86_400)
    site.helper.forget(86_400)
    for store in (site.leader.store, site.helper.store):
        assert rows(store, tables.seen) == rows(store, tables.buckets) == 1, "of the window that is open"
        assert rows(store, tables.collected) == 1


def test_old_windows_are_forgotten_for_ever(site):
    for value in (0, 1, 1):
        site.upload(value)
    sent = site.to_helper.asked
    site.worker.step()
    job = next(body for method, url, body in sent if method == "POST" and url.endswith("aggregation_jobs"))
    site.clock.now = START + 40 * WINDOW
    site.upload(2, 39)
    site.worker.step()
    site.leader.forget(WINDOW)
    site.helper.forget(WINDOW)
    for store in (site.leader.store, site.helper.store):
        assert rows(store, tables.seen) == rows(store, tables.buckets) == 1, "of the newest window"
    site.clock.now = after()  # a clock that is set back brings nothing back
    site.leader.forget(WINDOW)
    with pytest.raises(ReportRefusedError, match="report_dropped"):
        site.upload(1)
    response = m.AggregationJobResp.decode(site.helper.start_job(site.task.id, job).body)
    assert {one.report_error for one in response.verify_resps} == {m.ReportError.REPORT_DROPPED}
    with pytest.raises(PeerError, match="batchInvalid"):
        site.collect()


@pytest.mark.parametrize("days", [60, 31, -60, 40 * 365])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_clock_that_is_wrong_for_a_while_loses_nothing(days, restarted, tmp_path, databases):
    """Leader and helper have one wrong clock, in a running process or at a start, and both forget by it."""
    site = Site(tmp_path, databases=databases)
    for value in (0, 1, 1):
        site.upload(value)
    site.clock.now = after()
    site.upload(2, 1)
    site.worker.step()
    assert site.leader.clock_problem() == site.helper.clock_problem() == ""
    right = site.clock.now
    site.clock.now += days * 86_400
    if restarted:
        site.close()
        site = Site(tmp_path, clock=site.clock, keys=site.keys, databases=databases)
    site.worker.clock.look()
    site.worker.step()
    for party in (site.leader, site.helper):
        party.forget(30 * 86_400)
        assert ("ahead" if days > 0 else "behind") in party.clock_problem()
    assert site.worker.clock.problem == site.leader.clock_problem()
    for app in (site.leader_app, site.helper_app):
        assert TestClient(app).get("/readyz").json() == {"ready": True, "why": "", "clock": site.worker.clock.problem}
    site.clock.now = right
    site.worker.clock.look()
    assert site.worker.clock.problem == ""
    assert TestClient(site.helper_app).get("/readyz").json() == {"ready": True, "why": ""}
    site.upload(2, 1)
    assert site.collect().values.tolist() == [1, 2, 0]
    site.clock.now = after(1)
    assert site.collect(1).values.tolist() == [0, 0, 2]
    assert site.leader.store.newest(1) == site.helper.store.newest(1) == site.agreement.time_of(1)
    site.close()


def test_a_clock_that_looks_wrong_is_logged_once_and_when_it_is_well_again():
    found, logged = iter(["", "ahead by 60.0 days", "ahead by 60.1 days", "", ""]), []
    watch = ClockWatch(lambda: next(found), lambda level, event: logged.append(event))
    for problem in ("", "ahead by 60.0 days", "ahead by 60.1 days", "", ""):
        watch.look()
        assert watch.problem == problem
    assert logged[:1] == ["ahead by 60.0 days"]
    assert len(logged) == 2


def test_the_past_is_forgotten_every_hour_whatever_the_clock_does(site):
    """A round now, one with a clock far ahead, one an hour after the first."""
    rounds, forgot, begin = [(0.0, 0), (10.0, 60 * 86_400), (3700.0, 3700)], [], site.clock.now

    def leads():
        monotonic.return_value, ahead = rounds.pop(0)
        site.clock.now = begin + ahead
        if not rounds:
            site.worker._stopped.set()
        return True

    site.worker.leads, site.worker._seconds = leads, 0
    site.leader.forget = lambda _: forgot.append(monotonic.return_value)
    with mock.patch("discreet.aggregation.dap.worker.time.monotonic", return_value=0.0) as monotonic:
        site.worker._tidy()
    assert forgot == [0.0, 3700.0]


def test_new_keys(tmp_path):
    """A device with a leader's old key gives up this contribution, and seals the next one with the new key."""
    site = Site(tmp_path)
    site.upload(0)
    old = site.client
    site.close()
    site.keys["leader"] = generate_key(9)
    new = Site(tmp_path, clock=site.clock, keys=site.keys)
    old._leader = LocalPeer(LEADER, new.leader_app)
    with pytest.raises(ReportRefusedError, match="outdated_config"):
        old.upload(0, new.contribution(2))
    old.upload(0, new.contribution(1))
    new.upload(1)
    new.clock.now = after()
    found = new.collect()
    assert found.values.tolist() == [0, 2, 0], "the report for the key that is gone cannot be opened any more"
    new.close()


# HTTP


def test_the_resources_of_the_draft(site):
    leader, helper = TestClient(site.leader_app), TestClient(site.helper_app)
    task = encode_id(site.task.id)
    for client, key in ((leader, "leader"), (helper, "helper")):
        answer = client.get("/hpke_config")
        assert answer.headers["content-type"] == "application/ppm-dap;message=hpke-config-list"
        assert answer.headers["cache-control"] == "max-age=86400"
        assert answer.headers["access-control-allow-origin"] == "*"
        assert m.HpkeConfigList.decode(answer.content).configs == (site.keys[key].config,)
    preflight = leader.options(f"/tasks/{task}/reports", headers={"Origin": "https://news.example"})
    assert preflight.status_code == 204
    assert "Content-Type" in preflight.headers["access-control-allow-headers"]
    body = site.client.report(0, site.contribution(1))
    headers = {"Content-Type": "application/ppm-dap; message=upload-req", "Origin": "https://news.example"}
    answer = leader.post(f"/tasks/{task}/reports", content=body, headers=headers)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    ("path", "media"),
    [
        ("aggregation_jobs", "aggregation-job-init-req"),
        ("aggregation_jobs/AAAAAAAAAAAAAAAAAAAAAA", "aggregation-job-continue-req"),
        ("aggregate_shares", "aggregate-share-req"),
        ("collection_jobs", "collection-job-req"),
        ("reports", "upload-req"),
    ],
)
def test_requests_that_are_aborted(path, media, tmp_path):
    site = Site(tmp_path)
    of_leader = path in ("collection_jobs", "reports")
    client = TestClient(site.leader_app if of_leader else site.helper_app)
    token = COLLECTOR_TOKEN if of_leader else LEADER_TOKEN
    url, wrong = (f"/tasks/{encode_id(one)}/{path}" for one in (site.task.id, bytes(32)))
    good = {"Authorization": f"Bearer {token}", "Content-Type": f"application/ppm-dap;message={media}"}
    if path != "reports":
        for header in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {token}"}):
            assert client.post(url, content=b"", headers={**good, "Authorization": "", **header}).status_code == 401
    assert client.post(url, content=b"", headers={**good, "Content-Type": "application/json"}).status_code == 415
    answer = client.post(wrong, content=b"\1", headers=good)
    assert answer.headers["content-type"] == "application/problem+json"
    expected = {"type": "urn:ietf:params:ppm:dap:error:unrecognizedTask", "status": 404, "taskid": encode_id(bytes(32))}
    assert expected.items() <= answer.json().items()
    assert client.post(url.replace(encode_id(site.task.id), "AAAA"), content=b"", headers=good).status_code == 404
    answer = client.post(url, content=b"\1\2\3", headers=good)
    kind = "unrecognizedAggregationJob" if path.endswith("AAAA") else "invalidMessage"
    assert answer.json()["type"].endswith(kind)
    assert answer.json()["taskid"] == encode_id(site.task.id)
    assert client.get("/tasks/x/y").headers["content-type"] == "application/problem+json"
    site.close()


def test_a_job_is_read_and_deleted_and_never_continued(site):
    site.upload(0)
    site.worker.step()
    body = next(body for _, url, body in site.to_helper.asked if url.endswith("aggregation_jobs"))
    client = TestClient(site.helper_app, headers={"Authorization": f"Bearer {LEADER_TOKEN}"})
    location = f"/tasks/{encode_id(site.task.id)}/aggregation_jobs/{encode_id(hashlib.sha256(body).digest()[:16])}"
    assert client.get(location).status_code == 404  # the leader has deleted it
    answer = site.helper.start_job(site.task.id, body)
    read = client.get(location, params={"step": 0})
    assert (read.status_code, read.content) == (200, answer.body)
    media = {"Content-Type": m.media_type(m.AggregationJobContinueReq)}
    for step, problem in ((0, "invalidMessage"), (1, "stepMismatch")):
        request = m.AggregationJobContinueReq(step, ()).encode()
        assert client.post(location, content=request, headers=media).json()["type"].endswith(problem)
    response = m.AggregationJobResp.decode(answer.body).verify_resps
    assert [one.report_error for one in response] == [m.ReportError.REPORT_REPLAYED], "deletion forgets no report"
    assert client.delete(location).status_code == 200
    assert client.get(location).json()["type"].endswith(ProblemType.UNRECOGNIZED_AGGREGATION_JOB)


def test_a_collection_job_is_deleted_but_stays_collected(site):
    for value in (0, 1):
        site.upload(value)
    site.clock.now = after()
    site.collect()
    request = next(body for _, url, body in site.to_helper.asked if url.endswith("aggregate_shares"))
    leader = TestClient(site.leader_app, headers={"Authorization": f"Bearer {COLLECTOR_TOKEN}"})
    key = hashlib.sha256(m.AggregateShareReq.decode(request).collection_job_req.encode()).digest()[:16]
    location = f"/tasks/{encode_id(site.task.id)}/collection_jobs/{encode_id(key)}"
    assert leader.get(location).headers["content-type"] == m.media_type(m.CollectionJobResp)
    assert leader.delete(location).status_code == 200
    assert leader.get(location).status_code == 404
    with pytest.raises(DiscreetError, match="collected already"):
        site.collect()
    helper = TestClient(site.helper_app, headers={"Authorization": f"Bearer {LEADER_TOKEN}"})
    share = f"/tasks/{encode_id(site.task.id)}/aggregate_shares/{encode_id(hashlib.sha256(request).digest()[:16])}"
    told = helper.get(share).content
    assert site.helper.share(site.task.id, request).body == told
    assert helper.delete(share).status_code == 200
    assert helper.get(share).status_code == 404
    media = {"Content-Type": m.media_type(m.AggregateShareReq)}
    again = helper.post(share.rpartition("/")[0], content=request, headers=media)
    assert again.json()["type"].endswith(ProblemType.BATCH_OVERLAP), "a deleted share is not made again"
