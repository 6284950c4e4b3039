"""A secure sum from beginning to end in one process: the protocol on one page, and what tests and simulations call."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.secure_sum.client import Client
from discreet.aggregation.secure_sum.keys import Identity
from discreet.aggregation.secure_sum.plan import Plan
from discreet.aggregation.secure_sum.server import Server, Sum
from discreet.aggregation.secure_sum.terms import ROUND_ID_BYTES, Step, Terms

Integers = NDArray[np.integer[Any]]


def secure_sum(
    vectors: Sequence[Integers],
    threshold: int | None = None,
    *,
    bits: int = 32,
    dropouts: Mapping[int, Step] | None = None,
) -> Sum:
    """The sum of integer vectors mod 2^bits, by the whole protocol, with new identities for all clients.

    Args:
        vectors: the input of client 0, 1, …; integers, all of one length.
        threshold: how many clients must stay to the end, everybody being everybody's neighbour; if not given,
            `Plan.default` decides.
        bits: 16, 32 or 64.
        dropouts: the step at which a client falls silent, for those that do.

    Raises:
        TooFewClients: if too many drop out.
    """
    count = len(vectors)
    plan = Plan.default(count) if threshold is None else Plan.complete(count, threshold)
    identities = {client: Identity.generate(client) for client in range(count)}
    roster = {client: identity.public for client, identity in identities.items()}
    terms = Terms(secrets.token_bytes(ROUND_ID_BYTES), roster, plan, len(vectors[0]), bits)
    return run_round(terms, identities, dict(enumerate(vectors)), dropouts)


def run_round(
    terms: Terms,
    identities: Mapping[int, Identity],
    vectors: Mapping[int, Integers],
    dropouts: Mapping[int, Step] | None = None,
) -> Sum:
    """One round by its terms, between all clients of the roster and the server."""
    silent_from = dropouts or {}
    server = Server(terms)
    clients = {u: Client(terms, identities[u]) for u in terms.roster}

    def present(step: Step) -> dict[int, Client]:
        return {u: client for u, client in clients.items() if step < silent_from.get(u, Step.DONE)}

    for client in present(Step.ADVERTISE).values():
        server.receive(client.advertise())
    advertised = server.advertised()

    for client in present(Step.SHARE).values():
        server.receive(client.share_keys(advertised))
    deliveries = server.deliveries()

    for u, client in present(Step.MASK).items():
        server.receive(client.mask(deliveries[u], vectors[u]))
    survivors = server.survivors()

    for client in present(Step.AGREE).values():
        server.receive(client.agree(survivors))
    agreements = server.agreements()

    for client in present(Step.UNMASK).values():
        server.receive(client.unmask(agreements))
    return server.total()
