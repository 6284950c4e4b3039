"""Prio3 from measurement to result: the true sum for any number of aggregators, and no way in for what is wrong."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregation.prio3 import (
    NONCE_SIZE,
    InvalidReportError,
    Prio3,
    VerifierInput,
    best_chunk_length,
    verifier_shares_to_message_batch,
    verify_init_batch,
)
from discreet.aggregation.prio3 import report_rows as rows
from discreet.aggregation.prio3.circuits import SumVec
from discreet.aggregation.prio3.fields import FIELD64, FIELD128
from discreet.aggregation.prio3.flp import Flp
from discreet.errors import DiscreetError

CTX, KEY = b"a test", bytes(range(32))


def bits(count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 1), min_size=count, max_size=count)


@st.composite
def instances(draw: st.DrawFn) -> tuple[Prio3, st.SearchStrategy[Any]]:
    shares, length, chunk = draw(st.integers(2, 5)), draw(st.integers(1, 20)), draw(st.integers(1, 9))
    largest = draw(st.one_of(st.integers(1, 300), st.sampled_from([2**32, 2**62 - 1, 2**63, 2**63 + 5])))
    numbers = st.lists(st.integers(0, largest), min_size=length, max_size=length)
    weight = draw(st.integers(1, length))
    choices: list[tuple[Prio3, st.SearchStrategy[Any]]] = [
        (Prio3.count(shares), st.integers(0, 1)),
        (Prio3.sum(largest, shares), st.integers(0, largest)),
        (Prio3.sum_vec(length, largest, chunk, shares), numbers),
        (Prio3.sum_vec_with_multiproof(length, largest, chunk, shares, draw(st.integers(3, 5))), numbers),
        (Prio3.sum_vec_with_multiproof(length, largest, chunk, shares, 2, FIELD128), numbers),
        (Prio3.histogram(length, chunk, shares), st.integers(0, length - 1)),
        (
            Prio3.multihot_count_vec(length, weight, chunk, shares),
            bits(length).map(
                lambda entries: [one and sum(entries[: i + 1]) <= weight for i, one in enumerate(entries)]
            ),
        ),
        (Prio3.higher_degree(shares), st.integers(0, 2)),
    ]
    return draw(st.sampled_from(choices))


def verified(prio3: Prio3, nonce: bytes, public: bytes, inputs: list[bytes]) -> list[Any]:
    """All aggregators' output shares."""
    first = [prio3.verify_init(KEY, CTX, agg, nonce, public, share) for agg, share in enumerate(inputs)]
    message = prio3.verifier_shares_to_message(CTX, [share for _, share in first])
    return [prio3.verify_next(state, message) for state, _ in first]


def true_sum(prio3: Prio3, measurements: list[Any]) -> Any:
    if type(prio3.circuit).__name__ == "Histogram":
        return [measurements.count(bucket) for bucket in range(prio3.circuit.output_len)]
    if isinstance(measurements[0], list):
        return [sum(column) for column in zip(*measurements, strict=True)]
    return sum(measurements)


@settings(deadline=None, max_examples=80)
@given(instance=instances(), data=st.data(), seed=st.integers(0, 2**32))
def test_the_sum_is_the_true_sum(
    instance: tuple[Prio3, st.SearchStrategy[Any]], data: st.DataObject, seed: int
) -> None:
    prio3, values = instance
    measurements = data.draw(st.lists(values, min_size=1, max_size=3))
    chance = random.Random(seed)
    totals = [prio3.agg_init() for _ in range(prio3.shares)]
    for measurement in measurements:
        nonce = chance.randbytes(NONCE_SIZE)
        public, inputs = prio3.shard(CTX, measurement, nonce, chance.randbytes(prio3.rand_size))
        assert len(public) == prio3.public_share_size
        assert [len(share) for share in inputs] == [prio3.input_share_size(agg) for agg in range(prio3.shares)]
        outs = verified(prio3, nonce, public, inputs)
        totals = [prio3.agg_update(total, out) for total, out in zip(totals, outs, strict=True)]
    sent = [prio3.decode_agg_share(prio3.encode_agg_share(total)) for total in totals]
    limit = prio3.circuit.field.modulus
    truth = true_sum(prio3, measurements)
    truth = [number % limit for number in truth] if isinstance(truth, list) else truth % limit
    assert prio3.unshard(sent, len(measurements)) == truth


