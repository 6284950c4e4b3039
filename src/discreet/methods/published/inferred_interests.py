"""Inferred interests: what a browser's new-tab page sends to rank its stories, as its public source describes it.

The device counts clicks by topic, divides by the largest count, cuts each interest into levels, and sends the levels as
noised bits over a relay. The bits are made again, with fresh noise, every few hours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.click_reports.public import PublicSpace
from discreet.methods.click_reports.public_side import PublicSide
from discreet.methods.method import Method, Scores, State, TrainingTask
from discreet.privacy import accounting
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.level_bits import LevelBits
from discreet.privacy.noise import SimulatedNoise

Floats = NDArray[np.float64]
Levels = NDArray[np.int64]

_STEPS = 50
_TRAIN, _SERVE = 0, 1


@dataclass(frozen=True, kw_only=True)
class InferredInterests(Method):
    """The server ranks by the levels of interest that a device sends as noised bits, again every four hours.

    **Theorem.** A click that is in the window for `days` days is in n = `sendings` · `days` sendings of K features. If
    the server links the sendings of a reader, they cost the click (ε', δ) together, with the ε' of n·K releases of a
    pure ε composed; neighbours differ in one click, replaced by another.

    **Proof.** One sending is K·ε-DP (`LevelBits`): K independent reports of pure ε. Sendings have fresh noise, and the
    click is in n of them. ∎

    That a relay hides the address is not counted: the sendings of one device look alike.

    Here histories have no times, so all clicks weigh the same; the production system weighs them by day. Its numbers of
    topics and levels, its thresholds, p and q come from its server and are not known: those here are a reading.

    Attributes:
        epsilon: ε of one feature in one sending.
        topics: K, the features; public topics of titles.
        levels: L; level 0 is no interest, the others cut it evenly.
        sendings: How often a day the bits are made again.
        days: How many days a click stays in the window.
        delta: δ of the lifetime.
    """

    name: ClassVar[str] = "inferred_interests"

    epsilon: float = 1.0
    topics: int = 8
    levels: int = 4
    sendings: int = 6
    days: int = 28
    delta: float = 1e-6

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise DiscreetError(f"{self.name}: epsilon must be above 0, not {self.epsilon}")
        if self.topics < 2 or self.levels < 2 or self.sendings < 1 or self.days < 1 or not 0 < self.delta < 1:
            raise DiscreetError(
                f"{self.name}: topics and levels must be at least 2, sendings and days at least 1, delta from 0 to 1"
            )

    def train(self, task: TrainingTask, seed: int, checkpoint: Path | None = None) -> State:
        """How common each level of each topic is, from the bits of the train split."""
        space = PublicSpace.of(task, self.topics)
        bits = self._sent(task.data.splits["train"], PublicSide.of(task, space), [seed, _TRAIN])
        return {**space.to_state(), "level_shares": self._shares(bits)}

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Similarity with each topic's mean title, weighted by the expected interest of who sent the bits."""
        space = PublicSpace.from_state(state)
        public = PublicSide.of(task, space)
        bits = self._sent(impressions, public, [seed, _SERVE])
        shares = state["level_shares"]
        value = np.maximum(0.0, np.arange(self.levels) - 0.5) / (self.levels - 1)
        interest = (self._posterior(bits, shares) - shares) @ value
        return np.asarray(
            np.einsum("nk,nk->n", public.content[impressions.shown], interest[impressions.impression_of_shown])
        )

    def guarantee(self, state: State) -> Guarantee:
        """For a click, over all sendings that it is in."""
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("levels of interest without noise", Scope.LIFETIME)
        sendings = self.sendings * self.days
        return Guarantee(
            epsilon=_lifetime(self.epsilon, self.delta, sendings * self.topics),
            delta=self.delta,
            unit=Unit.CLICK,
            adjacency=Adjacency.SUBSTITUTE,
            adversary=Adversary.SERVER,
            scope=Scope.LIFETIME,
            status=Status.PROVED,
            mechanism=f"{self.topics} levels as noised bits in {sendings} sendings (simulated)",
        )

    def _sent(self, impressions: Impressions, public: PublicSide, seed: list[int]) -> NDArray[np.bool_]:
        """What the device of each impression's reader has sent last: [impressions, topics, levels]."""
        mechanism = None
        if not math.isinf(self.epsilon):
            mechanism = LevelBits(epsilon=self.epsilon, features=self.topics, levels=self.levels)
        sent = np.zeros((len(impressions), self.topics, self.levels), np.bool_)
        for i in range(len(impressions)):
            levels = self._levels(public.topic[impressions.history(i)])
            if mechanism is None:
                sent[i] = levels[:, None] == np.arange(self.levels)
            else:
                noise = SimulatedNoise(np.random.SeedSequence([*seed, int(impressions.time[i]), i]))
                sent[i] = mechanism.release(levels, noise).values.reshape(sent[i].shape) > 0
        return sent

    def _levels(self, topic: Levels) -> Levels:
        """The level of each topic: its count over the largest, cut evenly; 0 for none."""
        counts = np.bincount(topic, minlength=self.topics)
        return -(-counts * (self.levels - 1) // max(1, int(counts.max())))

    def _shares(self, bits: NDArray[np.bool_]) -> Floats:
        """The share of each level, by maximum likelihood (EM)."""
        shares = np.full((self.topics, self.levels), 1 / self.levels)
        for _ in range(_STEPS):
            shares = self._posterior(bits, shares).mean(axis=0)
        return shares

    def _posterior(self, bits: NDArray[np.bool_], shares: Floats) -> Floats:
        """The probability of each level, given the bits: a 1 at its place multiplies its odds by e^ε = (p/q)²."""
        if math.isinf(self.epsilon):
            return bits.astype(np.float64)
        odds = shares * np.exp(self.epsilon * bits)
        return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


@lru_cache(maxsize=64)
def _lifetime(epsilon: float, delta: float, releases: int) -> float:
    """What so many releases of a pure ε cost together; randomised response dominates each."""
    event = accounting.rounds(accounting.DiscreteLaplaceDpEvent(epsilon, 1), participations=releases)
    return min(releases * epsilon, accounting.compose([event], adjacency=Adjacency.SUBSTITUTE).epsilon(delta))
