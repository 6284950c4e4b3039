"""Zero-concentrated DP: ρ-zCDP in the form of (ε, δ), the right account of a discrete Gaussian in many dimensions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ORDERS = 1 + np.logspace(-4, 5, 4000)
_MULTIPLIERS = (1 - 1 / _ORDERS) ** _ORDERS / (_ORDERS - 1)


def gaussian_rho(noise_multiplier: float) -> float:
    """ρ of a Gaussian, discrete or not, whose σ is `noise_multiplier` times the sensitivity: 1/(2·multiplier²)."""
    if not noise_multiplier > 0:
        raise ValueError(f"noise_multiplier must be above 0, not {noise_multiplier}")
    return 1 / (2 * noise_multiplier**2)


def zcdp_delta(rho: float, epsilon: ArrayLike) -> NDArray[np.float64]:
    """δ at each `epsilon`: inf over α > 1 of e^{(α−1)(αρ−ε)}·(1−1/α)^α/(α−1) (Canonne, Kamath, Steinke, Prop. 12).

    Every α gives a valid bound, so the infimum over a fine grid of orders is one too.
    """
    epsilons = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))
    best = np.ones_like(epsilons)
    for at in range(0, len(epsilons), 256):
        exponents = (_ORDERS - 1) * (_ORDERS * rho - epsilons[at : at + 256, None])
        bounds = np.log(_MULTIPLIERS) + exponents
        best[at : at + 256] = np.exp(np.minimum(bounds.min(axis=1), 0.0))
    return best


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The least ε such that ρ-zCDP implies (ε, δ)-DP by `zcdp_delta`: the inverse, exact for each order."""
    if not 0 < delta < 1:
        raise ValueError(f"zCDP needs a delta above 0 and below 1, not {delta}")
    if math.isinf(rho):
        return math.inf
    by_order = _ORDERS * rho + (np.log(_MULTIPLIERS) - math.log(delta)) / (_ORDERS - 1)
    return max(0.0, float(by_order.min()))
