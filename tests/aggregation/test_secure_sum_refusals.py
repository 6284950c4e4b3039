"""Hostile servers, clients and networks: each is refused by its name, and the round goes on without it."""

from dataclasses import replace
from itertools import product

import pytest
from plain_contributions import plain
from secure_sum_rounds import stop_before, terms_for

from discreet.aggregation.secure_sum import Identity, Step, SumClient
from discreet.aggregation.secure_sum.refusals import (
    Duplicate,
    MalformedMessage,
    MalformedShare,
    OutOfTurn,
    Refused,
    Replay,
    SurvivorsDisagree,
    TooFewClients,
    UnknownClient,
    WrongSignature,
)
from discreet.aggregation.secure_sum.secret_sharing import PRIME, share_to_bytes
from discreet.aggregation.secure_sum.sum_messages import SurvivorAgreement, SurvivorAgreements, Survivors
from discreet.aggregation.secure_sum.sum_terms import survivors_digest

STEPS = list(Step)[:-1]


def next_message(game, u):
    """What client u would send at the step before which the game has stopped."""
    client, answers = game.clients[u], game.answers
    return {
        Step.ADVERTISE: lambda: client.advertise(),
        Step.SHARE: lambda: client.share_keys(answers[Step.ADVERTISE]),
        Step.MASK: lambda: client.mask(answers[Step.SHARE][u], plain(game.vectors[u])),
        Step.AGREE: lambda: client.agree(answers[Step.MASK]),
        Step.UNMASK: lambda: client.unmask(answers[Step.AGREE]),
    }[game.server.step]()


def refuses(game, message, refusal):
    """Check that the server refuses the message by that name, in one line."""
    with pytest.raises(refusal) as caught:
        game.server.receive(message)
    assert type(caught.value) is refusal
    assert "\n" not in str(caught.value)


# What the server refuses


@pytest.mark.parametrize("step", STEPS)
def test_wrong_signatures_are_refused_at_every_step_and_the_right_one_still_counts(step):
    game = stop_before(step)
    good = next_message(game, 1)
    refuses(game, replace(good, signature=bytes(64)), WrongSignature)
    refuses(game, replace(good, signature=good.signature[::-1]), WrongSignature)
    refuses(game, good.signed(game.identities[2]), WrongSignature)
    refuses(game, replace(good, sender=2), WrongSignature)
    game.server.receive(good)
    refuses(game, good, Duplicate)


@pytest.mark.parametrize("step", STEPS)
def test_messages_of_another_round_of_the_same_clients_are_refused(step):
    game = stop_before(step)
    other_terms = replace(game.terms, round_id=b"another round 16")
    other = stop_before(step, terms=other_terms, identities=game.identities)
    refuses(game, next_message(other, 1), Replay)


@pytest.mark.parametrize("step", STEPS[1:])
def test_messages_of_an_earlier_run_under_the_same_name_are_refused(step):
    game = stop_before(step)
    earlier = stop_before(step, terms=game.terms, identities=game.identities)
    refuses(game, next_message(earlier, 1), Replay)


@pytest.mark.parametrize("step", STEPS)
def test_strangers_and_the_dropped_out_are_refused(step):
    game = stop_before(step, silent={4: Step.SHARE}, threshold=3)
    good = next_message(game, 1)
    refuses(game, replace(good, sender=77).signed(Identity.generate(77)), UnknownClient)
    if step > Step.SHARE:
        refuses(game, replace(good, sender=4).signed(game.identities[4]), UnknownClient)


@pytest.mark.parametrize("step", STEPS)
def test_messages_of_other_steps_are_refused(step):
    early = next_message(stop_before(Step.ADVERTISE), 0)
    late = stop_before(Step.DONE)
    game = stop_before(step)
    for message in [early, *(late.sent[other][1] for other in STEPS)]:
        if not isinstance(message, type(late.sent[step][1])):
            refuses(game, message, OutOfTurn)


