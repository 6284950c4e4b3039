"""AdaDPALS: DPALS with more of each user's budget for rarely rated items (Krichene et al. 2023, multi-task privacy).

    n̂_j ← noised counts of the first round
    ω_ij ∝ (n̂_j + n₀)^(−γ), with Σ_j ω_ij² = 1 for each user i
    DPALS with ω_ij in place of 1/√(number of ratings of i)

A task (an item) with few users suffers most from noise that is the same for all. The paper weighs tasks by a power of
their private counts. This is our reading, not the paper's text line by line: counts come from the release that DPALS
makes anyway, n₀ is what a count's own noise hides, and γ was tuned on MovieLens 100K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.privacy.guarantee import Guarantee
from discreet.vendors.methods.dpals import DPALS


@dataclass(frozen=True, kw_only=True)
class AdaDPALS(DPALS):
    """(ε, δ)-joint differential privacy of users, added or removed.

    Sensitivity: as in DPALS, whose proof needs of the weights only that each user's squares sum to at most 1. ω_ij
    depends on the user's own items and on noised counts that were released before, so composition is adaptive, and the
    accounting is that of DPALS without a change.
    """

    name: ClassVar[str] = "ada_dpals"
    summary: ClassVar = "DPALS with adaptive weights for tail items (Krichene et al. 2023); protects users"

    tail_exponent: float = 0.25
    """γ: 0 is DPALS."""

    def guarantee(self, vendors: int) -> Guarantee:
        """Proved: Gaussian rounds composed exactly."""
        return self.stated(
            f"ada_dpals, joint DP: {self.rounds + 1} Gaussian rounds on the vendors' secure sum", epsilon=self.epsilon
        )

    def later_weights(self, ratings: Ratings, counts: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
        """ω of each rating."""
        emphasis = (np.maximum(counts, 0.0) + deviation + 1e-3) ** -self.tail_exponent
        squares = np.bincount(ratings.user, emphasis[ratings.item] ** 2, len(ratings.users))
        return np.asarray(emphasis[ratings.item] / np.sqrt(np.maximum(squares, 1e-300))[ratings.user])
