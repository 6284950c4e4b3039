"""The measured points of the cost model: rounds of the secure sum, readers' updates, clipping, noise, memory.

Seconds are those of the thread's processor time, so that other work on the machine counts less, and the least of a few.
"""

from __future__ import annotations

import gc
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from torch import zeros

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.secure_sum import Identity, Step, SumClient, SumPlan, SumServer, SumTerms
from discreet.aggregation.secure_sum import sum_messages as m
from discreet.aggregation.secure_sum.keys import is_signed
from discreet.aggregation.secure_sum.secret_sharing import _weights_at_zero
from discreet.aggregation.secure_sum.sum_messages import SumMessage
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.methods.setup import Setup
from discreet.methods.training_job import write_task
from discreet.models.model_registry import make_model
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.privacy.noise import SecureNoise
from discreet.training.clients import Clients
from discreet.training.network import Network
from discreet.training.participation_book import BookFile
from discreet.training.parties import Parties
from discreet.training.randomness import SecretRandomness, SimulatedRandomness
from federated_world import make_impressions, make_vector_table
from round_cost_model import STEPS, SumSize

WATCHED = 8
"""Parties of a sum that are timed, spread over all, or all if there are fewer; the others only take part."""

MIN_TOTAL_SECONDS, MAX_REPEATS = 0.5, 100
"""Short work is repeated for so many seconds, at most so often: other work on the machine comes in bursts."""

NOTHING = Guarantee.unprotected("a benchmark", Scope.ROUND)
Result = TypeVar("Result")


def least(work: Callable[[], object], repeats: int = 3) -> float:
    """The least processor seconds of some runs, after one that is not counted; short work is run more often."""
    work()
    taken = [_timed(work)[0] for _ in range(repeats)]
    while sum(taken) < MIN_TOTAL_SECONDS and len(taken) < MAX_REPEATS:
        taken.append(_timed(work)[0])
    return min(taken)


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    start = time.thread_time()
    result = work()
    return time.thread_time() - start, result


@dataclass
class SumPoint:
    """A secure sum as it was: seconds of a party and of the server by step, bytes by step, the server's memory."""

    size: SumSize
    party: dict[Step, float]
    server: dict[Step, float]
    sent: dict[Step, int]
    received: dict[Step, int]
    memory: int
    plain: float


def measure_sum(parties: int, length: int, repeats: int) -> SumPoint:
    """Secure sums over so many parties, a tenth dropping out; every time is the least of all rounds."""
    plan = SumPlan.default(parties)
    dropped = parties // 10
    vectors = np.random.default_rng(0).integers(-(2**40), 2**40, (parties, length))
    gc.disable()  # or it would go through the memory of all parties, which have a machine each
    points = [_one_round(SumSize(plan, length, dropped), vectors) for _ in range(repeats)]
    gc.enable()
    best = points[0]
    for other in points[1:]:
        best.party = {step: min(best.party[step], other.party[step]) for step in STEPS}
        best.server = {step: min(best.server[step], other.server[step]) for step in STEPS}
        best.plain = min(best.plain, other.plain)
    return best


def _one_round(size: SumSize, vectors: np.ndarray) -> SumPoint:
    """One round with every message through its bytes. The last `dropped` parties go silent after sharing keys."""
    n = size.plan.clients
    identities = [Identity.generate(u) for u in range(n)]
    roster = {one.client: one.public for one in identities}
    terms = SumTerms(secrets.token_bytes(16), roster, size.plan, size.length, 64)
    server, clients = SumServer(terms, NOTHING), [SumClient(terms, one) for one in identities]
    _weights_at_zero.cache_clear()
    mine: dict[Step, list[float]] = {step: [] for step in STEPS}
    its = dict.fromkeys(STEPS, 0.0)
    up, down = dict.fromkeys(STEPS, 0), dict.fromkeys(STEPS, 0)

    def step(now: Step, who: int, answer: Callable[[int], SumMessage], kind: type[SumMessage]) -> None:
        for u in range(who):
            watched = u % max(1, who // WATCHED) == 0
            if watched:
                is_signed.cache_clear()  # as if each party had a machine of its own
            taken, data = _timed(lambda u=u: answer(u).to_bytes())  # type: ignore[misc]
            if watched:
                mine[now].append(taken)
                up[now] = len(data)
            its[now] += _timed(lambda data=data: server.receive(kind.from_bytes(data)))[0]  # type: ignore[arg-type, misc]

    def close(now: Step, work: Callable[[], Result]) -> Result:
        taken, result = _timed(work)
        its[now] += taken
        return result

    def masked(u: int) -> SumMessage:
        delivery = m.Delivery.from_bytes(each[u])
        clients[u].check(delivery)  # as a host does, before it makes an input that has a price
        return clients[u].mask(delivery, Contribution(vectors[u], NOTHING))

    stay = size.survivors
    step(Step.ADVERTISE, n, lambda u: clients[u].advertise(), m.Advertisement)
    told = close(Step.ADVERTISE, lambda: server.advertised().to_bytes())
    down[Step.ADVERTISE] = len(told)
    step(Step.SHARE, n, lambda u: clients[u].share_keys(m.Advertised.from_bytes(told)), m.KeyShares)
    each = close(Step.SHARE, lambda: {u: one.to_bytes() for u, one in server.deliveries().items()})
    down[Step.SHARE] = len(each[0])
    step(Step.MASK, stay, masked, m.MaskedInput)
    survivors = close(Step.MASK, lambda: server.survivors().to_bytes())
    down[Step.MASK] = len(survivors)
    step(Step.AGREE, stay, lambda u: clients[u].agree(m.Survivors.from_bytes(survivors)), m.SurvivorAgreement)
    agreed = close(Step.AGREE, lambda: server.agreements().to_bytes())
    down[Step.AGREE] = len(agreed)
    step(Step.UNMASK, stay, lambda u: clients[u].unmask(m.SurvivorAgreements.from_bytes(agreed)), m.Unmasking)
    memory = held(vars(server)) + sum(map(len, each.values()))
    total = close(Step.UNMASK, server.total)

    def added() -> np.ndarray:
        result = np.zeros(size.length, np.int64)
        for vector in vectors[:stay]:
            result += vector
        return result

    np.testing.assert_array_equal(total.values, added())
    return SumPoint(size, {now: min(taken) for now, taken in mine.items()}, its, up, down, memory, least(added))


def held(start: object) -> int:
    """Bytes of all objects that hang on one, each counted once."""
    seen: set[int] = set()
    left, size = [start], 0
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, type):
            continue
        seen.add(id(one))
        size += sys.getsizeof(one)
        if isinstance(one, dict):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
        elif is_dataclass(one):
            left += [getattr(one, field.name) for field in fields(one)]
    return size


