"""DPALS with public item features, by collective factorization (Curmei et al. 2023).

    repeat:  u, A_j, g_j as in DPALS                                   (noised sums over users)
             W ← ridge regression of V on the public features F        (no user takes part: free of charge)
             V_j ← solution of A_j s = g_j with a ridge that draws V_j to F_j·W

Factorizing the ratings and the public features together draws an item of which little is known to what its features
say. This is our reading: the paper factorizes both matrices with shared item vectors, of which F·W is the linear case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Items
from discreet.privacy.guarantee import Guarantee
from discreet.vendors.item_features import public_features
from discreet.vendors.methods.ada_dpals import AdaDPALS
from discreet.vendors.methods.user_vectors import ItemFactors


@dataclass(frozen=True, kw_only=True)
class FeatureDPALS(AdaDPALS):
    """(ε, δ)-joint differential privacy of users, added or removed.

    Features are public and V was released, so W and what V is drawn to are post-processing: the proof of DPALS holds
    without a change. It has the adaptive weights of AdaDPALS, too: the strongest form that we know.
    """

    name: ClassVar[str] = "feature_dpals"
    summary: ClassVar = "AdaDPALS with public item features (Curmei et al. 2023); protects users"

    feature_ridge: float = 50.0
    """In items."""

    def guarantee(self, vendors: int) -> Guarantee:
        """Proved: Gaussian rounds composed exactly."""
        return self.stated(
            f"feature_dpals, joint DP: {self.rounds + 1} Gaussian rounds on the vendors' secure sum",
            epsilon=self.epsilon,
        )

    def drawn_to(self, items: Items, before: ItemFactors) -> NDArray[np.float64]:
        """F·W."""
        features = public_features(items)
        if not features.shape[1]:
            return np.zeros_like(before.rows)
        gram = features.T @ features + self.feature_ridge * np.eye(features.shape[1])
        return np.asarray(features @ np.linalg.solve(gram, features.T @ before.rows))
