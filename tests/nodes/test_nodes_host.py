"""What a host refuses, and that it never fails: one input a round, on its own terms only."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node_hosts import JOB, LENGTH, Town, Wire, sums_over, vector_of

from discreet.aggregation.secure_sum import Identity, Step, SumPlan, SumTerms
from discreet.aggregation.secure_sum.refusals import MalformedMessage
from discreet.edge.node.host import Host
from discreet.errors import DiscreetError
from discreet.nodes.requests import (
    NO_CONTEXT,
    Begin,
    Done,
    NodeRefusal,
    Proceed,
    Unknown,
    job_digest,
    purpose,
    read_answer,
    read_request,
    task_digest,
)

ROUND = bytes(range(16))
TASK = b"add up"


def invitation(town, invited=None, round_id=ROUND, **changes):
    """A request to begin, on terms that hosts accept unless something is changed."""
    invited = tuple(invited or town.roster)
    plan = SumPlan.default(max(2, len(invited)))
    known = {node: town.roster.get(node, bytes([node]) * 32) for node in invited}
    meaning = purpose(job_digest(JOB), task_digest(TASK), town.roster)
    context = bytes(32) if len(invited) < 2 else SumTerms(round_id, known, plan, LENGTH, 64, meaning).digest
    begin = Begin(
        context=context,
        round_id=round_id,
        invited=invited,
        plan=astuple(plan),
        length=LENGTH,
        bits=64,
        job=job_digest(JOB),
        task=task_digest(TASK),
        description=JOB,
    )
    return replace(begin, **changes)


def ask(town, node, request):
    return read_answer(town.hosts[node].answer(request.to_bytes()))


def test_terms_that_a_host_accepts():
    town = Town(4)
    assert isinstance(ask(town, 2, invitation(town)), Done)
    assert isinstance(ask(town, 2, invitation(town, invited=(2, 3), round_id=bytes(16))), Done)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"invited": (1, 2, 9)}, "node 9 is invited, but is not in the roster"),
        ({"invited": (1, 3)}, "not invited"),
        ({"invited": (2,)}, "at least 2 nodes"),
        ({"plan": (4, 3, 3, 4)}, "plan"),
        ({"plan": (4, 2, 3, 3)}, "plan"),
        ({"plan": (4, 3, 4, 3)}, "plan"),
        ({"plan": (5, 4, 4, 4)}, "plan"),
        ({"plan": (0, 0, 0, 0)}, "plan"),
        ({"bits": 32}, "mod 2^64"),
        ({"bits": 0}, "mod 2^64"),
        ({"length": 0}, "entries"),
        ({"length": 2**32 - 1}, "entries"),
        ({"context": bytes(32)}, "another job, task or roster"),
        ({"length": LENGTH + 1}, "another job, task or roster"),
        ({"task": task_digest(b"take away")}, "another job, task or roster"),
        ({"job": job_digest(b"another job")}, "another job, task or roster"),
    ],
)
def test_terms_that_a_host_refuses(changes, reason):
    town = Town(4)
    answer = ask(town, 2, invitation(town, **changes))
    assert isinstance(answer, NodeRefusal)
    assert answer.permanent
    assert answer.reason.startswith("WrongTerms: ")
    assert reason in answer.reason
    assert town.opened == [], "terms are looked at before anything is opened"


def test_a_host_needs_its_own_key_in_its_roster():
    town = Town(3)
    with pytest.raises(DiscreetError, match="does not have node 2 with this node's key"):
        Host(Identity.generate(2), town.roster, lambda job: None)
    with pytest.raises(DiscreetError, match="node 7"):
        Host(Identity.generate(7), town.roster, lambda job: None)


def test_an_unknown_job_is_asked_for_and_opened_once():
    town = Town(3)
    assert isinstance(ask(town, 1, invitation(town, description=None)), Unknown)
    assert isinstance(ask(town, 1, invitation(town)), Done)
    assert isinstance(ask(town, 1, invitation(town, round_id=bytes(16), description=None)), Done)
    assert isinstance(ask(town, 1, invitation(town, round_id=bytes(15) + b"1")), Done)
    assert town.opened == [(1, JOB)]


def test_a_job_under_another_jobs_digest_is_refused():
    town = Town(3)
    answer = ask(town, 1, invitation(town, description=b"another job"))
    assert answer.reason.startswith("MalformedMessage: ")
    assert town.opened == []


def test_a_round_is_begun_once_even_if_another_came_between():
    town = Town(3)
    first, second = invitation(town), invitation(town, round_id=bytes(16))
    assert isinstance(ask(town, 1, first), Done)
    assert ask(town, 1, first).reason.startswith("OutOfTurn")
    assert isinstance(ask(town, 1, second), Done)
    assert ask(town, 1, first).reason.startswith("OutOfTurn")


def test_many_threads_that_begin_one_round_begin_it_once():
    town = Town(3)
    opened = []

    def slowly(description):
        opened.append(description)
        time.sleep(0.02)
        return lambda assignment: vector_of(1)

    host = Host(town.identities[1], town.roster, slowly)
    request = invitation(town).to_bytes()
    with ThreadPoolExecutor(8) as pool:
        answers = [read_answer(one) for one in pool.map(host.answer, [request] * 16)]
    assert sum(isinstance(one, Done) for one in answers) == 1
    assert all(one.reason.startswith("OutOfTurn") for one in answers if isinstance(one, NodeRefusal))
    assert opened == [JOB]


@pytest.mark.parametrize("moment", list(Step)[2:])
def test_a_replayed_request_to_mask_gives_no_second_masked_input(moment):
    """At once, and at every later moment of the round; and when the round is over, another has begun, or is over."""
    town = Town(4)
    wire = Wire(town)
    replayed = []

    def replay(node, step, answer):
        if node == 2 and step == moment:
            mask = next(request for n, s, request in wire.requests if (n, s) == (2, Step.MASK))
            replayed.append(read_answer(town.hosts[2].answer(mask)))
        return answer

    wire.on_answer = replay
    sums = sums_over(wire)
    total = sums.sum(b"", LENGTH)
    assert total.nodes == (1, 2, 3, 4), "a replay does not disturb the round"
    mask = next(request for n, s, request in wire.requests if (n, s) == (2, Step.MASK))
    replayed.append(read_answer(town.hosts[2].answer(mask)))
    sums.sum(b"", LENGTH)
    replayed.append(read_answer(town.hosts[2].answer(mask)))
    assert len(replayed) >= 2
    assert all(isinstance(one, NodeRefusal) for one in replayed)
    assert len([node for node, _ in town.contributed if node == 2]) == 2, "one for each of the two sums"


def test_a_request_of_an_abandoned_round_is_refused_by_name():
    town = Town(3)
    old = invitation(town)
    ask(town, 1, old)
    ask(town, 1, invitation(town, round_id=bytes(16)))
    answer = ask(town, 1, Proceed(context=old.context, step=Step.SHARE, message=b""))
    assert answer.reason.startswith("OtherRound: ")
    assert answer.context == old.context


def test_a_step_before_its_time_is_refused_and_changes_nothing():
    town = Town(3)
    begin = invitation(town)
    ask(town, 1, begin)
    for step in (Step.MASK, Step.AGREE, Step.UNMASK):
        answer = ask(town, 1, Proceed(context=begin.context, step=step, message=b""))
        assert answer.reason == f"OutOfTurn: this node is at step SHARE, not {step.name}"
    assert town.contributed == []


def test_a_step_that_is_refused_ends_the_round_for_the_node():
    town = Town(3)
    begin = invitation(town)
    ask(town, 1, begin)
    share = Proceed(context=begin.context, step=Step.SHARE, message=b"no list of keys")
    assert ask(town, 1, share).reason.startswith("MalformedMessage: ")
    assert ask(town, 1, share).reason.startswith("OtherRound: ")


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(LENGTH + 1, np.int64),
        np.zeros((LENGTH, 1), np.int64),
        np.zeros(LENGTH),
        None,
    ],
)
def test_a_contribution_that_does_not_fit_is_refused_by_the_host(wrong):
    town = Town(4, lambda node, assignment: wrong if node == 4 else vector_of(node))
    wire = Wire(town)
    assert sums_over(wire).sum(b"", LENGTH).nodes == (1, 2, 3)
    refusal = next(read_answer(answer) for node, step, answer in wire.answers if (node, step) == (4, Step.MASK))
    assert refusal.reason.startswith("NoContribution: ")


@pytest.mark.parametrize("bare", [np.zeros(LENGTH, np.int64), {"values": [0] * LENGTH}])
def test_nothing_but_a_contribution_leaves_a_host(bare):
    town = Town(4)
    town.hosts[4] = Host(town.identities[4], town.roster, lambda description: lambda assignment: bare)
    wire = Wire(town)
    assert sums_over(wire).sum(b"", LENGTH).nodes == (1, 2, 3)
    refusal = next(read_answer(answer) for node, step, answer in wire.answers if (node, step) == (4, Step.MASK))
    assert refusal.reason == "NoContribution: the node has failed; its own log says where"


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=200), st.sampled_from([b"", b"Ds\1\x20", b"Ds\1\x21", b"Ds\1\x30"]))
def test_a_host_answers_any_bytes_with_a_refusal(garbage, beginning):
    answer = read_answer(HOST.answer(beginning + garbage))
    assert isinstance(answer, NodeRefusal)


HOST = Town(2).hosts[1]


@pytest.fixture(scope="module")
def sent():
    """All requests to node 1 in a round that went well."""
    wire = Wire(Town(3))
    sums_over(wire).sum(b"tell me x", LENGTH)
    return [request for node, _, request in wire.requests if node == 1]


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_damaged_requests_are_answered_and_never_contribute(sent, data):
    request = bytearray(data.draw(st.sampled_from(sent)))
    for at in data.draw(st.lists(st.integers(0, len(request) - 1), min_size=1, max_size=3)):
        request[at] ^= data.draw(st.integers(1, 255))
    town = Town(3)
    assert isinstance(read_answer(town.hosts[1].answer(bytes(request))), NodeRefusal | Unknown)
    assert town.contributed == []


def test_requests_go_there_and_back_and_no_shorter_one_is_read(sent):
    for request in sent:
        assert read_request(request).to_bytes() == request
        for end in range(len(request)):
            assert isinstance(read_answer(HOST.answer(request[:end])), NodeRefusal)
        assert isinstance(read_answer(HOST.answer(request + b"\0")), NodeRefusal)
    assert [b"tell me x" in request for request in sent] == [False, False, True, False, False]
    assert isinstance(read_request(sent[0]), Begin)


def test_what_cannot_be_read_is_refused_without_a_context():
    assert read_answer(HOST.answer(b"what?")).context == NO_CONTEXT


@pytest.mark.parametrize(("invited", "name"), [((2, 1, 3), "MalformedMessage"), ((1, 2, 2), "Duplicate")])
def test_the_invited_are_named_once_and_in_order(invited, name):
    town = Town(3)
    answer = ask(town, 2, replace(invitation(town), invited=invited))
    assert answer.reason.startswith(f"{name}: ")


@pytest.mark.parametrize("step", [0, 5, 9])
def test_a_step_that_no_round_has_is_malformed(step):
    request = bytearray(Proceed(context=bytes(32), step=Step.SHARE, message=b"").to_bytes())
    request[36] = step
    assert read_answer(HOST.answer(bytes(request))).reason == f"MalformedMessage: no round proceeds with a step {step}"


def test_an_answer_has_one_encoding():
    refusal = NodeRefusal(context=bytes(32), reason="no", permanent=True)
    data = refusal.to_bytes()
    assert read_answer(data) == refusal
    for wrong in (data.replace(b"\1\0\0\0", b"\2\0\0\0"), data + b"\0", data[:-1], data[:3] + b"\x20" + data[4:]):
        with pytest.raises(MalformedMessage):
            read_answer(wrong)


def test_no_key_of_a_node_travels_in_the_invitation(sent):
    town = Town(3)
    request = invitation(town).to_bytes()
    assert not any(key in request for key in town.roster.values())


def test_nodes_need_no_torch():
    script = "import sys, discreet.nodes; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
