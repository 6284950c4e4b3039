"""A secure sum against numpy's plain one: 100 clients, vectors of 1,000,000 entries mod 2³², a tenth dropping out.

The dropouts come at the worst moment, after the keys are shared and before the masked inputs are sent. Target: the
server's work for the round, all it does but waiting, takes at most 2 seconds of one processor, and a client's at most
0.5. Times are processor seconds, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import TypeVar

import numpy as np

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.secure_sum import Identity, SumClient, SumPlan, SumServer, SumTerms
from discreet.aggregation.secure_sum.keys import is_signed
from discreet.aggregation.secure_sum.sum_messages import SumMessage
from discreet.privacy.guarantee import Guarantee, Scope

MAX_SERVER_SECONDS = 2.0
MAX_CLIENT_SECONDS = 0.5
NOTHING = Guarantee.unprotected("a benchmark", Scope.ROUND)
Result = TypeVar("Result")
T = TypeVar("T", bound=SumMessage)


class Meter:
    """Seconds and bytes of every party. Signatures are forgotten in between, as if each had a machine of its own."""

    def __init__(self) -> None:
        self.seconds: defaultdict[object, float] = defaultdict(float)
        self.sent: defaultdict[object, int] = defaultdict(int)

    def time(self, party: object, work: Callable[[], Result]) -> Result:
        """Do some work on a party's account."""
        is_signed.cache_clear()
        start = time.thread_time()
        result = work()
        self.seconds[party] += time.thread_time() - start
        return result

    def carry(self, sender: object, receiver: object, message: T) -> T:
        """A message through its bytes: written on the sender's account, read on the receiver's."""
        data = self.time(sender, message.to_bytes)
        self.sent[sender, receiver] += len(data)
        return self.time(receiver, lambda: type(message).from_bytes(data))


def run(plan: SumPlan, vectors: list[np.ndarray], dropped: set[int]) -> tuple[Meter, np.ndarray]:
    """One round with every message as bytes, and its account."""
    meter = Meter()
    identities = {u: Identity.generate(u) for u in range(plan.clients)}
    roster = {u: identity.public for u, identity in identities.items()}
    terms = SumTerms(secrets.token_bytes(16), roster, plan, len(vectors[0]))
    server = SumServer(terms, NOTHING)
    clients = {u: SumClient(terms, identity) for u, identity in identities.items()}

    def send(u: int, act: Callable[[], SumMessage]) -> None:
        message = meter.carry(u, "server", meter.time(u, act))
        meter.time("server", lambda: server.receive(message))

    for u, client in clients.items():
        send(u, client.advertise)
    advertised = meter.time("server", server.advertised)
    for u, client in clients.items():
        told = meter.carry("server", u, advertised)
        send(u, lambda c=client, told=told: c.share_keys(told))
    deliveries = meter.time("server", server.deliveries)
    staying = {u: client for u, client in clients.items() if u not in dropped}
    for u, client in staying.items():
        told = meter.carry("server", u, deliveries[u])
        send(u, lambda c=client, told=told, vector=vectors[u]: c.mask(told, Contribution(vector, NOTHING)))
    survivors = meter.time("server", server.survivors)
    for u, client in staying.items():
        told = meter.carry("server", u, survivors)
        send(u, lambda c=client, told=told: c.agree(told))
    agreements = meter.time("server", server.agreements)
    for u, client in staying.items():
        told = meter.carry("server", u, agreements)
        send(u, lambda c=client, told=told: c.unmask(told))
    return meter, meter.time("server", server.total).residues


def plain(vectors: list[np.ndarray]) -> tuple[float, np.ndarray]:
    """Seconds and result of adding up with numpy, the best of five times."""
    taken = []
    for _ in range(5):
        start = time.thread_time()
        total = np.zeros_like(vectors[0])
        for vector in vectors:
            total += vector
        taken.append(time.thread_time() - start)
    return min(taken), total


def main() -> int:
    """Run both graphs and the plain sum; 1 if the default plan misses a target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--length", type=int, default=1_000_000)
    chosen = parser.parse_args()
    random = np.random.default_rng(0)
    vectors = [random.integers(0, 2**32, chosen.length, dtype=np.uint32) for _ in range(chosen.clients)]
    dropped = set(range(0, chosen.clients, 10))
    staying = [u for u in range(chosen.clients) if u not in dropped]
    baseline, expected = plain([vectors[u] for u in staying])
    print(f"{chosen.clients} clients, {len(dropped)} dropping out, {chosen.length:,} entries mod 2^32\n")
    columns = ("client, s", "server, s", "ratio", "sent, bytes", "received", "overhead")
    print(f"{'':>24} " + " ".join(f"{column:>12}" for column in columns))
    print(f"{'numpy, plain sum':>24} {'':>12} {baseline:>12.3f} {1:>12.1f} {4 * chosen.length:>12,}")
    for plan in (SumPlan.complete(chosen.clients), SumPlan.default(chosen.clients)):
        meter, total = run(plan, vectors, dropped)
        np.testing.assert_array_equal(total, expected)
        client, server = median(meter.seconds[u] for u in staying), meter.seconds["server"]
        sent = round(median(meter.sent[u, "server"] for u in staying))
        received = round(median(meter.sent["server", u] for u in staying))
        name = f"{'complete' if plan.is_complete else 'sparse'}, k={plan.degree} t={plan.threshold}"
        overhead = (sent + received) / (4 * chosen.length) - 1
        times = f"{client:>12.3f} {server:>12.3f} {server / baseline:>12.1f}"
        print(f"{name:>24} {times} {sent:>12,} {received:>12,} {overhead:>12.2%}")
    met = server <= MAX_SERVER_SECONDS and client <= MAX_CLIENT_SECONDS
    print(
        f"\n{'met' if met else 'MISSED'}: server ≤ {MAX_SERVER_SECONDS:g} s ({server:.2f}), "
        f"client ≤ {MAX_CLIENT_SECONDS:g} s ({client:.2f}); ratio = server's seconds to numpy's"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
