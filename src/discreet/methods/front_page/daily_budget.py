"""How ε is divided between popularity, weights and head: one budget for a reader's day, or for her life.

**A day.** The head is trained once, and costs ε₃ for all that a reader ever gave to it. So a day that it learnt from
costs what popularity and weights have of that day, ε₁ + ε₂, and ε₃: they have ε − ε₃ on such a day. From a later day
nothing goes into the head, so popularity and weights have all of ε.

**A life** of at most D days. The head comes on top of the days, once; δ is halved between the two. For the days there
are two ways, and popularity takes the one with less noise in a cell. That is public: it depends on ε, δ, D and k alone.

- *Discrete Laplace noise.* Each ε₁ + ε₂ costs at most what randomised response costs, and D of them are composed.
- *Discrete Gaussian noise.* The life is ρ-zCDP, with the largest ρ that implies (ε, δ). A day has ρ/D. A sum of weights
  has discrete Laplace noise as before and costs ε₂²/2 of it; popularity has the rest, ρ₁ = ρ/D − ε₂²/2.

With k clicks a day Laplace noise grows with k, the clicks' length in L1, and Gaussian noise with √k, that in L2. Over
D days Laplace noise grows like D at first, and like √D when composition helps; Gaussian noise grows like √D at once.

**Proof for Gaussian noise.** Along every course the popularity sums of a day are ρ₁-zCDP (`aggregator_noise`, "Per
day"), and the weights' sum, which is ε₂-DP, is ε₂²/2-zCDP (Bun, Steinke 2016). The ρ of what is chosen by earlier
results add up as long as the device keeps their sum to a bound fixed beforehand (`privacy.filter`). So D days are
D·(ρ₁ + ε₂²/2)-zCDP, which is at most ρ, and n days imply the ε of n·(ρ₁ + ε₂²/2) at δ, whether n is less or more
than D. The noise is that of (ε_day, δ_day), which a task's terms name; its ρ is ρ₁, rounded down (`DayPrice.of_rho`). ∎
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.head import head_lattice
from discreet.methods.front_page.windows import min_exposure
from discreet.privacy import accounting
from discreet.privacy.accounting.zcdp import gaussian_rho
from discreet.privacy.filter import Spent
from discreet.privacy.guarantee import Adjacency
from discreet.privacy.mechanisms.lattice import zcdp_multiplier
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
        """ε₁ + ε₂ of a day, from which the head learns or not, where all its noise is discrete Laplace."""
        if math.isinf(self.epsilon):
            return self.epsilon
        if self.max_days:
            return _daily_epsilon(self.epsilon - self.head_epsilon, self._days_delta, self.max_days)
        return self.epsilon - self.head_epsilon if teaches else self.epsilon

    def popularity_prices(self, *, teaches: bool = False) -> list[DayPrice]:
        """What popularity may take of a day: discrete Laplace noise, and in a budget for life discrete Gaussian."""
        laplace = DayPrice(self.sums_epsilon(teaches=teaches) * (1 - self._weights_part(teaches=teaches)))
        if not self.max_days or not laplace.has_noise:
            return [laplace]
        whole = gaussian_rho(zcdp_multiplier(self.epsilon - self.head_epsilon, self._days_delta))
        rest = whole / self.max_days - self.weights_epsilon(teaches=teaches) ** 2 / 2
        gaussian = DayPrice.of_rho(rest, self._days_delta)
        return [laplace] if gaussian is None else [laplace, gaussian]

    def popularity_price(self, max_clicks: int, *, teaches: bool = False) -> DayPrice:
        """What popularity takes of a day, if so many clicks of a reader count: what has less noise in a cell."""
        return min(self.popularity_prices(teaches=teaches), key=lambda price: min_exposure(price, max_clicks))

    def weights_epsilon(self, *, teaches: bool = False) -> float:
        """ε₂ of a day."""
        return self.sums_epsilon(teaches=teaches) * self._weights_part(teaches=teaches)

    def lifetime(self, days: int, max_clicks: int) -> float:
        """ε, at δ, of a reader who contributes on so many days; if there is a head, it learnt from one at least."""
        if math.isinf(self.epsilon):
            return self.epsilon
        price = self.popularity_price(max_clicks)
        if price.delta:
            a_day = [(price.epsilon, price.delta), (self.weights_epsilon(), 0.0)]
            head = self._head_cost(self._head_delta) if self.head else 0.0
            return Spent.of(a_day * days).at(self._days_delta) + head
        each = (self.sums_epsilon(teaches=True), *[self.sums_epsilon()] * (days - 1))
        if not self.head:
            return _composed(each, self.delta)
        halves = _composed(each, self.delta / 2) + self._head_cost(self.delta / 2)
        return min(halves, sum(each) + self._head_cost(self.delta))

    @property
    def _days_delta(self) -> float:
        """δ of all days together, in a budget for life."""
        return self.delta / 2 if self.head else self.delta

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
