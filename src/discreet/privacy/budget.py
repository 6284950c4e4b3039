"""Which budgets there are: below the least noise drowns everything, above the largest there is none to speak of.

Beyond them mechanisms also run out of numbers: noise of a million million steps takes as long, or as much memory.
"""

from __future__ import annotations

import math

from discreet.errors import DiscreetError

MIN_EPSILON = 0.001
MAX_EPSILON = 1000.0


def check_epsilon(epsilon: float, what: str) -> None:
    """Refuse an ε that is neither infinite (no noise) nor within the bounds; `what` names it.

    Raises:
        DiscreetError: It is out of bounds.
    """
    if not (MIN_EPSILON <= epsilon <= MAX_EPSILON or epsilon == math.inf):
        raise DiscreetError(f"{what} must be from {MIN_EPSILON:g} to {MAX_EPSILON:g}, or inf, not {epsilon:g}")
