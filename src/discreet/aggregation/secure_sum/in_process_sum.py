"""A secure sum from beginning to end in one process: the protocol on one page, and what tests and simulations call."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.secure_sum.keys import Identity
from discreet.aggregation.secure_sum.sum_client import SumClient
from discreet.aggregation.secure_sum.sum_plan import SumPlan
from discreet.aggregation.secure_sum.sum_server import SumResult, SumServer
from discreet.aggregation.secure_sum.sum_terms import ROUND_ID_BYTES, Step, SumTerms


def secure_sum(
    contributions: Sequence[Contribution],
    threshold: int | None = None,
    *,
    bits: int = 32,
    dropouts: Mapping[int, Step] | None = None,
) -> SumResult:
    """The sum of contributions mod 2^bits, by the whole protocol, with new identities for all clients.

    Args:
        contributions: of client 0, 1, …; all of one length, and under one guarantee.
        threshold: how many clients must stay to the end, everybody being everybody's neighbour; if not given,
            `SumPlan.default` decides.
        bits: 16, 32 or 64.
        dropouts: the step at which a client falls silent, for those that do.

    Raises:
        TooFewClients: if too many drop out.
    """
    count = len(contributions)
    plan = SumPlan.default(count) if threshold is None else SumPlan.complete(count, threshold)
    identities = {client: Identity.generate(client) for client in range(count)}
    roster = {client: identity.public for client, identity in identities.items()}
    terms = SumTerms(secrets.token_bytes(ROUND_ID_BYTES), roster, plan, len(contributions[0].values), bits)
    return run_round(terms, identities, dict(enumerate(contributions)), dropouts)


def run_round(
    terms: SumTerms,
    identities: Mapping[int, Identity],
    contributions: Mapping[int, Contribution],
    dropouts: Mapping[int, Step] | None = None,
) -> SumResult:
    """One round by its terms, between all clients of the roster and the server.

    Raises:
        ValueError: if contributions have different guarantees: their sum would have none.
    """
    guarantee, *others = {contribution.guarantee for contribution in contributions.values()}
    if others:
        raise ValueError("the contributions to one sum have different guarantees")
    silent_from = dropouts or {}
    server = SumServer(terms, guarantee)
    clients = {u: SumClient(terms, identities[u]) for u in terms.roster}

    def present(step: Step) -> dict[int, SumClient]:
        return {u: client for u, client in clients.items() if step < silent_from.get(u, Step.DONE)}

    for client in present(Step.ADVERTISE).values():
        server.receive(client.advertise())
    advertised = server.advertised()

    for client in present(Step.SHARE).values():
        server.receive(client.share_keys(advertised))
    deliveries = server.deliveries()

    for u, client in present(Step.MASK).items():
        server.receive(client.mask(deliveries[u], contributions[u]))
    survivors = server.survivors()

    for client in present(Step.AGREE).values():
        server.receive(client.agree(survivors))
    agreements = server.agreements()

    for client in present(Step.UNMASK).values():
        server.receive(client.unmask(agreements))
    return server.total()
