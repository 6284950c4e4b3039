"""A kill at every point: before and after each commit and each request, of either aggregator, one after the other.

What a kill leaves is what was committed. So instead of processes, the two aggregators are dropped where they stand and
made again from their databases; the points are counted, and each is tried.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from dap_site import START, WINDOW, LocalPeer, Site, example_task

from discreet.aggregation.aggregator_noise import noise_deviation
from discreet.aggregation.dap import messages as m

VALUES = (0, 1, 1)
MAX_POINTS = 400


class Killed(BaseException):
    """The end of a process."""


class Points:
    """Counts points, and kills at one of them."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at, self.passed = kill_at, 0

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self.kill_at:
            raise Killed


def watched(site: Site, point: Points, told: dict[str, set[bytes]]) -> Site:
    """The site with a point before and after everything that lasts or leaves, and with a note of all shares told."""
    for store in (site.leader.store, site.helper.store):
        store.locked = _watched_transaction(store.locked, point)

    def fail(method, url, body, ask):
        point()
        reply = ask()
        if url.endswith("aggregate_shares") and reply.status == 200:
            told["helper"].add(reply.body)
        point()
        return reply

    site.to_helper.fail = fail
    return site


def _watched_transaction(locked, point):
    @contextmanager
    def watched(*numbers):
        point()
        with locked(*numbers) as connection:
            yield connection
            point()
        point()

    return watched


def run(site: Site, waiting: list[bytes], told: dict[str, set[bytes]]) -> m.CollectionJobResp:
    """Everything from the first upload to the result; reports that were acknowledged are taken from `waiting`."""
    while waiting:
        upload = site.leader.read_upload(site.task.id, waiting[0])
        assert not upload.answer(site.leader.store.keep([(upload.task, upload.reports)])[0])
        waiting.pop(0)
        if len(waiting) == 1:
            site.leader.run_jobs(site.task.id)
    site.clock.now = START + 2 * WINDOW
    jobs = site.worker.collections
    key = jobs.create(site.task.id, site.agreement.collection_of(0).encode())
    site.leader.run_jobs(site.task.id)
    jobs.run(site.task.id)
    answer = jobs.answer(site.task.id, key)
    assert answer is not None
    found = m.CollectionJobResp.decode(answer)
    told["leader"].add(found.leader_encrypted_agg_share.encode())
    return found


@pytest.mark.parametrize("epsilon", [100.0, pytest.param(0.05, marks=pytest.mark.slow)], ids=["exact", "noised"])
@pytest.mark.long
def test_a_kill_at_every_point(epsilon, tmp_path):
    task = example_task(epsilon=epsilon)
    finished, kill_at = False, 0
    while not finished:
        kill_at += 1
        assert kill_at < MAX_POINTS
        folder = tmp_path / str(kill_at)
        folder.mkdir()
        point, told = Points(kill_at), {"leader": set(), "helper": set()}
        site = Site(folder, task=task)
        reports = [site.client.report(0, site.contribution(value)) for value in VALUES]
        site = watched(site, point, told)
        try:
            run(site, reports, told)
            finished, point.kill_at = True, 0
        except Killed:
            site.close()
            site = watched(Site(folder, task=task, clock=site.clock, keys=site.keys), Points(0), told)
            site.clock.now = START + 1 if reports else site.clock.now
        answer = run(site, reports, told)
        assert answer.report_count == len(VALUES), f"killed at point {kill_at}"
        values = site.collect().values
        assert abs(values - [1, 2, 0]).max() <= (0 if epsilon == 100 else 20 * noise_deviation(task))
        assert {role: len(shares) for role, shares in told.items()} == {"leader": 1, "helper": 1}
        site.close()
    assert kill_at > 30


def test_two_leaders_on_one_database_count_each_report_once(tmp_path):
    """Both work on the same jobs at the same points; the second to come finds that all is done."""
    first = Site(tmp_path)
    for value in VALUES:
        first.upload(value)
    second = Site(tmp_path, clock=first.clock, keys=first.keys)
    job = first.leader._new_job(first.agreement, 1)

    def fail(method, url, body, ask):
        first.to_helper.fail = lambda method, url, body, ask: ask()
        second.worker.step()
        return ask()

    first.to_helper.fail = fail
    first.leader._run_job(first.agreement, 1, job, first.to_helper)
    first.clock.now = START + 2 * WINDOW
    assert first.collect().values.tolist() == [1, 2, 0]
    assert second.collect().values.tolist() == [1, 2, 0]
    assert isinstance(first.to_helper, LocalPeer)
    first.close()
    second.close()
