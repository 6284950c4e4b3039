"""Secure sums over nodes: exact, whoever leaves, whatever one of them sends."""

import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node_hosts import JOB, LENGTH, PATIENCE, Town, Wire, sum_of, sums_over, vector_of

from discreet.errors import DiscreetError
from discreet.federated.nodes import Host, LocalNodes, SecureSums
from discreet.federated.nodes import troubles as troubles_module
from discreet.federated.nodes.requests import Done, Refusal, Unknown, read_answer
from discreet.federated.nodes.sums import ATTEMPTS, LostRound
from discreet.federated.secure_sum import Identity, Plan, Step
from discreet.federated.secure_sum.messages import KeyShares, Unmasking

STEPS = list(Step)[:-1]
BEFORE_THE_INPUT = (Step.ADVERTISE, Step.SHARE, Step.MASK)


@pytest.fixture
def said(monkeypatch):
    lines = []
    monkeypatch.setattr(troubles_module, "notice", lines.append)
    return lines


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 10), st.integers(1, 4), st.data())
def test_sums_are_exact_mod_2_to_the_64(count, length, data):
    int64 = st.integers(-(2**63), 2**63 - 1)
    drawn = data.draw(st.lists(st.lists(int64, min_size=length, max_size=length), min_size=count, max_size=count))
    vectors = dict(zip(range(1, count + 1), drawn, strict=True))
    town = Town(count, lambda node, assignment: np.array(vectors[node], dtype=np.int64))
    total = SecureSums(
        LocalNodes({n: host.answer for n, host in town.hosts.items()}), town.roster, JOB, patience=1
    ).sum(b"", length)
    assert total.nodes == tuple(vectors)
    assert total.values.dtype == np.int64
    exact = [sum(column) for column in zip(*drawn, strict=True)]
    assert [int(value) % 2**64 for value in total.values] == [value % 2**64 for value in exact]


def test_a_job_is_opened_once_and_every_sum_has_its_own_task():
    town = Town(4)
    sums = sums_over(Wire(town))
    for task in (b"first", b"second"):
        assert sums.sum(task, LENGTH).values.tolist() == sum_of(town.roster)
    assert town.opened == [(node, JOB) for node in town.roster]
    assert [(node, assigned.task) for node, assigned in town.contributed] == [
        (node, task) for task in (b"first", b"second") for node in town.roster
    ]


@pytest.mark.parametrize("count", [2, 5, 9])
def test_nodes_are_told_how_many_will_be_in_the_sum_at_least(count):
    town = Town(count)
    sums_over(Wire(town)).sum(b"", LENGTH)
    assert {(one.parties, one.quorum) for _, one in town.contributed} == {(count, Plan.default(count).quorum)}


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

    def crossed(requests, patience):
        came = straight(requests, patience)
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
    slow = {3}

    def answer(node, request):
        if node in slow:
            time.sleep(3 * PATIENCE)
        return town.hosts[node].answer(request)

    class Threads:
        def present(self):
            return frozenset(town.hosts)

        def ask(self, requests, patience):
            futures = {pool.submit(answer, node, request): node for node, request in requests.items()}
            return {futures[future]: future.result() for future in wait(futures, timeout=patience).done}

    with ThreadPoolExecutor(8) as pool:
        sums = SecureSums(Threads(), town.roster, JOB, patience=PATIENCE)
        assert sums.sum(b"", LENGTH).nodes == (1, 2, 4)
        slow.clear()
        time.sleep(3 * PATIENCE)
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


def test_a_quorum_that_is_lost_is_found_among_those_who_are_left(said):
    """Of three nodes all must stay; two can sum without the third."""
    town = Town(3)
    wire = Wire(town, on_request=lambda node, step, data: None if (node, step) == (2, Step.MASK) else data)
    total = sums_over(wire).sum(b"", LENGTH)
    assert total.nodes == (1, 3)
    assert total.values.tolist() == sum_of((1, 3))
    assert wire.rounds() == 2
    assert "the round of the secure sum is lost (TooFewClients: step MASK: 2 clients, but the plan needs 3)" in said


def test_a_quorum_that_is_lost_is_regained_when_a_node_comes_back():
    town = Town(2)
    falls = iter([True])
    wire = Wire(town)
    looks = 0

    def fall(node, step, data):
        if (node, step) == (2, Step.AGREE) and next(falls, False):
            wire.away = {2}
        return data

    def present():
        nonlocal looks
        looks += 1
        if looks == 4:
            town.start(2)
            wire.away = set()
        return frozenset(town.hosts) - wire.away

    wire.on_request, wire.present = fall, present
    total = sums_over(wire).sum(b"", LENGTH)
    assert total.nodes == (1, 2)
    assert total.values.tolist() == sum_of((1, 2))
    assert wire.rounds() == 2


