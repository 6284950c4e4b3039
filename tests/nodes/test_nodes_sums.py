"""Secure sums over nodes: exact, whoever leaves, whatever one of them sends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node_hosts import JOB, LENGTH, PATIENCE, Town, Wire, sum_of, sums_over
from plain_contributions import NOTHING

from discreet.aggregation.secure_sum import Step, SumPlan
from discreet.errors import DiscreetError
from discreet.nodes import LocalNodes, SecureSums
from discreet.nodes.requests import Done, NodeRefusal, Unknown, read_answer
from discreet.nodes.secure_sums import ATTEMPTS

STEPS = list(Step)[:-1]
BEFORE_THE_INPUT = (Step.ADVERTISE, Step.SHARE, Step.MASK)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 10), st.integers(1, 4), st.data())
def test_sums_are_exact_mod_2_to_the_64(count, length, data):
    int64 = st.integers(-(2**63), 2**63 - 1)
    drawn = data.draw(st.lists(st.lists(int64, min_size=length, max_size=length), min_size=count, max_size=count))
    vectors = dict(zip(range(1, count + 1), drawn, strict=True))
    town = Town(count, lambda node, assignment: np.array(vectors[node], dtype=np.int64))
    total = SecureSums(
        LocalNodes({n: host.answer for n, host in town.hosts.items()}), town.roster, JOB, NOTHING, timeout=1
    ).sum(b"", length)
    assert total.nodes == tuple(vectors)
    assert total.values.dtype == np.int64
    exact = [sum(column) for column in zip(*drawn, strict=True)]
    assert [int(value) % 2**64 for value in total.values] == [value % 2**64 for value in exact]


def test_a_job_is_opened_once_and_every_sum_has_its_own_task():
    town = Town(4)
    wire = Wire(town)
    sums = sums_over(wire)
    for task in (b"first", b"second"):
        assert sums.sum(task, LENGTH).values.tolist() == sum_of(town.roster)
    assert town.opened == [(node, JOB) for node in town.roster]
    assert [node for node, _, request in wire.requests if JOB in request] == list(town.roster), "and travels once"
    assert [(node, assigned.task) for node, assigned in town.contributed] == [
        (node, task) for task in (b"first", b"second") for node in town.roster
    ]


@pytest.mark.parametrize("count", [2, 5, 9])
def test_nodes_are_told_how_many_will_be_in_the_sum_at_least(count):
    town = Town(count)
    sums_over(Wire(town)).sum(b"", LENGTH)
    told = {(one.invited, one.quorum, one.known) for _, one in town.contributed}
    assert told == {(tuple(range(1, count + 1)), SumPlan.default(count).quorum, count)}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("how", ["on_request", "on_answer"])
def test_a_node_that_leaves_at_a_step_is_in_the_sum_just_if_its_input_has_come(step, how, said):
    """Whether it goes before it has taken the step, or its answer is lost on the way."""
    town = Town(5)
    gone = set()

    def leave(node, now, data):
        if node == 3 and now == step:
            gone.add(node)
        return None if node in gone else data

    wire = Wire(town, **{how: leave})
    total = sums_over(wire).sum(b"", LENGTH)
    assert total.nodes == ((1, 2, 4, 5) if step in BEFORE_THE_INPUT else (1, 2, 3, 4, 5))
    assert total.values.tolist() == sum_of(total.nodes)
    assert said == [f"node 3: no answer in time at step {step.name}"]
    assert wire.rounds() == 1
    later = [now for node, now, _ in wire.requests if node == 3 and now > step]
    assert not later, "who has dropped out is asked again"


def garbled(wire, node, step, answer):
    others = {1: 2, 2: 1}.get(node, 1)
    return {
        "nothing": b"",
        "noise": bytes(range(256)),
        "cut short": answer[:-1],
        "too long": answer + b"\0",
        "a changed bit": answer[:-1] + bytes([answer[-1] ^ 1]),
        "another version": answer[:2] + b"\2" + answer[3:],
        "an empty message": Done(context=read_answer(answer).context, message=b"").to_bytes(),
        "no such job": Unknown(context=read_answer(answer).context).to_bytes(),
        "a neighbour's answer": next((a for n, s, a in reversed(wire.answers) if n == others and s == step), b""),
        "last round's answer": next((a for n, s, a in wire.answers if n == node and s == step and a != answer), b""),
    }


@pytest.mark.parametrize("kind", garbled(Wire(Town(2)), 1, Step.MASK, Done(context=bytes(32), message=b"").to_bytes()))
@pytest.mark.parametrize("step", STEPS)
def test_garbage_of_one_node_is_its_own_loss(step, kind, said):
    town = Town(5)
    wire = Wire(town)
    sums = sums_over(wire)
    sums.sum(b"", LENGTH)
    wire.on_answer = lambda node, now, answer: (
        garbled(wire, node, now, answer)[kind] if (node, now) == (3, step) else answer
    )
    total = sums.sum(b"", LENGTH)
    assert total.nodes == ((1, 2, 4, 5) if step in BEFORE_THE_INPUT else (1, 2, 3, 4, 5))
    assert total.values.tolist() == sum_of(total.nodes)
    assert len(said) == 1
    assert said[0].startswith(f"node 3: wrong answer at step {step.name}, ")
    assert wire.rounds() == 2


def test_a_node_speaks_for_itself_only(said):
    town = Town(7)
    wire = Wire(town)
    straight = wire.ask

    def crossed(requests, timeout):
        came = straight(requests, timeout)
        return came | ({3: came[4], 4: came[3]} if {3, 4} <= came.keys() else {})

    wire.ask = crossed
    assert sums_over(wire).sum(b"", LENGTH).nodes == (1, 2, 5, 6, 7)
    assert said == [
        f"node {node}: wrong answer at step ADVERTISE, MalformedMessage: it answers in the name of node {other}"
        for node, other in ((3, 4), (4, 3))
    ]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(STEPS), st.data())
def test_damage_to_one_answer_never_makes_a_sum_wrong(step, data):
    def damage(node, now, answer):
        if (node, now) != (3, step):
            return answer
        damaged = bytearray(answer)
        for at in data.draw(st.lists(st.integers(0, len(answer) - 1), min_size=1, max_size=3, unique=True)):
            damaged[at] ^= data.draw(st.integers(1, 255))
        return bytes(damaged)

    total = sums_over(Wire(Town(4), on_answer=damage)).sum(b"", LENGTH)
    assert total.nodes == ((1, 2, 4) if step in BEFORE_THE_INPUT else (1, 2, 3, 4))
    assert total.values.tolist() == sum_of(total.nodes)


def test_a_late_node_is_left_behind_and_is_back_in_the_next_sum():
    town = Town(4)
    slow, late = {3}, []

    class Wire:
        """Answers of slow nodes come when the round is over."""

        def present(self):
            return frozenset(town.hosts)

        def ask(self, requests, timeout):
            late.extend((node, request) for node, request in requests.items() if node in slow)
            return {node: town.hosts[node].answer(sent) for node, sent in requests.items() if node not in slow}

    sums = SecureSums(Wire(), town.roster, JOB, NOTHING, timeout=PATIENCE)
    assert sums.sum(b"", LENGTH).nodes == (1, 2, 4)
    slow.clear()
    for node, request in late:
        town.hosts[node].answer(request)
    total = sums.sum(b"", LENGTH)
    assert total.nodes == (1, 2, 3, 4)
    assert total.values.tolist() == sum_of(total.nodes)


@pytest.mark.parametrize("step", STEPS)
def test_a_host_started_anew_in_mid_round_drops_out_and_is_told_the_job_again(step, said):
    town = Town(5)
    wire = Wire(town)
    sums = sums_over(wire)
    sums.sum(b"", LENGTH)

    def restart(node, now, request):
        if (node, now) == (3, step):
            town.start(3)
            wire.on_request = lambda node, now, request: request
        return request

    wire.on_request = restart
    total = sums.sum(b"", LENGTH)
    if step == Step.ADVERTISE:
        assert total.nodes == (1, 2, 3, 4, 5)
        assert said == []
    else:
        assert total.nodes == ((1, 2, 4, 5) if step in BEFORE_THE_INPUT else (1, 2, 3, 4, 5))
        assert said[0].startswith("node 3: refused, OtherRound")
    assert total.values.tolist() == sum_of(total.nodes)
    again = sums.sum(b"", LENGTH)
    assert again.nodes == (1, 2, 3, 4, 5)
    assert [node for node, _ in town.opened] == [1, 2, 3, 4, 5, 3]


def test_a_reason_of_a_node_is_shown_once_and_cannot_break_the_line(said):
    town = Town(2)
    wire = Wire(town)

    def refuse(node, step, answer):
        if node != 2:
            return answer
        reason = "full\n\x1b[31m [/red] disk"
        return NodeRefusal(context=read_answer(answer).context, reason=reason, permanent=False).to_bytes()

    wire.on_answer = refuse
    sums = sums_over(wire)
    for sums_made in (1, 2):
        with pytest.raises(DiscreetError) as raised:
            sums.sum(b"", LENGTH)
        assert "\n" not in str(raised.value)
        shown = [line for line in said if "disk" in line]
        assert shown == ["node 2: refused, full  [31m [/red] disk"] * sums_made, "once for each sum"
    assert wire.rounds() == 2 * ATTEMPTS


def test_one_node_is_no_secure_sum():
    town = Town(2)
    with pytest.raises(DiscreetError, match="at least 2 nodes"):
        sums_over(Wire(town), roster={1: town.roster[1]})
