"""Who masks with whom, and how many must stay: the numbers of a round, and the conditions under which they are safe.

Each client shares its secrets with itself and k neighbours, any t of whom can rebuild them. Up to `COMPLETE_UP_TO`
clients everybody is everybody's neighbour (Bonawitz et al. 2017). Above, clients stand in a circle in random order and
each has the k/2 nearest on either side for neighbours (Bell et al. 2020, with their Harary graph), which brings the
masks of a round from n² down to n·k with k = O(log n).

Let c clients collude with the server and d drop out, each set chosen without knowledge of the circle. A round can fail
in three ways, and `SumPlan.risks` bounds the probability of each. X, L and L' are hypergeometric: k neighbours are
drawn from the other n − 1 clients, of whom c collude (X), d drop out (L) or d − 1 besides the client itself do (L').

    both shares   (n − c) · P[X ≥ 2t − k − 1]                     somebody's two secrets are within the server's reach
    split         n · Π_{i<k/2} (c + d − i)/(n − i)               the server sees the sums of parts of the survivors
    stuck         d · P[k − L' < t] + (n − d) · P[k + 1 − L < t]  a secret cannot be rebuilt, and the round is lost

The first is stricter than the paper's P[X ≥ t]: of the k + 1 holders each honest one gives one kind of share only, so a
server that lies about who dropped out needs 2(t − X) ≤ k + 1 − X. A split takes two runs of k/2 in the circle, so it
is impossible while c + d < k. Quorums exclude two contradictory agreements while 2q > n + c. As n grows, all of it can
be had if c/n + 2·d/n < 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

COMPLETE_UP_TO = 50
COLLUDING = Fraction(1, 10)
DROPPING = Fraction(1, 5)
SECURITY_BITS = 40
CORRECTNESS_BITS = 20


@dataclass(frozen=True)
class Risks:
    """Bounds on the probability, over the random circle, that a round fails in one of three ways."""

    both_shares: float
    split: float
    stuck: float

    @property
    def private(self) -> bool:
        """Whether the server learns more than the sum with a probability of at most 2⁻⁴⁰."""
        return self.both_shares + self.split <= 2.0**-SECURITY_BITS

    @property
    def reliable(self) -> bool:
        """Whether the round is lost with a probability of at most 2⁻²⁰."""
        return self.stuck <= 2.0**-CORRECTNESS_BITS


@dataclass(frozen=True)
class SumPlan:
    """The numbers that all clients of a round must agree on.

    Attributes:
        clients: n, how many are invited.
        degree: k, how many neighbours each has: even, or n − 1 for the complete graph.
        threshold: t, how many shares rebuild a secret. Above (k + 1)/2, so that honest holders alone, who give one kind
            of share each, never give t of both.
        quorum: q, how many clients must be there at every step up to the agreement on who survived. Above n/2.
    """

    clients: int
    degree: int
    threshold: int
    quorum: int

    def __post_init__(self) -> None:
        n, k = self.clients, self.degree
        if n < 2:
            raise ValueError(f"a secure sum needs at least 2 clients, not {n}")
        if k != n - 1 and not (2 <= k < n - 1 and k % 2 == 0):
            raise ValueError(f"the degree must be {n - 1} (complete) or an even number from 2 below it, not {k}")
        if not k + 1 < 2 * self.threshold <= 2 * (k + 1):
            raise ValueError(f"the threshold must be above {k + 1}/2 and at most {k + 1}, not {self.threshold}")
        if not n < 2 * self.quorum <= 2 * n:
            raise ValueError(f"the quorum must be above {n}/2 and at most {n}, not {self.quorum}")

    @classmethod
    def complete(cls, clients: int, threshold: int | None = None) -> SumPlan:
        """Everybody is everybody's neighbour; by default ⌊2n/3⌋ + 1 must stay."""
        stay = 2 * clients // 3 + 1 if threshold is None else threshold
        return cls(clients, clients - 1, stay, stay)

    @classmethod
    def default(cls, clients: int) -> SumPlan:
        """Complete up to `COMPLETE_UP_TO` clients; above, sparse with a tenth colluding and a fifth dropping out."""
        if clients <= COMPLETE_UP_TO:
            return cls.complete(clients)
        return cls.sparse(clients, int(COLLUDING * clients), int(DROPPING * clients))

    @classmethod
    def sparse(cls, clients: int, colluding: int, dropping: int) -> SumPlan:
        """The least degree, and the least threshold for it, whose `risks` are `private` and `reliable`.

        The quorum is n − d: with fewer survivors the bound on a split would not hold, so the clients refuse.

        Raises:
            ValueError: if no degree below n − 1 will do.
        """
        return _sparse(clients, colluding, dropping)

    @property
    def is_complete(self) -> bool:
        """Whether everybody is everybody's neighbour."""
        return self.degree == self.clients - 1

    def risks(self, colluding: int, dropping: int) -> Risks:
        """Bounds on the probability of failure with this many colluding clients and dropouts (see above)."""
        n, k, t = self.clients, self.degree, self.threshold
        if 2 * self.quorum <= n + colluding:
            return Risks(1.0, 1.0, 1.0)
        both = (n - colluding) * _tail(n - 1, colluding, k, 2 * t - k - 1)
        stuck = (n - dropping) * _tail(n - 1, dropping, k, k - t + 2)
        if dropping:
            stuck += dropping * _tail(n - 1, dropping - 1, k, k - t + 1)
        gone = colluding + min(dropping, n - self.quorum)
        split = 0.0 if self.is_complete or gone < k else n * _run(n, gone, k // 2)
        lost = 1.0 if n - dropping < self.quorum else min(1.0, stuck)
        return Risks(min(1.0, both), min(1.0, split), lost)


@lru_cache(maxsize=256)
def _sparse(clients: int, colluding: int, dropping: int) -> SumPlan:
    for degree in range(2, clients - 1, 2):
        plans = [SumPlan(clients, degree, t, clients - dropping) for t in range(degree // 2 + 1, degree + 2)]
        # A higher threshold is only ever more private and less reliable, so the least private one is the one to try.
        least = bisect_left(plans, True, key=lambda plan: plan.risks(colluding, dropping).private)
        if least < len(plans) and plans[least].risks(colluding, dropping).reliable:
            return plans[least]
    raise ValueError(
        f"no sparse plan for {clients} clients of whom {colluding} collude and {dropping} drop out; use Plan.complete"
    )


def _tail(population: int, marked: int, drawn: int, least: int) -> float:
    """P[X ≥ least] for the number X of marked ones among `drawn` of a population: P[X = least], times its successors.

    P[X = x + 1] / P[X = x] = (marked − x)(drawn − x) / ((x + 1)(population − marked − drawn + x + 1)).
    """
    lowest, highest = max(0, marked + drawn - population), min(marked, drawn)
    if least <= lowest:
        return 1.0
    if least > highest:
        return 0.0
    ways = math.comb(marked, least) * math.comb(population - marked, drawn - least)
    term = total = float(Fraction(ways, math.comb(population, drawn)))
    for x in range(least, highest):
        term *= (marked - x) * (drawn - x) / ((x + 1) * (population - marked - drawn + x + 1))
        total += term
    return total


def _run(clients: int, gone: int, length: int) -> float:
    """The probability that `length` given places of the circle are all held by clients that are gone."""
    return math.prod((gone - i) / (clients - i) for i in range(length)) if gone >= length else 0.0
