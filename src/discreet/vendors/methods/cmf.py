"""CMF: coupled matrix factorization by Langevin dynamics, with privacy of ratings (Ermiş and Cemgil 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.participation_cost import gaussian_epsilon
from discreet.vendors.methods.descent import FOR_RATINGS, Descent, descend_for_ratings
from discreet.vendors.methods.private_factors import PrivateFactors
from discreet.vendors.methods.private_start import RATING_SPREAD, shares
from discreet.vendors.methods.user_vectors import ItemFactors
from discreet.vendors.partition import Distribution, Level


@dataclass(frozen=True, kw_only=True)
class CMF(PrivateFactors):
    """(ε, δ)-joint differential privacy of ratings, added or removed, for users of one vendor each.

    Stochastic gradient Langevin dynamics walk through the posterior of both sides: each round adds to both sides'
    clipped gradients Gaussian noise, the larger of what Langevin dynamics need and what privacy needs. The factors of
    the last rounds are averaged.

    Sensitivity: given the factors of the round before, which are noised on both sides, one rating adds e·(1, u)/(E·X√2)
    to its item and e·(1, v)/(E·X√2) to its user, **1** in L2 together; in the first release √2 on each side, **2**.

    Proof: Gaussian mechanisms, each given the outputs before it, compose exactly in 1/σ²; other vendors see at most all
    rounds. Noise beyond what privacy needs only helps.

    What is claimed: the theorem of Wang, Fienberg and Smola (2015) that the paper stands on asks for noise of
    √(128·T·ln(2.5T/δ)·ln(2/δ))/ε sensitivities in each of T rounds over all ratings, "for free" where steps are so
    small that Langevin dynamics bring it anyway. It holds if gradients are clipped as above, but is far from tight: at
    ε = 10 some 30 times the noise that (ε, δ) needs. With `calibration="paper"` the guarantee states the claim and the
    true, much smaller, ε (the first release counts as one of the rounds).

    Settings were tuned on public ratings, outside of ε (`private_factors`).
    """

    name: ClassVar[str] = "cmf"
    summary: ClassVar = "coupled matrix factorization (Ermiş and Cemgil 2020); protects ratings"

    start_share: float = 0.3
    rounds: Descent = FOR_RATINGS

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """Ratings, everywhere."""
        return Level.RATING

    def multipliers(self) -> tuple[float, float]:
        """Noise over sensitivity, of the first release and of a round."""
        if math.isinf(self.epsilon):
            return 0.0, 0.0
        if self.calibration is Calibration.EXACT:
            return shares(self.gaussian_multiplier(), self.start_share, self.rounds.rounds)
        releases = self.rounds.rounds + 1
        logs = math.log(2.5 * releases / self.delta) * math.log(2 / self.delta)
        each = math.sqrt(128 * releases * logs) / self.epsilon
        return each, each

    def guarantee(self, vendors: int) -> Guarantee:
        """Proved; with the noise of the paper, with its claim and what is true."""
        rounds = self.rounds.rounds
        text = f"cmf, joint DP: {rounds} rounds of Langevin dynamics on the vendors' secure sum"
        if self.calibration is Calibration.EXACT:
            return self.stated(text, epsilon=self.epsilon)
        true = gaussian_epsilon(self.multipliers()[1] / math.sqrt(rounds + 1), self.delta)
        return self.stated(text, epsilon=true, claimed=self.epsilon)

    def factors(self, ratings: Ratings, generator: np.random.Generator) -> ItemFactors:
        """The private items' side."""
        heat = 0.0 if math.isinf(self.epsilon) else 2 * RATING_SPREAD**2
        return descend_for_ratings(self.rounds, ratings, self.multipliers(), generator, heat=heat)