def test_keys_that_would_stop_all_neighbours_are_refused():
    game = stop_before(Step.ADVERTISE)
    game.server.receive(next_message(game, 1))
    good, copied = next_message(game, 0), game.clients[1]._advertisement.masking_key
    refuses(game, replace(good, masking_key=copied).signed(game.identities[0]), Duplicate)
    refuses(game, replace(good, masking_key=good.sealing_key).signed(game.identities[0]), Duplicate)
    refuses(game, replace(good, masking_key=bytes(32)).signed(game.identities[0]), MalformedMessage)
    game.server.receive(good)


def test_an_input_that_comes_too_late_is_not_added():
    game = stop_before(Step.MASK, threshold=4)
    late = next_message(game, 0)
    for u in range(1, 5):
        game.server.receive(next_message(game, u))
    game.server.survivors()
    refuses(game, late, OutOfTurn)


def test_a_masked_input_of_the_wrong_length_is_refused():
    game = stop_before(Step.MASK)
    good = next_message(game, 0)
    refuses(game, replace(good, residues=good.residues + bytes(4)).signed(game.identities[0]), MalformedMessage)


def test_shares_for_others_than_the_neighbours_are_refused():
    game = stop_before(Step.SHARE)
    good = next_message(game, 0)
    refuses(game, replace(good, sealed=good.sealed[1:]).signed(game.identities[0]), MalformedShare)
    stranger = (*good.sealed[:-1], (9, good.sealed[-1][1]))
    refuses(game, replace(good, sealed=stranger).signed(game.identities[0]), MalformedShare)


def test_shares_that_were_not_asked_for_or_are_no_numbers_are_refused():
    game = stop_before(Step.UNMASK, silent={4: Step.MASK}, threshold=3)
    good = next_message(game, 0)
    assert [owner for owner, _ in good.key_shares] == [4]
    assert [owner for owner, _ in good.seed_shares] == [0, 1, 2, 3]
    for wrong in (
        replace(good, key_shares=()),
        replace(good, seed_shares=good.seed_shares[1:]),
        replace(good, seed_shares=(*good.seed_shares, (4, bytes(33)))),
        replace(good, key_shares=((4, share_to_bytes(PRIME)),)),
        replace(good, key_shares=((4, b"short"),)),
    ):
        refuses(game, wrong.signed(game.identities[0]), MalformedShare)
    game.server.receive(good)


@pytest.mark.parametrize("kind", ["key_shares", "seed_shares"])
def test_a_wrong_share_ends_the_round_instead_of_a_wrong_sum(kind):
    game = stop_before(Step.UNMASK, silent={4: Step.MASK}, threshold=4)
    for u in range(4):
        message = next_message(game, u)
        if u == 2:
            owner, share = getattr(message, kind)[0]
            wrong = share_to_bytes((int.from_bytes(share, "little") + 2**128) % PRIME)
            message = replace(message, **{kind: ((owner, wrong), *getattr(message, kind)[1:])})
            message = message.signed(game.identities[2])
        game.server.receive(message)
    with pytest.raises(MalformedShare):
        game.server.total()


def test_the_server_closes_each_step_once_and_in_order():
    game = stop_before(Step.MASK)
    with pytest.raises(OutOfTurn):
        game.server.advertised()
    with pytest.raises(OutOfTurn):
        game.server.total()
    with pytest.raises(TooFewClients, match="step MASK: 0 clients, but the plan needs 4"):
        game.server.survivors()


def test_an_agreement_to_something_else_is_refused_by_the_server():
    game = stop_before(Step.AGREE)
    other = replace(next_message(game, 0), digest=bytes(32)).signed(game.identities[0])
    refuses(game, other, SurvivorsDisagree)


# What a client refuses


def test_a_client_takes_each_step_once_and_in_order():
    game = stop_before(Step.MASK)
    client = game.clients[0]
    for act in (client.advertise, lambda: client.share_keys(None), lambda: client.agree(None)):
        with pytest.raises(OutOfTurn):
            act()


def listed(game, change):
    advertised = game.answers[Step.ADVERTISE]
    return replace(advertised, advertisements=tuple(change(list(advertised.advertisements))))


def swap(at, **fields):
    return lambda all_: [*all_[:at], replace(all_[at], **fields), *all_[at + 1 :]]