def test_a_node_that_is_needed_is_given_time_although_it_seems_to_be_there():
    """Its engine answers for it while its host starts anew."""
    town = Town(2)
    until = time.monotonic() + PATIENCE / 2
    wire = Wire(town, on_request=lambda node, _, data: None if node == 2 and time.monotonic() < until else data)
    assert sums_over(wire).sum(b"", LENGTH).nodes == (1, 2)


def test_a_quorum_lost_for_good_is_one_line_that_says_who_and_what_to_do():
    town = Town(3)
    wire = Wire(town)
    wire.away = {1}
    wire.on_request = lambda node, step, data: None if node == 3 and step == Step.SHARE else data
    with pytest.raises(DiscreetError) as raised:
        sums_over(wire).sum(b"", LENGTH)
    line = str(raised.value)
    assert "\n" not in line
    assert "in order: node 2;" in line
    assert "node 3: no answer in time at step SHARE" in line
    assert "not to be reached: node 1" in line
    assert "Start the missing nodes" in line
    assert wire.rounds() == ATTEMPTS


def test_too_few_nodes_are_waited_for_as_long_as_patience_says():
    town = Town(3)
    wire = Wire(town)
    wire.away = {1, 3}
    start = time.monotonic()
    with pytest.raises(DiscreetError, match="in order: node 2; not to be reached: nodes 1, 3"):
        sums_over(wire).sum(b"", LENGTH)
    assert time.monotonic() - start >= PATIENCE
    assert not wire.requests


def test_a_reason_of_a_node_is_shown_once_and_cannot_break_the_line(said):
    town = Town(3)
    wire = Wire(town)

    def refuse(node, step, answer):
        if node != 2:
            return answer
        reason = "full\n\x1b[31m [/red] disk"
        return Refusal(context=read_answer(answer).context, reason=reason, lasting=False).to_bytes()

    wire.on_answer = refuse
    sums = sums_over(wire)
    assert sums.sum(b"", LENGTH).nodes == (1, 3)
    shown = [line for line in said if "disk" in line]
    assert shown == ["node 2: refused, full  [31m [/red] disk"]
    sums.sum(b"", LENGTH)
    assert len([line for line in said if "disk" in line]) == 2, "once for each sum"


@pytest.mark.parametrize("failure", [DiscreetError("its ledger is empty"), ValueError("reader 42 clicked on 7")])
def test_a_contribution_that_fails_is_a_refusal_and_the_sum_goes_on(failure, said):
    def contribution(node, assignment):
        if node == 2:
            raise failure
        return vector_of(node)

    town = Town(5, contribution)
    total = sums_over(Wire(town)).sum(b"", LENGTH)
    assert total.nodes == (1, 3, 4, 5)
    assert total.values.tolist() == sum_of(total.nodes)
    if isinstance(failure, DiscreetError):
        assert said == ["node 2: refused, NoContribution: its ledger is empty"]
    else:
        assert "ValueError" in said[0]
        assert "42" not in said[0], "the text of an exception that is not meant for people may tell of the data"


def test_what_every_node_refuses_is_not_asked_for_again_and_again():
    town = Town(3)
    wire = Wire(town)
    start = time.monotonic()
    with pytest.raises(DiscreetError, match=r"nodes 1, 2, 3: refused, NoContribution: the round sums 4 entries"):
        sums_over(wire).sum(b"", 4)
    assert len(town.contributed) == 3
    assert time.monotonic() - start < PATIENCE


def test_a_job_that_a_node_cannot_open_leaves_it_out(said):
    town = Town(3)

    def cannot(description):
        raise DiscreetError("this node has no data for the job")

    town.hosts[1] = Host(town.identities[1], town.roster, cannot)
    assert sums_over(Wire(town)).sum(b"", LENGTH).nodes == (2, 3)
    assert said[0] == "node 1: refused, NoContribution: this node has no data for the job"


def test_a_node_with_another_roster_leaves_itself_out(said):
    town = Town(5)
    town.start(4, roster=town.roster | {2: Identity.generate(2).public})
    total = sums_over(Wire(town)).sum(b"", LENGTH)
    assert total.nodes == (1, 2, 3, 5)
    assert total.values.tolist() == sum_of(total.nodes)
    assert said[0].startswith("node 4: refused, WrongTerms: the server knows other keys")


def test_a_stranger_that_the_server_puts_into_the_roster_is_refused_by_everybody():
    town = Town(3)
    honest = dict(town.roster)
    town.identities[9] = Identity.generate(9)
    made_up = honest | {9: town.identities[9].public}
    town.start(9, roster=made_up)
    with pytest.raises(DiscreetError, match=r"nodes 1, 2, 3: refused, WrongTerms: node 9 is invited, but is not in"):
        sums_over(Wire(town), roster=made_up).sum(b"", LENGTH)
    assert town.contributed == []