@settings(deadline=None, max_examples=150)
@given(instance=instances(), data=st.data())
def test_a_changed_byte_is_refused_or_changes_nothing(
    instance: tuple[Prio3, st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    prio3, values = instance
    chance = random.Random(5)
    nonce = chance.randbytes(NONCE_SIZE)
    measurement = data.draw(values)
    public, inputs = prio3.shard(CTX, measurement, nonce, chance.randbytes(prio3.rand_size))
    first = [prio3.verify_init(KEY, CTX, agg, nonce, public, share) for agg, share in enumerate(inputs)]
    sent = [share for _, share in first]
    message = prio3.verifier_shares_to_message(CTX, sent)
    target = data.draw(st.sampled_from(["nonce", "public", "message", *range(prio3.shares), "verifier"]))

    def spoil(content: bytes) -> bytes:
        if not content:
            return content
        place, mask = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(1, 255))
        return content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :]

    try:
        if target == "verifier":
            agg = data.draw(st.integers(0, prio3.shares - 1))
            changed = prio3.verifier_shares_to_message(CTX, [*sent[:agg], spoil(sent[agg]), *sent[agg + 1 :]])
            outs = [prio3.verify_next(state, changed) for state, _ in first]
        elif target == "message":
            outs = [prio3.verify_next(state, spoil(message)) for state, _ in first]
        elif target == "nonce":
            outs = verified(prio3, spoil(nonce), public, inputs)
        elif target == "public":
            outs = verified(prio3, nonce, spoil(public), inputs)
        else:
            place = int(target)
            outs = verified(prio3, nonce, public, [*inputs[:place], spoil(inputs[place]), *inputs[place + 1 :]])
    except InvalidReportError:
        return
    assert prio3.unshard(outs, 1) == true_sum(prio3, [measurement])
    assert target in ("nonce", "public", "message")