def test_a_client_refuses_keys_that_the_server_has_tampered_with():
    game = stop_before(Step.SHARE)
    client, mine = game.clients[0], game.answers[Step.ADVERTISE].advertisements[0]
    stranger = Identity.generate(8)
    eavesdropper = SumClient(
        replace(game.terms, roster={**game.terms.roster, 1: stranger.public}), replace(stranger, client=1)
    )
    forged = eavesdropper.advertise()
    for change, refusal in (
        (swap(1, sealing_key=forged.sealing_key), WrongSignature),
        (lambda a: [a[0], replace(forged, context=game.terms.digest), *a[2:]], WrongSignature),
        (lambda a: [a[0], forged, *a[2:]], Replay),
        (lambda a: [*a, replace(forged, context=game.terms.digest, sender=8)], UnknownClient),
        (lambda a: a[1:], MalformedMessage),
        (swap(0, masking_key=bytes(32)), MalformedMessage),
        (swap(1, masking_key=mine.masking_key), Duplicate),
        (lambda a: a[:3], TooFewClients),
    ):
        with pytest.raises(refusal):
            client.share_keys(listed(game, change))
    client.share_keys(game.answers[Step.ADVERTISE])


def test_a_client_refuses_the_keys_of_another_round():
    game, other = stop_before(Step.SHARE), stop_before(Step.SHARE)
    with pytest.raises(Replay):
        game.clients[0].share_keys(other.answers[Step.ADVERTISE])


def test_a_key_that_makes_all_secrets_known_is_refused():
    """X25519 with a point of small order gives zero, whatever the other key is."""
    game = stop_before(Step.SHARE)
    bad = replace(game.sent[Step.ADVERTISE][1], sealing_key=bytes(32)).signed(game.identities[1])
    with pytest.raises(MalformedMessage, match="public key of client 1"):
        game.clients[0].share_keys(listed(game, lambda a: [a[0], bad, *a[2:]]))


def test_a_client_refuses_shares_that_were_altered_misdirected_or_left_out():
    game = stop_before(Step.MASK)
    client, right = game.clients[0], game.answers[Step.SHARE][0]
    (one, sealed), *rest = right.sealed
    flipped = bytes([sealed[0] ^ 1]) + sealed[1:]
    for wrong, refusal in (
        (replace(right, sealed=((one, flipped), *rest)), MalformedShare),
        (replace(right, sealed=((one, rest[0][1]), *rest)), MalformedShare),
        (
            replace(
                right, sealed=tuple((v, dict(game.answers[Step.SHARE][3].sealed).get(v, s)) for v, s in right.sealed)
            ),
            MalformedShare,
        ),
        (replace(right, sealed=tuple(rest)), SurvivorsDisagree),
        (replace(right, sharers=right.sharers[1:]), SurvivorsDisagree),
        (replace(right, sharers=(*right.sharers, 9)), UnknownClient),
        (replace(right, sharers=right.sharers[:3], sealed=right.sealed[:2]), TooFewClients),
        (replace(right, context=bytes(32)), Replay),
        (game.answers[Step.SHARE][1], MalformedMessage),
    ):
        with pytest.raises(refusal):
            client.mask(wrong, plain(game.vectors[0]))
    client.mask(right, plain(game.vectors[0]))


def test_a_client_refuses_survivors_that_cannot_be_true():
    game = stop_before(Step.AGREE)
    client, right = game.clients[0], game.answers[Step.MASK]
    for wrong, refusal in (
        (replace(right, clients=(1, 2, 3, 4)), SurvivorsDisagree),
        (replace(right, clients=(0, 1, 2)), TooFewClients),
        (replace(right, clients=(0, 1, 2, 3, 9)), UnknownClient),
        (replace(right, context=bytes(32)), Replay),
    ):
        with pytest.raises(refusal):
            client.agree(wrong)
    client.agree(right)
    with pytest.raises(OutOfTurn):
        client.agree(replace(right, clients=(0, 1, 2, 3)))


