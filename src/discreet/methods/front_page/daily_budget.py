"""How ε is divided between popularity, weights and head: one budget for a reader's day, or for her life.

**A day.** The head is trained once, and costs ε₃ for all that a reader ever gave to it. So a day that it learnt from
costs what popularity and weights have of that day, ε₁ + ε₂, and ε₃: they have ε − ε₃ on such a day. From a later day
nothing goes into the head, so popularity and weights have all of ε.

**A life** of at most D days. Each ε₁ + ε₂ costs at most what randomised response costs, D of them are composed, and the
head comes on top, once; δ is halved between the two.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from discreet.methods.front_page.head import head_lattice
from discreet.privacy import accounting
from discreet.privacy.guarantee import Adjacency
from discreet.privacy.participation_cost import epsilon_seen, multiplier_for


@dataclass(frozen=True)
class DailyBudget:
    """What each part has.

    Attributes:
        epsilon: ε of a reader's day; with `max_days`, of her life.
        delta: δ.
        max_days: D; 0 for a budget of a day.
        head: The head's share of ε.
        weights: The weights' share of ε.
    """

    epsilon: float
    delta: float
    max_days: int
    head: float
    weights: float

    @property
    def head_epsilon(self) -> float:
        """ε₃, of all that a reader ever gives to the head."""
        return self.head * self.epsilon if self.head else 0.0

    @property
    def head_multiplier(self) -> float:
        """z, each aggregator's noise over the length of a contribution; 0 for no noise."""
        if math.isinf(self.epsilon) or not self.head:
            return 0.0
        return multiplier_for(self.head_epsilon, self._head_delta, 1)

    def sums_epsilon(self, *, teaches: bool = False) -> float:
        """ε₁ + ε₂ of a day, from which the head learns or not."""
        if math.isinf(self.epsilon):
            return self.epsilon
        if self.max_days:
            left = self.epsilon - self.head_epsilon
            return _daily_epsilon(left, self.delta / 2 if self.head else self.delta, self.max_days)
        return self.epsilon - self.head_epsilon if teaches else self.epsilon

    def popularity_epsilon(self, *, teaches: bool = False) -> float:
        """ε₁ of a day."""
        return self.sums_epsilon(teaches=teaches) * (1 - self._weights_part(teaches=teaches))

    def weights_epsilon(self, *, teaches: bool = False) -> float:
        """ε₂ of a day."""
        return self.sums_epsilon(teaches=teaches) * self._weights_part(teaches=teaches)

    def lifetime(self, days: int) -> float:
        """ε, at δ, of a reader who contributes on so many days; if there is a head, it learnt from one at least."""
        each = (self.sums_epsilon(teaches=True), *[self.sums_epsilon()] * (days - 1))
        if not self.head:
            return _composed(each, self.delta)
        halves = _composed(each, self.delta / 2) + self._head_cost(self.delta / 2)
        return min(halves, sum(each) + self._head_cost(self.delta))

    @property
    def _head_delta(self) -> float:
        return self.delta / 2 if self.max_days else self.delta

    def _head_cost(self, delta: float) -> float:
        z = self.head_multiplier
        return epsilon_seen(z, delta, 1, price=head_lattice(z).price(1))

    def _weights_part(self, *, teaches: bool) -> float:
        shared = teaches or self.max_days
        return self.weights / (1 - self.head) if shared else self.weights


@lru_cache(maxsize=64)
def _composed(each: tuple[float, ...], delta: float) -> float:
    """What days of a pure ε each cost together.

    Discrete Laplace noise with a sensitivity of 1 has a privacy loss of ±ε and nothing between, as randomised response
    has, which dominates whatever is ε-DP.
    """
    events = [
        accounting.rounds(accounting.DiscreteLaplaceDpEvent(epsilon, 1), participations=days)
        for epsilon, days in Counter(each).items()
    ]
    return min(sum(each), accounting.compose(events, adjacency=Adjacency.ZERO_OUT).epsilon(delta))


@lru_cache(maxsize=64)
def _daily_epsilon(epsilon: float, delta: float, days: int) -> float:
    """The largest ε of a day with which so many days cost at most `epsilon`."""

    def of_life(noise: float) -> accounting.DpEvent:
        return accounting.rounds(accounting.DiscreteLaplaceDpEvent(1 / noise, 1), participations=days)

    return max(epsilon / days, 1 / accounting.calibrate(of_life, epsilon, delta))
