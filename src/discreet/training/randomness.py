"""The randomness that user-level privacy rests on: who joins a round, and the noise that is added for them.

A simulation draws both from the seed, so that it can be repeated. Anybody who knows the seed can subtract the noise. A
node that real readers rely on takes secret coins and secret noise, and keeps a book of who has joined how often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.secure_sum.refusals import Refused
from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise
from discreet.privacy.participation_cost import joining
from discreet.training.draws import purpose_key, uniforms
from discreet.training.participation_book import ParticipationBook

Positions = NDArray[np.int64]


class PastRound(Refused):
    """A round that cannot be joined any more."""


@dataclass(frozen=True)
class SamplingPlan:
    """How readers join: with probability `rate` in each of `rounds` rounds, at most `max_rounds_joined` times."""

    rate: float
    max_rounds_joined: int
    rounds: int


class Randomness(Protocol):
    """Where a node's coins and noise come from."""

    def joining(self, readers: NDArray[np.int32], number: int, plan: SamplingPlan) -> Positions:
        """The positions of those readers who join round `number`; asked once for each contribution."""
        ...

    def noise(self, number: int) -> Noise:
        """The source of the noise of round `number`."""
        ...


@dataclass(frozen=True)
class SimulatedRandomness:
    """All from the seed: a pure function of it, of the node and of the round."""

    seed: int
    node: int = 0

    def joining(self, readers: NDArray[np.int32], number: int, plan: SamplingPlan) -> Positions:
        """Coins by reader and round; a reader's earlier coins say how often she has joined."""
        if plan.rate >= 1:
            return np.arange(len(readers) if number <= plan.max_rounds_joined else 0)
        joined = np.zeros(len(readers), np.int64)
        for earlier in range(1, number):
            joined += self._coins(readers, earlier, plan.rate)
        return np.flatnonzero(self._coins(readers, number, plan.rate) & (joined < plan.max_rounds_joined))

    def _coins(self, readers: NDArray[np.int32], number: int, rate: float) -> NDArray[np.bool_]:
        return np.asarray(uniforms(self.seed, number, "join", readers) < rate)

    def noise(self, number: int) -> Noise:
        """A stream of its own for each round and node."""
        return SimulatedNoise(np.random.SeedSequence([self.seed, number, purpose_key("noise"), self.node]))


@dataclass(frozen=True)
class SecretRandomness:
    """Coins and noise from the operating system's randomness, with a book of who has joined how often."""

    book: ParticipationBook

    def joining(self, readers: NDArray[np.int32], number: int, plan: SamplingPlan) -> Positions:
        """Draw secret coins. All who join are in the book before this returns.

        A node joins each round once, and no round before the last one that it joined. So nobody joins more often than
        the plan allows. A server that was stopped in the middle of a round asks again: that round is lost, and the next
        one follows.

        Raises:
            PastRound: the node has contributed to this round, or to a later one.
        """
        last, joined = self.book.read(readers)
        if number <= last:
            raise PastRound(f"this node has contributed to round {last} before, so round {number} is over")
        if number > plan.rounds:
            raise ValueError(f"there are {plan.rounds} rounds, and no round {number}")
        chosen = joining(self.noise(number), plan.rate, joined, plan.max_rounds_joined)
        self.book.write(number, readers, joined + chosen)
        return np.flatnonzero(chosen)

    def noise(self, number: int) -> Noise:
        """Noise that nobody can repeat."""
        return SecureNoise()