def test_a_node_that_is_not_in_the_roster_is_not_asked(said):
    town = Town(4)
    known = {node: key for node, key in town.roster.items() if node != 4}
    for node in known:
        town.start(node, roster=known)
    wire = Wire(town)
    assert sums_over(wire, roster=known).sum(b"", LENGTH).nodes == (1, 2, 3)
    assert 4 not in {node for node, _, _ in wire.requests}
    assert said == ["node 4 is not in the roster, and is not asked"]


def test_one_node_is_no_secure_sum():
    town = Town(2)
    with pytest.raises(DiscreetError, match="at least 2 nodes"):
        sums_over(Wire(town), roster={1: town.roster[1]})


def test_hosts_sum_mod_2_to_the_64_only():
    with pytest.raises(DiscreetError, match=r"nodes sum mod 2\^64, not mod 2\^32"):
        sums_over(Wire(Town(2)), bits=32).sum(b"", LENGTH)


def test_wrong_shares_at_the_end_lose_the_round_but_not_the_sum(said):
    """Nobody can tell who sent a wrong share; the next round, without it, is right."""
    town = Town(4)
    spoilt = iter([True])

    def spoil(node, step, answer):
        if (node, step) != (1, Step.UNMASK) or not next(spoilt, False):
            return answer
        done = read_answer(answer)
        message = Unmasking.from_bytes(done.message)
        wrong = tuple((owner, bytes([share[0] ^ 1]) + share[1:]) for owner, share in message.seed_shares)
        forged = replace(message, seed_shares=wrong).signed(town.identities[1])
        return replace(done, message=forged.to_bytes()).to_bytes()

    total = sums_over(Wire(town, on_answer=spoil)).sum(b"", LENGTH)
    assert total.nodes == (1, 2, 3, 4)
    assert total.values.tolist() == sum_of(total.nodes)
    assert "MalformedShare" in said[0]


def test_a_node_that_seals_wrong_shares_is_named_by_those_who_cannot_open_them():
    """The server cannot look into sealed shares; whoever opens them can."""
    town = Town(4)

    def spoil(node, step, answer):
        if (node, step) != (3, Step.SHARE):
            return answer
        done = read_answer(answer)
        message = KeyShares.from_bytes(done.message)
        wrong = tuple((receiver, bytes(len(sealed))) for receiver, sealed in message.sealed)
        forged = replace(message, sealed=wrong).signed(town.identities[3])
        return replace(done, message=forged.to_bytes()).to_bytes()

    with pytest.raises(LostRound) as raised:
        sums_over(Wire(town, on_answer=spoil)).sum(b"", LENGTH)
    for node in (1, 2, 4):
        assert f"the share of client 3 for client {node} cannot be opened" in str(raised.value)
    assert {node for node, _ in town.contributed} <= {3}, "nobody else has spent anything"


def test_everybody_or_nobody():
    """Where noise is counted for all, a sum without one is none: it is waited for, and nodes are told so."""
    town = Town(4)
    falls = iter([True])
    wire = Wire(town)
    wire.on_request = lambda node, step, data: None if (node, step) == (2, Step.MASK) and next(falls, False) else data
    total = sums_over(wire, everybody=True).sum(b"", LENGTH)
    assert total.nodes == (1, 2, 3, 4)
    assert total.values.tolist() == sum_of(total.nodes)
    assert {(one.parties, one.quorum) for _, one in town.contributed} == {(4, 4)}
    wire.away = {3}
    with pytest.raises(DiscreetError, match="in order: nodes 1, 2, 4; not to be reached: node 3"):
        sums_over(wire, everybody=True).sum(b"", LENGTH)


def test_with_one_attempt_a_lost_round_is_said_to_be_lost_and_the_next_does_without_the_culprit():
    town = Town(3)
    wire = Wire(town, on_request=lambda node, step, data: None if (node, step) == (2, Step.AGREE) else data)
    sums = sums_over(wire, attempts=1)
    with pytest.raises(LostRound, match="node 2: no answer in time at step AGREE"):
        sums.sum(b"", LENGTH)
    assert len(town.contributed) == 3, "each node has contributed once"
    assert sums.sum(b"", LENGTH).nodes == (1, 3)
    wire.on_request = lambda node, step, data: data
    assert sums.sum(b"", LENGTH).nodes == (1, 2, 3), "it has its chance again after a sum that succeeded"


def test_refusals_that_last_are_no_lost_round():
    with pytest.raises(DiscreetError) as raised:
        sums_over(Wire(Town(3)), attempts=1).sum(b"", LENGTH + 1)
    assert not isinstance(raised.value, LostRound)


def test_nodes_that_fail_in_turn_are_all_left_out():
    town = Town(5)
    wire = Wire(town)

    def fail(node, step, data):
        fails = node in (1, 2) or (node == 3 and wire.rounds() == 2)
        return None if fails and step == Step.SHARE else data

    wire.on_request = fail
    assert sums_over(wire).sum(b"", LENGTH).nodes == (4, 5)
    assert wire.rounds() == 3
