"""A mechanism with its proof, and an audit that tries to refute it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

import discreet as d
from discreet.audits.claims import between
from discreet.privacy.guarantee import Adjacency
from discreet.privacy.mechanisms.mechanism import Sensitivity
from discreet.privacy.noise import rounded_up
from discreet.privacy.release import LatticePayload


@d.register
@dataclass(frozen=True, kw_only=True)
class BoundedCount(d.Mechanism):
    """How many clicks there were, at most `max_count`, with discrete Laplace noise, cut to 0 … `max_count`: ε-DP.

    Proof: a click more or less moves the count by at most 1, and noise of scale 1/ε hides that up to ε. To cut the
    result uses no private data.
    """

    name: ClassVar[str] = "bounded count"
    summary: ClassVar[str] = "a count of clicks up to a limit, with exact noise"
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    epsilon: float
    max_count: int

    def __post_init__(self):
        if not self.epsilon > 0 or self.max_count < 1:
            raise ValueError(
                f"epsilon must be above 0 and max_count at least 1, not {self.epsilon} and {self.max_count}"
            )

    @property
    def scale(self):
        """The noise's scale, rounded up: towards privacy."""
        return rounded_up(1 / Fraction(self.epsilon))

    @property
    def sensitivity(self):
        """One click counts 1."""
        return Sensitivity(l1=1.0, l2=1.0, linf=1.0)

    @property
    def statement(self):
        """The theorem in one sentence."""
        return f"a count with discrete Laplace noise of scale {float(self.scale):.6g} is {self.epsilon:.6g}-DP"

    def event(self):
        """For the accountant."""
        from dp_accounting.dp_event import DiscreteLaplaceDpEvent

        return DiscreteLaplaceDpEvent(float(1 / self.scale), 1)

    def guarantee(self):
        """Pure ε."""
        return self.proved(self.epsilon)

    def checked(self, value):
        """A whole number; more than `max_count` counts as `max_count`."""
        if not isinstance(value, (int, np.integer)) or value < 0:
            raise ValueError(f"a count is a whole number of at least 0, not {value!r}")
        return min(int(value), self.max_count)

    def sample(self, value, noise):
        """The noised count, cut to the range that a count may have."""
        return LatticePayload(np.clip(value + noise.discrete_laplace(self.scale, 1), 0, self.max_count))


d.register(between(BoundedCount(epsilon=1.0, max_count=10), 0, 1, "up to 10, ε=1", runs=40_000))
