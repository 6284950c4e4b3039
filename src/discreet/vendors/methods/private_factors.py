"""What the published private factorizations have in common: a budget, and a recipient that fits its own users.

All of them share private item factors, and the recipient fits its users' vectors to them on its own ratings without
noise: **joint differential privacy** (thesis 3.1.2). Against other vendors, only the items' side needs protection.

Guarantees are about the algorithm: other vendors see every noised sum, made under secure aggregation with noise that
is drawn once for the sum and known to none of them. Noise here is float64 from a seed, which serves simulation; a
deployment draws it exactly on a lattice.

The methods follow the thesis' descriptions and common knowledge of the papers, not the papers' texts line by line: what
is said here of a claim is our reading, to be checked against the paper before it is quoted as the paper's. Where
`calibration="paper"` gives a true ε, it is an upper bound for the settings used here, not a measured leak.

What is tuned (dimensions, clips, shares of the budget) was tuned on
MovieLens 100K, on training folds of MovieLens 1M and on generated ratings, outside of ε.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.privacy.guarantee import Adversary, Guarantee, Scope, Status
from discreet.privacy.mechanisms.gaussian import analytic_multiplier
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.vendors.methods.user_vectors import USUAL_RIDGE, FactorPredictor, ItemFactors, UserRidge, fit_users
from discreet.vendors.partition import Distribution, Level, pooled
from discreet.vendors.vendor_method import VendorMethod


@dataclass(frozen=True, kw_only=True)
class PrivateFactors(VendorMethod):
    """A vendor method whose shared part is `ItemFactors`."""

    version: ClassVar[int] = 1

    epsilon: float
    delta: float = 1e-5
    calibration: Calibration = Calibration.EXACT
    ridge: UserRidge = USUAL_RIDGE

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be above 0, not {self.epsilon}")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie between 0 and 1, not {self.delta}")
        object.__setattr__(self, "calibration", Calibration(self.calibration))

    @classmethod
    @abstractmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """The level of privacy where ratings are dealt out in this way."""

    @property
    def protects(self) -> Level:
        """The level of privacy."""
        return self.level_for(Distribution.HORIZONTAL)

    @abstractmethod
    def factors(self, ratings: Ratings, generator: np.random.Generator) -> ItemFactors:
        """Private item factors of all vendors' ratings."""

    @abstractmethod
    def guarantee(self, vendors: int) -> Guarantee:
        """What holds against the other vendors."""

    def share(self, vendors: Sequence[Ratings], seed: int) -> ItemFactors:
        """Private item factors of all vendors' training ratings."""
        return self.factors(pooled(vendors), np.random.default_rng(seed))

    def predictor(self, shared: ItemFactors, recipient: int, own: Ratings, seed: int) -> FactorPredictor:
        """The recipient's users fitted to the shared factors, without noise."""
        return FactorPredictor(shared, fit_users(own, shared, self.ridge), own.scale)

    def gaussian_multiplier(self) -> float:
        """σ/Δ of all Gaussian releases together: 0 where there is no limit to ε."""
        return 0.0 if math.isinf(self.epsilon) else analytic_multiplier(self.epsilon, self.delta)

    def stated(
        self, mechanism: str, *, epsilon: float, delta: float | None = None, claimed: float | None = None
    ) -> Guarantee:
        """A guarantee for a lifetime, against other vendors: proved, or claimed where a claim is given."""
        return Guarantee(
            epsilon=epsilon,
            delta=0.0 if math.isinf(epsilon) else self.delta if delta is None else delta,
            unit=self.protects.unit,
            adjacency=self.protects.adjacency,
            adversary=Adversary.OTHER_VENDORS,
            scope=Scope.LIFETIME,
            status=Status.PROVED if claimed is None else Status.CLAIMED,
            mechanism=mechanism,
            version=self.version,
            claimed_epsilon=claimed,
        )
