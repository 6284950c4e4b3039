"""Rounds of a secure sum that stop where a test wants to look."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from plain_contributions import NOTHING, plain

from discreet.aggregation.secure_sum import Identity, Step, SumClient, SumPlan, SumServer, SumTerms
from discreet.aggregation.secure_sum.keys import pair_mask_key

ROUND_ID = bytes(range(16))


@dataclass
class Stopped:
    """A round just before a step: the parties, and everything that was sent."""

    terms: SumTerms
    identities: dict[int, Identity]
    clients: dict[int, SumClient]
    server: SumServer
    vectors: dict[int, Any]
    sent: dict[Step, dict[int, Any]] = field(default_factory=dict)
    answers: dict[Step, Any] = field(default_factory=dict)
    pair_keys: dict[tuple[int, int], bytes] = field(default_factory=dict)


def terms_for(clients, *, threshold=None, plan=None, length=3, bits=32, round_id=ROUND_ID):
    identities = {u: Identity.generate(u) for u in range(clients)}
    roster = {u: identity.public for u, identity in identities.items()}
    return SumTerms(round_id, roster, plan or SumPlan.complete(clients, threshold), length, bits), identities


def stop_before(step, clients=5, *, silent=None, vectors=None, identities=None, terms=None, **settings):
    """Play a round up to `step`, without the clients that are silent from some step on."""
    if terms is None:
        terms, identities = terms_for(clients, **settings)
    if vectors is None:
        vectors = {u: np.arange(terms.length) * (u + 1) - 5 for u in terms.roster}
    parties = {u: SumClient(terms, identities[u]) for u in terms.roster}
    game = Stopped(terms, identities, parties, SumServer(terms, NOTHING), vectors)
    acts = {
        Step.ADVERTISE: (lambda u: parties[u].advertise(), game.server.advertised),
        Step.SHARE: (lambda u: parties[u].share_keys(game.answers[Step.ADVERTISE]), game.server.deliveries),
        Step.MASK: (lambda u: parties[u].mask(game.answers[Step.SHARE][u], plain(vectors[u])), game.server.survivors),
        Step.AGREE: (lambda u: parties[u].agree(game.answers[Step.MASK]), game.server.agreements),
        Step.UNMASK: (lambda u: parties[u].unmask(game.answers[Step.AGREE]), game.server.total),
    }
    for now in list(acts)[:step]:
        act, answer = acts[now]
        here = [u for u in terms.roster if now < (silent or {}).get(u, Step.DONE)]
        if now == Step.MASK:
            game.pair_keys = secret_pair_keys(game)
        game.sent[now] = {u: act(u) for u in here}
        for message in game.sent[now].values():
            game.server.receive(message)
        game.answers[now] = answer()
    return game


def secret_pair_keys(game):
    """The mask keys of all pairs that have exchanged shares, which no server would see."""
    public = {one.sender: one.masking_key for one in game.answers[Step.ADVERTISE].advertisements}
    session = game.terms.session(game.answers[Step.ADVERTISE])
    return {
        (u, v): pair_mask_key(game.clients[u]._masking, u, v, public[v], session)
        for u in public
        for v in public
        if u < v
    }


def residues(message, bits=32):
    return np.frombuffer(message.residues, f"<u{bits // 8}")
