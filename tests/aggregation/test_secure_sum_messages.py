"""Messages as bytes: there and back, and no garbage gets in."""

import os
from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_contributions import plain
from secure_sum_rounds import stop_before

from discreet.aggregation.secure_sum import Step
from discreet.aggregation.secure_sum import sum_messages as kinds
from discreet.aggregation.secure_sum.refusals import Duplicate, MalformedMessage, Refused

KINDS = [
    kinds.Advertisement,
    kinds.Advertised,
    kinds.KeyShares,
    kinds.Delivery,
    kinds.MaskedInput,
    kinds.Survivors,
    kinds.SurvivorAgreement,
    kinds.SurvivorAgreements,
    kinds.Unmasking,
]


@pytest.fixture(scope="module")
def sent():
    """One message of each kind, from a round in which client 2 drops out."""
    game = stop_before(Step.DONE, 5, threshold=3, silent={2: Step.MASK})
    ours = [game.sent[step][0] for step in list(Step)[:-1]]
    theirs = [
        game.answers[Step.ADVERTISE],
        game.answers[Step.SHARE][0],
        game.answers[Step.MASK],
        game.answers[Step.AGREE],
    ]
    return {type(message): message for message in ours + theirs}


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(sent, kind):
    data = sent[kind].to_bytes()
    assert kind.from_bytes(data) == sent[kind]
    assert kind.from_bytes(data).to_bytes() == data
    assert kind.from_bytes(bytearray(data)) == sent[kind]


def test_the_round_works_over_bytes():
    """Every message through its bytes, in both directions."""
    game = stop_before(Step.ADVERTISE, 4, threshold=3)
    server, clients = game.server, game.clients

    def carry(message):
        return type(message).from_bytes(message.to_bytes())

    for client in clients.values():
        server.receive(carry(client.advertise()))
    advertised = carry(server.advertised())
    for client in clients.values():
        server.receive(carry(client.share_keys(advertised)))
    deliveries = server.deliveries()
    for u in (0, 1, 3):
        server.receive(carry(clients[u].mask(carry(deliveries[u]), plain(game.vectors[u]))))
    survivors = carry(server.survivors())
    for u in (0, 1, 3):
        server.receive(carry(clients[u].agree(survivors)))
    agreements = carry(server.agreements())
    for u in (0, 1, 3):
        server.receive(carry(clients[u].unmask(agreements)))
    assert server.total().values.tolist() == sum(game.vectors[u] for u in (0, 1, 3)).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_messages_cannot_be_changed(sent, kind):
    with pytest.raises(FrozenInstanceError):
        setattr(sent[kind], fields(kind)[0].name, b"")
    assert isinstance(hash(sent[kind]), int)


@pytest.mark.parametrize("kind", KINDS)
def test_every_shorter_or_longer_message_is_refused(sent, kind):
    data = sent[kind].to_bytes()
    for length in range(len(data)):
        with pytest.raises(MalformedMessage):
            kind.from_bytes(data[:length])
    with pytest.raises(MalformedMessage, match="left over"):
        kind.from_bytes(data + b"\0")


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_formats_and_beginnings_are_refused(sent, kind):
    data = sent[kind].to_bytes()
    with pytest.raises(MalformedMessage, match="not a message"):
        kind.from_bytes(b"Dr" + data[2:])
    with pytest.raises(MalformedMessage, match="format 2"):
        kind.from_bytes(data[:2] + b"\2" + data[3:])
    for other in KINDS:
        if other is not kind:
            with pytest.raises(MalformedMessage, match="kind"):
                other.from_bytes(data)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(KINDS), st.binary(max_size=300), st.booleans())
def test_garbage_is_refused_and_nothing_else_happens(kind, garbage, with_head):
    data = b"Ds\1" + bytes([kind.KIND]) + bytes(32) + garbage if with_head else garbage
    try:
        message = kind.from_bytes(data)
    except Refused:
        return
    assert message.to_bytes() == data


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(KINDS), st.data())
def test_damaged_messages_are_refused_or_read_as_they_stand(sent, kind, data):
    damaged = bytearray(sent[kind].to_bytes())
    for at in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=4)):
        damaged[at] = data.draw(st.integers(0, 255))
    try:
        message = kind.from_bytes(bytes(damaged))
    except Refused:
        return
    assert message.to_bytes() == bytes(damaged)


def test_a_length_that_promises_gigabytes_is_refused_at_once(sent):
    data = bytearray(sent[kinds.Survivors].to_bytes())
    data[36:40] = b"\xff" * 4
    with pytest.raises(MalformedMessage, match="too early"):
        kinds.Survivors.from_bytes(bytes(data))


def test_lists_name_each_client_once_and_in_order():
    context = os.urandom(32)
    with pytest.raises(Duplicate, match="client 3 is named twice among the survivors"):
        kinds.Survivors(context=context, clients=(1, 3, 3))
    with pytest.raises(MalformedMessage, match="ascending"):
        kinds.Survivors(context=context, clients=(3, 1))
    with pytest.raises(MalformedMessage, match="context"):
        kinds.Survivors(context=b"", clients=(1,))


def test_the_bytes_of_a_round_are_those_of_the_formula():
    """n clients, m survivors, k neighbours, d entries of 4 bytes: as docs/explanation/secure-sum.md says."""
    n, m, k, d = 6, 5, 5, 1000
    game = stop_before(Step.DONE, n, threshold=4, length=d, silent={2: Step.MASK})
    answers = dict(game.answers) | {Step.SHARE: game.answers[Step.SHARE][0]}
    del answers[Step.UNMASK]
    assert sum(len(game.sent[step][0].to_bytes()) for step in game.sent) == 4 * d + 123 * k + 701
    assert sum(len(message.to_bytes()) for message in answers.values()) == 136 * n + 104 * m + 86 * k + 168
