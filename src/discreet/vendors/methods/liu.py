"""Privacy of users by posterior sampling (Liu et al. 2015, "Fast Differentially Private Matrix Factorization")."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.participation_cost import gaussian_epsilon
from discreet.vendors.methods.bounding import at_most, own_deviation
from discreet.vendors.methods.descent import FOR_USERS, Descent, descend_for_users
from discreet.vendors.methods.private_factors import PrivateFactors
from discreet.vendors.methods.private_start import RATING_SPREAD, TYPICAL_WEIGHT, shares
from discreet.vendors.methods.user_vectors import ItemFactors
from discreet.vendors.partition import Distribution, Level, selected


@dataclass(frozen=True, kw_only=True)
class Liu(PrivateFactors):
    """(ε, δ)-joint differential privacy of users, added or removed.

    Each user keeps at most k ratings (the paper's τ) with weight w = 1/√k, and errors are bounded by κ, the paper's
    name for `error_bound`. Items walk through their posterior by Langevin dynamics; users' vectors stay at the vendor.

    Exact: every round is a Gaussian mechanism. A user adds w·e·x/(E·X) to at most k items, **1** in L2 in all, and
    moves the first release by √2. Noise is the larger of what privacy and what Langevin dynamics need; rounds compose
    exactly in 1/σ². The factors of the last rounds are averaged, since all rounds are accounted for.

    What is claimed: a user's loss Σ w·e² is at most B = √k·κ², so one sample of the density exp(−ε/(4B)·loss) is ε-DP
    with δ = 0, as an exponential mechanism. That is true of an **exact** sample. Langevin dynamics in finitely many
    steps do not draw one, and nothing is known of how far off they are, so the claim does not cover what is released.
    With `calibration="paper"` the noise is that of this density, √(4B·s/(ε·γ)) for a step γ/s, the last state alone is
    used, and the true ε is what the noised rounds prove at δ: each has at least the noise of an item without ratings.
    The first release, which the paper does not have, is counted as one more round.

    Settings were tuned on public ratings, outside of ε (`private_factors`).
    """

    name: ClassVar[str] = "liu"
    summary: ClassVar = "posterior sampling (Liu et al. 2015); protects users"

    ratings_per_user: int = 200
    start_share: float = 0.2
    user_shrinkage: float = 10.0
    rounds: Descent = FOR_USERS

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """Users, everywhere."""
        return Level.USER

    @property
    def heat(self) -> float:
        """Of the density exp(−loss/heat): twice the variance of ratings, or 4B/ε as published."""
        if math.isinf(self.epsilon):
            return 0.0
        if self.calibration is Calibration.EXACT:
            return 2 * RATING_SPREAD**2 * TYPICAL_WEIGHT
        return 4 * math.sqrt(self.ratings_per_user) * self.rounds.error_bound**2 / self.epsilon

    def multipliers(self) -> tuple[float, float]:
        """Least noise over sensitivity, of the first release and of a round."""
        if math.isinf(self.epsilon):
            return 0.0, 0.0
        if self.calibration is Calibration.EXACT:
            return shares(self.gaussian_multiplier(), self.start_share, self.rounds.rounds)
        least = self.rounds.least_noise(self.heat)
        return least, least

    def guarantee(self, vendors: int) -> Guarantee:
        """Proved; with the noise of the paper, with its claim and what the noised rounds prove."""
        rounds = self.rounds.rounds
        text = f"liu, joint DP: {rounds} rounds of Langevin dynamics on the vendors' secure sum"
        if self.calibration is Calibration.EXACT:
            return self.stated(text, epsilon=self.epsilon)
        true = gaussian_epsilon(self.multipliers()[1] / math.sqrt(rounds + 1), self.delta)
        return self.stated(f"{text}, claimed as one exact posterior sample", epsilon=true, claimed=self.epsilon)

    def factors(self, ratings: Ratings, generator: np.random.Generator) -> ItemFactors:
        """The private items' side."""
        kept = selected(ratings, at_most(ratings.user, self.ratings_per_user, generator))
        weights = np.full(len(kept), 1 / math.sqrt(self.ratings_per_user))
        offsets = own_deviation(kept, self.user_shrinkage)
        paper = self.calibration is Calibration.PAPER
        rounds = replace(self.rounds, averaged=0.0) if paper else self.rounds
        return descend_for_users(
            rounds, kept, weights, offsets, self.multipliers(), self.ridge, generator, heat=self.heat
        )