@settings(deadline=None, max_examples=60)
@given(instance=instances(), data=st.data())
def test_wrong_sizes_are_errors_of_one_line(
    instance: tuple[Prio3, st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    prio3, values = instance
    nonce, rand = bytes(NONCE_SIZE), bytes(prio3.rand_size)
    public, inputs = prio3.shard(CTX, data.draw(values), nonce, rand)
    state, share = prio3.verify_init(KEY, CTX, 0, nonce, public, inputs[0])

    def resized(content: bytes) -> bytes:
        return data.draw(st.sampled_from([content[:-1], content + b"\0", content * 2 + b"x", b"" if content else b"0"]))

    other = resized(content=b"0" * 16)
    attempts = [
        lambda: prio3.shard(CTX, 0, other, rand),
        lambda: prio3.shard(CTX, 0, nonce, resized(rand)),
        lambda: prio3.verify_init(KEY, CTX, 0, other, public, inputs[0]),
        lambda: prio3.verify_init(resized(KEY), CTX, 0, nonce, public, inputs[0]),
        lambda: prio3.verify_init(KEY, CTX, 0, nonce, public + b"\0", inputs[0]),
        lambda: prio3.verify_init(KEY, CTX, 0, nonce, public, resized(inputs[0])),
        lambda: prio3.verify_init(KEY, CTX, 1, nonce, public, resized(inputs[1])),
        lambda: prio3.verify_init(KEY, CTX, prio3.shares, nonce, public, inputs[1]),
        lambda: prio3.verify_init(KEY, CTX, -1, nonce, public, inputs[1]),
        lambda: prio3.verifier_shares_to_message(CTX, [share] * (prio3.shares - 1)),
        lambda: prio3.verifier_shares_to_message(CTX, [resized(share)] * prio3.shares),
        lambda: prio3.verify_next(state, b"\0" * (prio3.verifier_message_size + 1)),
        lambda: prio3.decode_agg_share(resized(prio3.encode_agg_share(state.out_share))),
        lambda: prio3.decode_verify_state(resized(prio3.encode_verify_state(state))),
        lambda: prio3.unshard([state.out_share] * (prio3.shares + 1), 1),
    ]
    for attempt in attempts:
        with pytest.raises(DiscreetError) as caught:
            attempt()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("prio3", "measurement"),
    [
        (Prio3.count(), 2),
        (Prio3.count(), -1),
        (Prio3.count(), 0.5),
        (Prio3.count(), None),
        (Prio3.sum(10), 11),
        (Prio3.sum(10), "3"),
        (Prio3.sum(2**63 + 1), 2**63 + 2),
        (Prio3.sum_vec(2, 5, 1), [1]),
        (Prio3.sum_vec(2, 5, 1), [1, 6]),
        (Prio3.sum_vec(2, 5, 1), [1, 1.5]),
        (Prio3.sum_vec(2, 5, 1), [[1], [2, 3]]),
        (Prio3.sum_vec(2, 5, 1), 3),
        (Prio3.histogram(4, 2), 4),
        (Prio3.histogram(4, 2), -1),
        (Prio3.multihot_count_vec(4, 2, 2), [1, 1, 1, 0]),
        (Prio3.multihot_count_vec(4, 2, 2), [2, 0, 0, 0]),
    ],
)
def test_invalid_measurements_are_not_sharded(prio3: Prio3, measurement: Any) -> None:
    with pytest.raises(DiscreetError, match="a measurement has integers from 0 to"):
        prio3.shard(CTX, measurement, bytes(NONCE_SIZE), bytes(prio3.rand_size))


@pytest.mark.parametrize(
    ("prio3", "encoded"),
    [
        (Prio3.count(), [2]),
        (Prio3.count(), [-1]),
        (Prio3.sum(100), [2, 0, 0, 0, 0, 0, 0]),
        (Prio3.sum_vec(2, 3, 2), [0, 1, 0, 5]),
        (Prio3.sum_vec_with_multiproof(2, 3, 2), [0, 1, 0, 5]),
        (Prio3.histogram(4, 2), [1, 1, 0, 0]),
        (Prio3.histogram(4, 2), [0, 0, 0, 0]),
        (Prio3.histogram(4, 2), [2, -1, 0, 0]),
        (Prio3.multihot_count_vec(3, 1, 2), [1, 1, 0, 1]),
        (Prio3.multihot_count_vec(3, 1, 2), [1, 1, 0, 2]),
        (Prio3.higher_degree(), [3]),
    ],
)
def test_a_client_that_lies_is_refused(prio3: Prio3, encoded: list[int]) -> None:
    """The client follows the protocol in all but the measurement."""
    chance = np.random.default_rng(1)
    meas = prio3.circuit.field.from_ints(encoded)[None]
    nonce = chance.integers(0, 256, (1, NONCE_SIZE), np.uint8)
    public, inputs = rows.shard(prio3, CTX, meas, nonce, chance.integers(0, 256, (1, prio3.rand_size), np.uint8))
    with pytest.raises(InvalidReportError, match="the proof fails"):
        verified(prio3, nonce.tobytes(), public.tobytes(), [share.tobytes() for share in inputs])


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_is_the_reports_one_by_one(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    prio3 = Prio3.histogram(10, 4)
    monkeypatch.setattr("discreet.aggregation.prio3.batch._CHUNK_BYTES", 3 * prio3.input_share_size(0))
    chance = random.Random(3)
    reports = []
    for number in range(11):
        nonce = chance.randbytes(NONCE_SIZE)
        reports.append((nonce, *prio3.shard(CTX, number % 10, nonce, chance.randbytes(prio3.rand_size))))
    shares = [[VerifierInput(nonce, public, inputs[agg]) for nonce, public, inputs in reports] for agg in range(2)]
    shares[0][2] = VerifierInput(shares[0][2].nonce, shares[0][2].public_share, b"short")
    shares[1][4] = VerifierInput(b"", shares[1][4].public_share, shares[1][4].input_share)
    overflow = b"\xff" * 16 + shares[0][6].input_share[16:]
    shares[0][6] = VerifierInput(shares[0][6].nonce, shares[0][6].public_share, overflow)
    shares[1][8] = VerifierInput(shares[1][8].nonce, shares[1][8].public_share, bytes(64))
    first = [verify_init_batch(prio3, KEY, CTX, agg, shares[agg], threads) for agg in range(2)]
    for agg in range(2):
        for share, done in zip(shares[agg], first[agg], strict=True):
            try:
                state, sent = prio3.verify_init(KEY, CTX, agg, share.nonce, share.public_share, share.input_share)
            except InvalidReportError:
                assert done is None
                continue
            assert done is not None
            assert done[1] == sent
            assert prio3.encode_verify_state(done[0]) == prio3.encode_verify_state(state)
    both = [[done[1] if done else b"" for done in pair] for pair in zip(*first, strict=True)]
    both[10] = both[10][:1]
    messages = verifier_shares_to_message_batch(prio3, CTX, both, threads)
    refused = [number for number, message in enumerate(messages) if message is None]
    assert refused == [2, 4, 6, 8, 10]
    assert messages[0] == prio3.verifier_shares_to_message(CTX, both[0])
    assert verify_init_batch(prio3, KEY, CTX, 0, [], threads) == []


def test_states_outlive_a_process() -> None:
    prio3 = Prio3.sum_vec(3, 5, 2)
    nonce = bytes(NONCE_SIZE)
    public, inputs = prio3.shard(CTX, [1, 2, 3], nonce, bytes(prio3.rand_size))
    first = [prio3.verify_init(KEY, CTX, agg, nonce, public, share) for agg, share in enumerate(inputs)]
    message = prio3.verifier_shares_to_message(CTX, [share for _, share in first])
    states = [prio3.decode_verify_state(prio3.encode_verify_state(state)) for state, _ in first]
    assert prio3.unshard([prio3.verify_next(state, message) for state in states], 1) == [1, 2, 3]


def test_context_key_and_nonce_bind_a_report() -> None:
    prio3 = Prio3.histogram(4, 2)
    nonce = bytes(NONCE_SIZE)
    public, inputs = prio3.shard(CTX, 1, nonce, bytes(prio3.rand_size))
    other = [prio3.verify_init(KEY, b"another", agg, nonce, public, share)[1] for agg, share in enumerate(inputs)]
    with pytest.raises(InvalidReportError):
        prio3.verifier_shares_to_message(b"another", other)
    keys = KEY, bytes(32)
    mixed = [prio3.verify_init(key, CTX, agg, nonce, public, inputs[agg])[1] for agg, key in enumerate(keys)]
    with pytest.raises(InvalidReportError):
        prio3.verifier_shares_to_message(CTX, mixed)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Prio3.count(1),
        lambda: Prio3.count(256),
        lambda: Prio3.sum(0),
        lambda: Prio3.sum(FIELD64.modulus),
        lambda: Prio3.sum_vec(0, 1, 1),
        lambda: Prio3.sum_vec(1, FIELD128.modulus, 1),
        lambda: Prio3.histogram(3, 0),
        lambda: Prio3.multihot_count_vec(3, 4, 1),
        lambda: Prio3.sum_vec_with_multiproof(3, 1, 1, proofs=2),
        lambda: Prio3.sum_vec_with_multiproof(3, 1, 1, proofs=256),
    ],
)
def test_parameters_are_checked(make: Any) -> None:
    with pytest.raises(DiscreetError):
        make()


