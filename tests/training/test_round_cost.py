from __future__ import annotations

import secrets
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from plain_contributions import NOTHING, plain

from discreet.aggregation.secure_sum import Identity, Step, SumClient, SumPlan, SumServer, SumTerms
from discreet.aggregation.secure_sum.sum_messages import SumMessage
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.nodes.requests import Begin, Done, Proceed, job_digest, task_digest
from discreet.training.parties import Parties

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from round_cost_model import (
    Fit,
    SumSize,
    received,
    sent,
    server_in,
    server_out,
    wrapped_received,
    wrapped_sent,
)

TASK = b"the parameters of the model"


class Wire:
    """Lengths of all that a round sends, wrapped as nodes wrap it: by step and party, up and down."""

    def __init__(self, terms: SumTerms) -> None:
        self.terms = terms
        self.up: dict[Step, dict[int, int]] = {}
        self.down: dict[Step, dict[int, int]] = {}
        plan = (terms.plan.clients, terms.plan.degree, terms.plan.threshold, terms.plan.quorum)
        begin = Begin(
            context=terms.digest,
            round_id=terms.round_id,
            invited=tuple(terms.roster),
            plan=plan,
            length=terms.length,
            bits=terms.bits,
            job=job_digest(b"a job"),
            task=task_digest(b"a task"),
        )
        self.of_party = dict.fromkeys(terms.roster, 0)
        self.to_party = dict.fromkeys(terms.roster, len(begin.to_bytes()))

    def send(self, step: Step, sender: int, message: SumMessage) -> None:
        data = message.to_bytes()
        self.up.setdefault(step, {})[sender] = len(data)
        self.of_party[sender] += len(Done(context=self.terms.digest, message=data).to_bytes())

    def tell(self, answered: Step, receiver: int, message: SumMessage) -> None:
        data, step = message.to_bytes(), Step(answered + 1)
        self.down.setdefault(answered, {})[receiver] = len(data)
        request = Proceed(context=self.terms.digest, step=step, message=data, task=TASK)
        self.to_party[receiver] += len(request.to_bytes())


def play(size: SumSize) -> Wire:
    """A round in which the last parties go silent after they are told what to contribute."""
    n, stay = size.plan.clients, size.survivors
    identities = [Identity.generate(u) for u in range(n)]
    terms = SumTerms(
        secrets.token_bytes(16), {one.client: one.public for one in identities}, size.plan, size.length, 64
    )
    server, clients, wire = SumServer(terms, NOTHING), [SumClient(terms, one) for one in identities], Wire(terms)

    def take(step: Step, messages: dict[int, SumMessage]) -> None:
        for u, message in messages.items():
            wire.send(step, u, message)
            server.receive(message)  # type: ignore[arg-type]

    def tell(step: Step, messages: dict[int, SumMessage]) -> None:
        for u, message in messages.items():
            wire.tell(step, u, message)

    take(Step.ADVERTISE, {u: clients[u].advertise() for u in range(n)})
    advertised = server.advertised()
    tell(Step.ADVERTISE, dict.fromkeys(range(n), advertised))
    take(Step.SHARE, {u: clients[u].share_keys(advertised) for u in range(n)})
    deliveries = server.deliveries()
    tell(Step.SHARE, dict(deliveries))
    vector = np.arange(size.length)
    take(Step.MASK, {u: clients[u].mask(deliveries[u], plain(vector)) for u in range(stay)})
    survivors = server.survivors()
    tell(Step.MASK, dict.fromkeys(range(stay), survivors))
    take(Step.AGREE, {u: clients[u].agree(survivors) for u in range(stay)})
    agreements = server.agreements()
    tell(Step.AGREE, dict.fromkeys(range(stay), agreements))
    take(Step.UNMASK, {u: clients[u].unmask(agreements) for u in range(stay)})
    np.testing.assert_array_equal(server.total().values, stay * vector)
    return wire


@pytest.mark.parametrize(
    "size",
    [
        SumSize(SumPlan.complete(2, 2), 1),
        SumSize(SumPlan.default(7), 33, dropped=2),
        SumSize(SumPlan.default(20), 1_000, dropped=0),
        SumSize(SumPlan.default(60), 257, dropped=6),
        SumSize(SumPlan(24, 6, 5, 20), 100, dropped=1),
    ],
    ids=lambda size: f"{size.plan.clients}-{size.plan.degree}-{size.length}-{size.dropped}",
)
def test_bytes_are_those_of_real_messages(size: SumSize) -> None:
    wire = play(size)
    assert {step: set(lengths.values()) for step, lengths in wire.up.items()} == {
        step: {length} for step, length in sent(size).items()
    }
    assert {step: set(lengths.values()) for step, lengths in wire.down.items()} == {
        step: {length} for step, length in received(size).items() if step != Step.UNMASK
    }
    assert wire.of_party[0] == wrapped_sent(size)
    assert wire.to_party[0] == wrapped_received(size, len(TASK))
    assert sum(wire.of_party.values()) == server_in(size)
    assert sum(wire.to_party.values()) == server_out(size, len(TASK))


def test_pairs_are_counted_as_the_complete_graph_has_them() -> None:
    assert SumSize(SumPlan.default(20), 1, dropped=3).pairs == 3 * 17


@pytest.mark.parametrize("parties", [4, 10, 100, 1000])
def test_noise_is_that_of_the_method(parties: int) -> None:
    size = SumSize(SumPlan.default(parties), 50)
    method = DPFedAvg()
    lattice = method.lattice({"all": torch.zeros(size.length)}, Parties(parties, size.plan.quorum))
    assert lattice.sum_deviation(parties) == pytest.approx(size.noise * method.multiplier * method.clip, rel=1e-6)


def test_a_fit_finds_the_constants_it_was_made_with_and_none_below_zero() -> None:
    sizes = [(n, length) for n in (1.0, 5.0, 40.0) for length in (10.0, 1_000.0, 50_000.0)]
    taken = [3e-4 * n + 2e-9 * n * length for n, length in sizes]
    fit = Fit.of(("party", "value", "nothing"), lambda at: (at[0], at[0] * at[1], at[1] ** 2), sizes, taken)
    assert fit.constants == pytest.approx((3e-4, 2e-9, 0.0), rel=1e-6, abs=1e-15)
    assert min(fit.constants) >= 0
    assert fit((10.0, 100.0)) == pytest.approx(3e-3 + 2e-6)
