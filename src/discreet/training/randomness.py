"""The randomness that user-level privacy rests on: who joins a round, and the noise that is added for them.

A simulation draws both from the seed, so that it can be repeated; whoever knows the seed could take the noise off
again. A node that real readers rely on takes secret coins and secret noise, and keeps a book of who has joined how
often, which is on disk before anything leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from discreet.aggregation.secure_sum.refusals import Refused
from discreet.errors import InputError
from discreet.files import durable_file
from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise
from discreet.privacy.participation_cost import joining
from discreet.training.draws import purpose_key, uniforms

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
    """Coins and noise from the operating system's randomness, and a book of participations on disk.

    `audience` says whose book it is (a digest of all readers' names), and the book, who of them can join: that of
    others is refused, since they may have joined more often than it says.
    """

    book: Path
    audience: str

    def joining(self, readers: NDArray[np.int32], number: int, plan: SamplingPlan) -> Positions:
        """Secret coins. Whoever joins is in the book, on disk, before this returns.

        Each round is joined once, and none before the last one, so that there are never more than there should be. A
        server that was stopped in the middle of a round asks again; to it the round is lost, and the next one follows.

        Raises:
            PastRound: the node has contributed to this round, or to a later one.
        """
        last, joined = self.read_book(readers)
        if number <= last:
            raise PastRound(f"this node has contributed to round {last} before, so round {number} is over")
        if number > plan.rounds:
            raise ValueError(f"there are {plan.rounds} rounds, and no round {number}")
        chosen = joining(self.noise(number), plan.rate, joined, plan.max_rounds_joined)
        self.write_book(number, readers, joined + chosen)
        return np.flatnonzero(chosen)

    def noise(self, number: int) -> Noise:
        """Noise that nobody can repeat."""
        return SecureNoise()

    def read_book(self, readers: NDArray[np.int32]) -> tuple[int, NDArray[np.int64]]:
        """The last round that was contributed to, and how often each reader has joined."""
        if not self.book.exists():
            return 0, np.zeros(len(readers), np.int64)
        try:
            with safe_open(self.book, framework="numpy") as file:
                about, known, joined = file.metadata(), file.get_tensor("reader"), file.get_tensor("joined")
            audience, last = about["audience"], int(about["round"])
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(self.book, f"is no book of participations ({error}); nobody may join without it") from None
        if audience != self.audience or joined.shape != known.shape or not np.array_equal(known, readers):
            raise InputError(self.book, "is the book of other readers; a training ends with the readers it began with")
        return last, np.asarray(joined, np.int64)

    def write_book(self, number: int, readers: NDArray[np.int32], joined: NDArray[np.int64]) -> None:
        """Have it on disk that the round is joined, before anything leaves."""
        about = {"audience": self.audience, "round": str(number)}
        with durable_file(self.book) as draft:
            save_file({"reader": np.ascontiguousarray(readers), "joined": joined}, draft, metadata=about)