@pytest.mark.parametrize("meas_len", [1, 2, 3, 10, 100, 300, 1000, 5000])
def test_the_best_chunk_length_gives_the_shortest_proof(meas_len: int) -> None:
    shortest = min(Prio3.histogram(meas_len, chunk).circuit.proof_len for chunk in range(1, meas_len + 1))
    assert Prio3.histogram(meas_len, best_chunk_length(meas_len)).circuit.proof_len == shortest


QUERIED = [
    Prio3.count(),
    Prio3.sum(5),
    Prio3.histogram(4, 2),
    Prio3.sum_vec_with_multiproof(2, 3, 2),
    Prio3.higher_degree(),
]


@pytest.mark.parametrize("prio3", QUERIED, ids=lambda prio3: type(prio3.circuit).__name__)
def test_a_query_at_a_point_of_the_proof_is_unsafe(prio3: Prio3) -> None:
    """There a wire's polynomial is an input of the circuit itself, and the verifier share would tell it."""
    circuit, field = prio3.circuit, prio3.circuit.field
    root = field.nth_root(circuit.wire_poly_len)
    points = [pow(root, power, field.modulus) for power in range(circuit.wire_poly_len)]
    points += [3, 5]
    rows_of = len(points)
    for proof in range(prio3.proofs):
        rand = field.from_ints([7] * rows_of * prio3.proofs * circuit.query_rand_len)
        rand = rand.reshape(rows_of, prio3.proofs, circuit.query_rand_len, *field.element)
        rand[:, proof, -1] = field.from_ints(points)
        shape = rows_of, prio3.proofs
        _, safe = prio3.flp.query(
            field.zeros(rows_of, circuit.meas_len),
            field.zeros(*shape, circuit.proof_len),
            rand,
            field.zeros(*shape, circuit.joint_rand_len),
            2,
        )
        assert safe.tolist() == [False] * circuit.wire_poly_len + [True] * 2


@pytest.mark.parametrize("prio3", QUERIED, ids=lambda prio3: type(prio3.circuit).__name__)
def test_a_report_whose_query_is_unsafe_is_refused(prio3: Prio3, monkeypatch: pytest.MonkeyPatch) -> None:
    query = Flp.query

    def unsafe(*given: Any) -> Any:
        verifiers, safe = query(*given)
        return verifiers, ~safe

    measurement = [1, 0] if isinstance(prio3.circuit, SumVec) else 1
    public, inputs = prio3.shard(CTX, measurement, bytes(NONCE_SIZE), bytes(prio3.rand_size))
    monkeypatch.setattr(Flp, "query", unsafe)
    for agg, share in enumerate(inputs):
        with pytest.raises(InvalidReportError):
            prio3.verify_init(KEY, CTX, agg, bytes(NONCE_SIZE), public, share)
        report = VerifierInput(bytes(NONCE_SIZE), public, share)
        assert verify_init_batch(prio3, KEY, CTX, agg, [report]) == [None]
