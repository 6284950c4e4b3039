"""One round has one meaning: nobody is in a sum with nodes that were told another job, task or roster."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from node_hosts import JOB, LENGTH, Town, Wire, vector_of
from plain_contributions import NOTHING

from discreet.aggregation.secure_sum import Step, SumClient, SumPlan, SumTerms
from discreet.aggregation.secure_sum.refusals import Replay
from discreet.edge.node import host as hosts
from discreet.errors import DiscreetError
from discreet.nodes import SecureSums
from discreet.nodes.requests import (
    Begin,
    Done,
    NodeRefusal,
    Unknown,
    job_digest,
    purpose,
    read_answer,
    read_request,
    task_digest,
)

OTHER_JOB = b"give it without any noise"


def begin(town, invited, plan=None, job=JOB, task=b"", round_id=bytes(16)):
    plan = plan or SumPlan.default(len(invited))
    meaning = purpose(job_digest(job), task_digest(task), town.roster)
    terms = SumTerms(round_id, {n: town.roster[n] for n in invited}, plan, LENGTH, 64, meaning)
    return Begin(
        context=terms.digest,
        round_id=round_id,
        invited=tuple(invited),
        plan=astuple(plan),
        length=LENGTH,
        bits=64,
        job=job_digest(job),
        task=task_digest(task),
        description=job,
    )


def ask(town, node, request):
    return read_answer(town.hosts[node].answer(request.to_bytes()))


def lie_to_one(town, change):
    """A server that tells node 2 something else, and follows the protocol otherwise: what was contributed."""

    def on_request(node, step, request):
        return change(step, read_request(request)).to_bytes() if node == 2 else request

    wire = Wire(town, on_request)
    try:
        SecureSums(wire, town.roster, JOB, NOTHING, timeout=0.2, everybody=True, attempts=1).sum(b"the task", LENGTH)
    except DiscreetError:
        return
    pytest.fail("a sum of different meanings was opened")


def test_a_victim_that_is_told_another_job_is_in_no_sum_with_the_others():
    """Its own context, so that it begins; or the others' context, in which it does not."""
    for context in (True, False):
        town = Town(3)
        apart = {}

        def change(step, request, town=town, context=context, apart=apart):
            if step == Step.ADVERTISE:
                lied = begin(town, (1, 2, 3), SumPlan.complete(3, 3), OTHER_JOB, b"the task", request.round_id)
                apart["context"] = lied.context
                return lied if context else replace(lied, context=request.context)
            return replace(request, context=apart["context"]) if context else request

        lie_to_one(town, change)
        assert 2 not in [node for node, _ in town.contributed]


def test_a_victim_that_is_told_another_task_is_in_no_sum_with_the_others():
    def later(step, request):
        return replace(request, task=b"another task") if step == Step.MASK else request

    def at_once(step, request):
        if step == Step.ADVERTISE:
            return replace(request, task=task_digest(b"another task"))
        return later(step, request)

    for change in (later, at_once):
        town = Town(3)
        lie_to_one(town, change)
        assert 2 not in [node for node, _ in town.contributed]


def test_clients_of_other_purposes_do_not_take_each_others_messages():
    town = Town(3)
    ours, theirs = (
        SumTerms(bytes(16), town.roster, SumPlan.complete(3, 3), LENGTH, 64, what) for what in (b"ours", b"theirs")
    )
    clients = {n: SumClient(theirs if n == 2 else ours, town.identities[n]) for n in town.roster}
    listed = tuple(clients[n].advertise() for n in sorted(clients))
    from discreet.aggregation.secure_sum.sum_messages import Advertised

    with pytest.raises(Replay):
        clients[1].share_keys(Advertised(context=ours.digest, advertisements=listed))


def test_nodes_that_have_other_rosters_are_in_no_sum_together():
    """One that knows of more nodes counts on more of them to collude, and adds more noise."""
    town = Town(4)
    town.start(2, roster={n: key for n, key in town.roster.items() if n < 4})
    answer = ask(town, 2, begin(town, (1, 2, 3)))
    assert isinstance(answer, NodeRefusal)
    assert "roster" in answer.reason


@pytest.mark.parametrize(("known", "invited", "everybody", "accepted"), [
    (4, 2, False, True),
    (30, 3, False, False),
    (30, 5, False, False),
    (30, 5, True, True),
    (30, 12, False, True),
    (80, 8, True, False),
    (80, 60, False, False),
    (80, 60, True, True),
    (60, 60, False, True),
])  # fmt: skip
def test_a_plan_must_hide_a_node_from_a_tenth_of_its_own_roster(known, invited, everybody, accepted):
    """All who collude may be among the invited. A sparse plan is made for a tenth of these alone."""
    town = Town(known)
    plan = SumPlan.complete(invited, invited) if everybody else SumPlan.default(invited)
    answer = ask(town, 1, begin(town, range(1, invited + 1), plan))
    assert isinstance(answer, Done) == accepted
    if not accepted:
        assert "may collude" in answer.reason
        assert town.opened == []


def test_a_host_keeps_few_jobs_and_few_names_of_rounds(monkeypatch):
    monkeypatch.setattr(hosts, "MAX_JOBS", 3)
    monkeypatch.setattr(hosts, "MAX_NAMES", 20)
    town = Town(2)
    jobs = [b"job %d" % number for number in range(10)]
    for number in range(60):
        job = jobs[number % len(jobs)]
        assert isinstance(ask(town, 1, begin(town, (1, 2), job=job, round_id=number.to_bytes(16))), Done)
    assert len(town.hosts[1]._jobs) == 3
    assert len(town.hosts[1]._begun) == 20
    asked = begin(town, (1, 2), job=jobs[0], round_id=bytes([9] * 16))
    assert isinstance(ask(town, 1, replace(asked, description=None)), Unknown), "a closed job is asked for again"
    assert isinstance(ask(town, 1, asked), Done)


def test_a_round_whose_job_was_closed_meanwhile_goes_on(monkeypatch):
    monkeypatch.setattr(hosts, "MAX_JOBS", 1)
    town = Town(2, lambda node, assignment: vector_of(node))
    wire = Wire(town)
    sums = [SecureSums(wire, town.roster, job, NOTHING, timeout=0.2) for job in (JOB, OTHER_JOB)]
    for one in (*sums, *sums):
        assert np.array_equal(one.sum(b"", LENGTH).values, vector_of(1) + vector_of(2))