def test_a_client_refuses_agreements_that_are_too_few_forged_or_different():
    game = stop_before(Step.UNMASK)
    client, right = game.clients[0], game.answers[Step.AGREE]
    one, *rest = right.agreements
    for wrong, refusal in (
        ((one, *rest[:2]), TooFewClients),
        ((replace(one, signature=bytes(64)), *rest), WrongSignature),
        ((one, replace(rest[0], signature=one.signature), *rest[1:]), WrongSignature),
        ((replace(one, digest=bytes(32)).signed(game.identities[0]), *rest), SurvivorsDisagree),
        ((replace(one, context=bytes(32)), *rest), Replay),
        ((*rest, replace(one, sender=9)), UnknownClient),
    ):
        with pytest.raises(refusal):
            client.unmask(replace(right, agreements=wrong))
    client.unmask(right)
    with pytest.raises(OutOfTurn):
        client.unmask(right)


# Both shares of one client


def shares_gained(told_dropped, colluding, clients=5, threshold=4):
    """How many shares of either kind of client 0 a server gains that tells two stories of who has survived.

    Client 0 is told that it survives. Those in `told_dropped` hear that it dropped out, the others that it did not.
    Colluding clients sign both stories and hand over both of their shares. The server gives every client as many
    fitting signatures as it can find.
    """
    game = stop_before(Step.AGREE, clients, threshold=threshold)
    session = game.terms.session(game.answers[Step.ADVERTISE])
    everybody = tuple(range(clients))
    signed: dict[tuple[int, ...], list[SurvivorAgreement]] = {everybody: [], everybody[1:]: []}
    for story, agreements in signed.items():
        digest = survivors_digest(session, everybody, story)
        for u in everybody:
            if u in colluding:
                agreement = SurvivorAgreement(context=session, sender=u, digest=digest).signed(game.identities[u])
                agreements.append(agreement)
            elif (u in told_dropped) == (story != everybody):
                try:
                    agreements.append(game.clients[u].agree(Survivors(context=session, clients=story)))
                except Refused:
                    continue
    keys, seeds = len(colluding), len(colluding)
    for u in everybody:
        if u in colluding:
            continue
        story = everybody[1:] if u in told_dropped else everybody
        try:
            given = game.clients[u].unmask(SurvivorAgreements(context=session, agreements=tuple(signed[story])))
        except Refused:
            continue
        keys += 0 in dict(given.key_shares)
        seeds += 0 in dict(given.seed_shares)
        assert not set(dict(given.key_shares)) & set(dict(given.seed_shares))
    return keys, seeds


@pytest.mark.parametrize("colluding", [(), (4,), (3, 4)])
def test_no_two_stories_give_the_server_both_secrets_of_a_client(colluding):
    """All ways to tell the honest clients one story or the other: 2t = 8 > n + c for up to two colluding of five."""
    best = 0
    for heard in product([False, True], repeat=4):
        keys, seeds = shares_gained({u for u, dropped in enumerate(heard, 1) if dropped}, colluding)
        assert min(keys, seeds) < 4
        best = max(best, seeds)
    assert best >= 4


def test_one_colluding_client_more_than_the_condition_allows_would_break_it():
    keys, seeds = shares_gained({1}, (2, 3, 4))
    assert keys >= 4
    assert seeds >= 4


def test_signatures_of_two_stories_are_told_apart():
    game = stop_before(Step.AGREE, threshold=3)
    session = game.terms.session(game.answers[Step.ADVERTISE])
    stories = {u: (0, 1, 2, 3, 4) if u < 3 else (0, 2, 3, 4) for u in (0, 2, 3, 4)}
    signed = tuple(game.clients[u].agree(Survivors(context=session, clients=story)) for u, story in stories.items())
    for u in stories:
        with pytest.raises(SurvivorsDisagree, match="another list of survivors"):
            game.clients[u].unmask(SurvivorAgreements(context=session, agreements=signed))


def test_terms_told_differently_do_not_meet():
    """A client that was given another threshold signs for other terms, and the server notices."""
    terms, identities = terms_for(4, threshold=3)
    other = replace(terms, plan=replace(terms.plan, threshold=4))
    game = stop_before(Step.ADVERTISE, terms=terms, identities=identities)
    refuses(game, SumClient(other, identities[0]).advertise(), Replay)
    assert terms.digest == replace(terms).digest
