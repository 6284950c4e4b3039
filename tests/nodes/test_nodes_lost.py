"""Rounds over nodes that lose their quorum: begun anew, waited for, or given up in one line."""

import time
from dataclasses import replace

import pytest
from node_hosts import LENGTH, PATIENCE, Town, Wire, sum_of, sums_over

from discreet.aggregation.secure_sum import Step
from discreet.aggregation.secure_sum.sum_messages import KeyShares, Unmasking
from discreet.errors import DiscreetError
from discreet.nodes.requests import read_answer
from discreet.nodes.secure_sums import ATTEMPTS, LostRound


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
    assert {(one.invited, one.quorum, one.known) for _, one in town.contributed} == {((1, 2, 3, 4), 4, 4)}
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


def test_nodes_that_fail_in_turn_are_all_left_out():
    town = Town(5)
    wire = Wire(town)

    def fail(node, step, data):
        fails = node in (1, 2) or (node == 3 and wire.rounds() == 2)
        return None if fails and step == Step.SHARE else data

    wire.on_request = fail
    assert sums_over(wire).sum(b"", LENGTH).nodes == (4, 5)
    assert wire.rounds() == 3
