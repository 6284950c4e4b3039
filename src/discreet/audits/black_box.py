"""Black-box examination: tell two worst-case neighbours apart from outputs alone, and count how often it works.

The first fifth of the runs chooses score and threshold; the others, which had no part in the choice, give the bound.
No bound can exceed about ln(n/10), n the number of runs that count, which is why most of them do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.audits.audit_registry import Measure
from discreet.audits.bounds import epsilon_bound, mu_bound
from discreet.audits.scores import FitScore, Nearness, Outputs, choose_test

Sampler = Callable[[int, int], Outputs]


@dataclass(frozen=True)
class BlackBox:
    """Runs of two neighbouring inputs, a fifth of them to choose a test and the rest to count.

    With `gaussian` the bound is μ, the distance in units of σ, and not ε: it is compared with the μ that (ε, δ)
    allows a Gaussian mechanism.
    """

    first: Sampler
    second: Sampler
    runs: int = 100_000
    delta: float = 0.0
    gaussian: bool = False
    scores: tuple[FitScore, ...] = (Nearness(1),)

    @property
    def measure(self) -> Measure:
        """ε, or μ for Gaussian noise."""
        return Measure.MU if self.gaussian else Measure.EPSILON

    @property
    def is_statistical(self) -> bool:
        """Always."""
        return True

    def lower_bound(self, error: float, seed: int) -> float:
        """The bound from the runs that had no part in choosing the test."""
        choosing = self.runs // 5

        def bound(hits: int, false_hits: int, runs: int) -> float:
            if self.gaussian:
                return mu_bound(hits, false_hits, runs, error)
            return epsilon_bound(hits, false_hits, runs, self.delta, error)

        first, second = self.first(self.runs, 2 * seed), self.second(self.runs, 2 * seed + 1)
        test = choose_test(first[:choosing], second[:choosing], self.scores, bound)
        return bound(*test.hits(first[choosing:], second[choosing:]), self.runs - choosing)
