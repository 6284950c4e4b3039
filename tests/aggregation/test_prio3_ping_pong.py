"""The ping-pong of leader and helper: the true sum, and rejection of every message that is not in its place."""

from __future__ import annotations

import random

import pytest
from dap_lies import with_false_part

from discreet.aggregation.prio3 import NONCE_SIZE, InvalidReportError, Prio3, VerifierInput
from discreet.aggregation.prio3.ping_pong import helper_init, leader_continued, leader_init

CTX, KEY = b"ping-pong", bytes(range(32))


def report_shares(prio3: Prio3, measurements: list[int]) -> tuple[list[VerifierInput], list[VerifierInput]]:
    chance = random.Random(2)
    leader, helper = [], []
    for measurement in measurements:
        nonce = chance.randbytes(NONCE_SIZE)
        public, inputs = prio3.shard(CTX, measurement, nonce, chance.randbytes(prio3.rand_size))
        leader.append(VerifierInput(nonce, public, inputs[0]))
        helper.append(VerifierInput(nonce, public, inputs[1]))
    return leader, helper


@pytest.mark.parametrize(
    ("prio3", "result"), [(Prio3.count(), 2), (Prio3.histogram(2, 2), [1, 2])], ids=["plain", "joint randomness"]
)
def test_a_job(prio3: Prio3, result: object) -> None:
    leader, helper = report_shares(prio3, [1, 0, 1])
    sent = leader_init(prio3, KEY, CTX, leader)
    answers = helper_init(prio3, KEY, CTX, helper, [first.outbound if first else b"" for first in sent], threads=2)
    totals = [prio3.agg_init(), prio3.agg_init()]
    for first, answer in zip(sent, answers, strict=True):
        assert first is not None
        assert answer is not None
        assert first.outbound[:5] == b"\0" + (prio3.verifier_share_size).to_bytes(4, "big")
        assert answer.outbound[:5] == b"\2" + (prio3.verifier_message_size).to_bytes(4, "big")
        totals[0] = prio3.agg_update(totals[0], leader_continued(prio3, first.verify_state, answer.outbound))
        totals[1] = prio3.agg_update(totals[1], answer.out_share)
    assert prio3.unshard(totals, 3) == result


def test_messages_that_are_out_of_place() -> None:
    prio3 = Prio3.histogram(2, 2)
    leader, helper = report_shares(prio3, [1] * 8)
    leader[7] = VerifierInput(leader[7].nonce, leader[7].public_share, b"")
    sent = leader_init(prio3, KEY, CTX, leader)
    assert sent[7] is None
    outbound = [first.outbound if first else b"" for first in sent]
    outbound[0] = b"\1" + outbound[0][1:]
    outbound[1] = outbound[1][:-1]
    outbound[2] = outbound[2] + b"\0"
    outbound[3] = b""
    outbound[4] = outbound[5]
    helper[6] = VerifierInput(helper[6].nonce, helper[6].public_share, bytes(64))
    answers = helper_init(prio3, KEY, CTX, helper, outbound)
    assert [answer is not None for answer in answers] == [False] * 5 + [True, False, False]
    first, answer = sent[5], answers[5]
    assert first is not None
    assert answer is not None
    for wrong in (
        b"",
        first.outbound,
        answer.outbound[:-1],
        answer.outbound + b"\0",
        b"\2" + bytes(4),
        b"\2\0\0\0\x20" + bytes(32),
    ):
        with pytest.raises(InvalidReportError):
            leader_continued(prio3, first.verify_state, wrong)


def test_a_public_share_that_differs_between_aggregators_is_rejected_by_the_helper() -> None:
    prio3 = Prio3.histogram(2, 2)
    leader, helper = report_shares(prio3, [1])
    other = bytes(32) + helper[0].public_share[32:]
    sent = leader_init(prio3, KEY, CTX, leader)
    assert sent[0] is not None
    tampered = [VerifierInput(helper[0].nonce, other, helper[0].input_share)]
    assert helper_init(prio3, KEY, CTX, tampered, [sent[0].outbound]) == [None]


INSTANCES = {
    "count": (Prio3.count(), 1),
    "sum": (Prio3.sum(7), 7),
    "sum vector": (Prio3.sum_vec(3, 7, 2), [7, 0, 3]),
    "three proofs": (Prio3.sum_vec_with_multiproof(3, 7, 2), [7, 0, 3]),
    "histogram": (Prio3.histogram(4, 2), 1),
    "multihot": (Prio3.multihot_count_vec(4, 2, 2), [1, 0, 0, 1]),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_whoever_finds_another_part_than_its_own_in_the_public_share_rejects(name: str) -> None:
    """Each looks for its own part: what is wrong with the other's is the other's to find."""
    prio3, measurement = INSTANCES[name]
    leader, helper = report_shares(prio3, [measurement] * 3)
    parts = [None, 0, 1] if prio3.public_share_size else [None] * 3

    def tampered(shares: list[VerifierInput]) -> list[VerifierInput]:
        made = []
        for part, one in zip(parts, shares, strict=True):
            public = bytearray(one.public_share)
            if part is not None:
                public[32 * part + 31] ^= 1
            made.append(VerifierInput(one.nonce, bytes(public), one.input_share))
        return made

    honest = leader_init(prio3, KEY, CTX, leader)
    assert None not in honest
    own = [first is not None for first in leader_init(prio3, KEY, CTX, tampered(leader))]
    assert own == [part != 0 for part in parts]
    sent = [first.outbound for first in honest if first]
    assert None not in helper_init(prio3, KEY, CTX, helper, sent)
    answers = helper_init(prio3, KEY, CTX, tampered(helper), sent)
    assert [answer is None for answer in answers] == [part is not None for part in parts]


@pytest.mark.parametrize("prio3", [Prio3.sum_vec(3, 7, 3), Prio3.sum_vec_with_multiproof(3, 7, 3)], ids=str)
def test_a_false_part_of_the_helper_is_found_before_the_helper_counts(prio3: Prio3) -> None:
    """All values at their largest make a proof of zeros valid, whatever randomness the leader has derived."""
    nonce, chance = bytes(NONCE_SIZE), random.Random(4)
    public, shares = prio3.shard(CTX, [7] * 3, nonce, chance.randbytes(prio3.rand_size))
    public, shares = with_false_part(prio3, CTX, public, shares)
    leader, helper = (VerifierInput(nonce, public, share) for share in shares)
    first = leader_init(prio3, KEY, CTX, [leader])[0]
    assert first is not None
    assert helper_init(prio3, KEY, CTX, [helper], [first.outbound]) == [None]
