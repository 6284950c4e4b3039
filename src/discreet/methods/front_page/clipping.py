"""To which length a slate's gradient is clipped: to 1, or to a quantile of all lengths that is followed privately.

With a quantile each device contributes one more number a day, in addition to its gradient in units of the clipping
norm: which share of its slates had a gradient within the norm, less ½, times `WEIGHT`. The released sum tells about
which quantile of all lengths the norm is, and the norm of the next day is larger or smaller by a factor (Andrew,
Thakkar, McMahan, Ramaswamy 2021, "Differentially private learning with adaptive clipping"). The number is in the same
vector, has the same noise, and makes a contribution longer by 0.5 %: that is its share of the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

WEIGHT = 0.2
"""The weight of the number, relative to a gradient of length 1."""

_START, _RATE = 8.0, 2.0
_LEAST, _MOST = 1e-3, 1e3


@dataclass(frozen=True)
class Clipping:
    """The clipping norm of a day.

    Attributes:
        quantile: Which quantile of the lengths the norm follows; 0 for a norm that stays.
        norm: The norm of today.
    """

    quantile: float = 0.0
    norm: float = 1.0

    @classmethod
    def at(cls, quantile: float) -> Clipping:
        """The first day's: 1, or where a quantile is followed, about what titles and topics have in the mean."""
        return cls(quantile, _START) if quantile else FIXED

    @property
    def is_adaptive(self) -> bool:
        """Whether devices contribute one more number."""
        return self.quantile > 0

    @property
    def max_length(self) -> float:
        """How long a contribution is at most, before it is rounded."""
        return math.hypot(1.0, WEIGHT / 2) if self.is_adaptive else 1.0

    def after(self, within: float) -> Clipping:
        """The next day's, where a share of `within` of the lengths was within the norm."""
        norm = self.norm * math.exp(_RATE * (self.quantile - min(1.0, max(0.0, within))))
        return replace(self, norm=min(_MOST, max(_LEAST, norm)))


FIXED = Clipping()
"""Every gradient is clipped to 1."""