@dataclass
class Head:
    """A model under DP-FedAvg with readers of the real proportions."""

    name: str
    readers: int = 2_000

    def __post_init__(self) -> None:
        self.method = DPFedAvg(model=self.name)
        table = make_vector_table()
        network = Network(make_model(self.name, "small", table, 0))
        clients = Clients.from_impressions(make_impressions(self.readers), network.model.history_length)
        start = network.parameters()
        self.setup = Setup(network, table, None, clients, 0, 1, SimulatedRandomness(0), self.readers, start)
        self.parameters = start
        self.length = self.method.length(self.parameters)
        self.task = len(write_task(self.parameters, 1))

    def updates(self, positions: np.ndarray, *, alone: bool) -> Iterator[np.ndarray]:
        """Updates of some readers: each alone, as on a device and wherever noise is real, or side by side."""
        setup = self._with(SecretRandomness(BookFile(Path("none"), ""))) if alone else self.setup
        return self.method.updates(setup, self.parameters, 1, positions)

    def update_seconds(self, readers: int, *, alone: bool, repeats: int = 5) -> float:
        """Seconds of the updates of so many readers, drawing their samples included."""
        joining = np.arange(readers) * (len(self.setup.clients) // readers)
        return least(lambda: [None for _ in self.updates(joining, alone=alone)], repeats)

    def device_seconds(self, devices: int = 24) -> float:
        """Seconds of one reader's update where she is the only one, on average over some."""
        chosen = np.arange(devices) * (len(self.setup.clients) // devices)
        return sum(least(lambda u=u: [*self.updates(np.array([u]), alone=True)]) for u in chosen) / devices  # type: ignore[misc]

    def clip_seconds(self, readers: int) -> float:
        """Seconds to clip the updates of so many readers, cut them to the lattice and add them up, one by one."""
        lattice = self.method.lattice(self.parameters, Parties(1000, 800))
        rows = np.random.default_rng(0).standard_normal((64, 1, lattice.dimension))  # each is new to the cache
        total = np.zeros(lattice.dimension, np.int64)

        def work() -> None:
            for number in range(readers):
                np.add(total, lattice.integers(rows[number % len(rows)]).sum(axis=0), out=total)

        return least(work)

    def node(self, readers: int) -> tuple[int, float]:
        """A node with about so many readers: their number, and the seconds of a contribution with real noise."""
        kept = Clients.from_impressions(make_impressions(readers), self.setup.network.model.history_length)

        def work() -> None:
            with TemporaryDirectory() as folder:
                randomness = SecretRandomness(BookFile(Path(folder) / "book", ""))
                self.method.contribution(self._with(randomness, kept), self.parameters, 1, Parties(10, 7))

        return len(kept), least(work)

    @cached_property
    def memory(self) -> float:
        """Bytes a reader has in a node's memory: her log as it is kept, and the samples drawn for a round."""
        clients = self.setup.clients
        samples = clients.draw(np.arange(len(clients)), 0, 1, self.method.negatives)
        return (_array_bytes(clients) + _array_bytes(samples)) / len(clients)

    def _with(self, randomness: SecretRandomness, clients: Clients | None = None) -> Setup:
        return replace(self.setup, randomness=randomness, clients=clients or self.setup.clients)


def _array_bytes(one: Any) -> int:
    parts = (getattr(one, field.name) for field in fields(one))
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


def noise_seconds(values: int) -> float:
    """Seconds to draw one party's noise for so many values, from the operating system's randomness."""
    lattice = DPFedAvg().lattice({"all": zeros(values)}, Parties(1000, 800))
    return least(lambda: lattice.party_noise(SecureNoise()))
