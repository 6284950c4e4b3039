"""FMF: federated matrix factorization by noised gradients of bounded vectors (Li et al. 2021).

Vectors and errors are bounded, so that one rating's gradient is; each user keeps only some ratings where users are
protected; sampling and the accountant make the noise of all rounds as small as it may be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from dp_accounting import ComposedDpEvent, GaussianDpEvent

from discreet.data.ratings import Ratings
from discreet.privacy.accounting import calibrate, sampled_rounds
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.participation_cost import gaussian_epsilon
from discreet.vendors.methods.bounding import at_most, own_deviation
from discreet.vendors.methods.descent import FOR_RATINGS, FOR_USERS, Descent, descend_for_ratings, descend_for_users
from discreet.vendors.methods.private_factors import PrivateFactors
from discreet.vendors.methods.private_start import shares
from discreet.vendors.methods.user_vectors import ItemFactors
from discreet.vendors.methods.vertical import SharedUsers, VerticalPredictor, transposed
from discreet.vendors.partition import Distribution, Level, check_level, selected
from discreet.vendors.vendor_method import Predictor, Setting, VendorMethod


@dataclass(frozen=True, kw_only=True)
class FMF(PrivateFactors):
    """(ε, δ)-joint differential privacy of users or of ratings, added or removed.

    **Users** (horizontal only). A user keeps at most k = `ratings_per_user` ratings, each with weight 1/√k. One rating
    adds w·e·x/(E·X) to its item, of norm at most w, so a user moves a round by √(k·1/k) = **1** and the first release
    by √2. User vectors are the user's own. Rounds are Gaussian mechanisms, each user joining by a secret coin of
    probability `sampling`, and compose by privacy loss distributions (exactly, for `sampling` = 1). The claim holds.

    **Ratings.** Bounded vectors limit the gradient of one rating, and the noise is scaled to that (thesis 4.2). We read
    it so that users' vectors, which stay at their vendor, are not noised; the thesis leaves that open. Then the scale
    is wrong: one rating moves its user's vector, and so in later rounds the gradients of all else that the user rated.
    If users keep at most k ratings, k − 1 items that stay change by up to 2, the new one by 1 and the one that it may
    displace by 1: the sensitivity is bounded by √(4k − 2), not 1 (and by 2 in the first release, not √2). With
    `calibration="paper"` the guarantee states both. With "exact" the users' vectors are noised as well
    (`descend_for_ratings`): given what was released before, one rating then moves one row on each side, by 1 in L2
    together, and the first release by 2. The same Gaussian composition applies.

    **Vertical** (ratings only): the same with users and items exchanged. Vendors share the users' vectors and each fits
    its own items; users are matched by name, which the vendors must be allowed to do. Privacy of users is refused.

    Settings were tuned on public ratings, outside of ε (`private_factors`).
    """

    name: ClassVar[str] = "fmf"
    summary: ClassVar = (
        "federated matrix factorization (Li et al. 2021); protects users, in a vertical distribution ratings"
    )

    level: Level = Level.USER
    distribution: Distribution = Distribution.HORIZONTAL
    ratings_per_user: int = 200
    sampling: float = 1.0
    start_share: float = 0.2
    user_shrinkage: float = 10.0
    for_users: Descent = FOR_USERS
    for_ratings: Descent = FOR_RATINGS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_level(self.distribution, self.level)
        if self.distribution is Distribution.ARBITRARY:
            raise ValueError("FMF is for horizontal and vertical distributions")
        if not 0 < self.sampling <= 1:
            raise ValueError(f"sampling must be above 0 and at most 1, not {self.sampling}")

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """Users where each has one vendor; ratings elsewhere."""
        return Level.USER if distribution is Distribution.HORIZONTAL else Level.RATING

    @classmethod
    def for_setting(cls, epsilon: float, setting: Setting) -> VendorMethod:
        """For the comparison's distribution."""
        level = cls.level_for(setting.distribution)
        return cls(epsilon=epsilon, level=level, distribution=setting.distribution)

    @property
    def protects(self) -> Level:
        """Users or ratings."""
        return self.level

    @property
    def settings(self) -> Descent:
        """The rounds for this level."""
        return self.for_users if self.level is Level.USER else self.for_ratings

    def multipliers(self) -> tuple[float, float]:
        """Noise over sensitivity, of the first release and of a round."""
        if math.isinf(self.epsilon):
            return 0.0, 0.0
        if self.sampling == 1:
            return shares(self.gaussian_multiplier(), self.start_share, self.settings.rounds)
        return _sampled(self.epsilon, self.delta, self.start_share, self.sampling, self.settings.rounds)

    def guarantee(self, vendors: int) -> Guarantee:
        """Proved, but for ratings with the noise of the paper."""
        rounds = self.settings.rounds
        text = f"fmf, joint DP: {rounds} rounds of noised gradients on the vendors' secure sum"
        if not self._is_leaky:
            return self.stated(text, epsilon=self.epsilon)
        first, later = self.multipliers()
        if math.isinf(self.epsilon):
            return self.stated(text, epsilon=math.inf, claimed=self.epsilon)
        together = 1 / math.sqrt(2 / first**2 + rounds * (4 * self.ratings_per_user - 2) / later**2)
        return self.stated(
            f"{text}, noise for one gradient though a rating moves all of its user's",
            epsilon=gaussian_epsilon(together, self.delta),
            claimed=self.epsilon,
        )

    def factors(self, ratings: Ratings, generator: np.random.Generator) -> ItemFactors:
        """The private side that vendors share."""
        sigmas = self.multipliers()
        if self.level is not Level.USER and not self._is_leaky:
            return descend_for_ratings(self.settings, ratings, sigmas, generator, sampling=self.sampling)
        kept = selected(ratings, at_most(ratings.user, self.ratings_per_user, generator))
        weight, offsets = 1.0, np.zeros(len(kept.users))
        if self.level is Level.USER:
            weight, offsets = 1 / math.sqrt(self.ratings_per_user), own_deviation(kept, self.user_shrinkage)
        weights = np.full(len(kept), weight)
        return descend_for_users(
            self.settings, kept, weights, offsets, sigmas, self.ridge, generator, sampling=self.sampling
        )

    def share(self, vendors: Sequence[Ratings], seed: int) -> ItemFactors | SharedUsers:  # type: ignore[override]
        """Private item factors, or private user factors with the users' names in a vertical distribution."""
        if self.distribution is Distribution.HORIZONTAL:
            return super().share(vendors, seed)
        turned = transposed(vendors)
        return SharedUsers(turned.items.ids, self.factors(turned, np.random.default_rng(seed)))

    def predictor(self, shared: Any, recipient: int, own: Ratings, seed: int) -> Predictor:  # type: ignore[override]
        """The recipient's users fitted to the items, or its items fitted to the users."""
        if self.distribution is Distribution.HORIZONTAL:
            return super().predictor(shared, recipient, own, seed)
        return VerticalPredictor.fitted(shared, own, self.ridge)

    @property
    def _is_leaky(self) -> bool:
        return self.level is not Level.USER and self.calibration is Calibration.PAPER


@lru_cache(maxsize=64)
def _sampled(epsilon: float, delta: float, start_share: float, sampling: float, rounds: int) -> tuple[float, float]:
    """Multipliers of the first release and of the sampled rounds, both in proportion to one that fits the budget."""

    def both(noise: float) -> tuple[float, float]:
        return noise / math.sqrt(start_share), max(0.3, noise * sampling * math.sqrt(rounds / (1 - start_share)))

    def event(noise: float) -> ComposedDpEvent:
        first, later = both(noise)
        joined = sampled_rounds(GaussianDpEvent(later), rate=sampling, rounds=rounds)
        return ComposedDpEvent([GaussianDpEvent(first), joined])

    return both(calibrate(event, epsilon, delta, relative_tolerance=1e-2))
