"""A conditional logit: weights that make the clicked articles of each slate likely against those not clicked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions


def fit_choice_weights(
    features: NDArray[np.float64],
    impressions: Impressions,
    ridge: float = 1e-4,
    offset: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """Maximise the likelihood of the clicks: each click is one choice among itself and the slate's unclicked articles.

    The loss is the mean over clicks c of log(e^{s_c} + Σ_{j not clicked} e^{s_j}) − s_c with s = offset + features · w,
    plus ridge·‖w‖²/2 in units of each feature's spread. It is convex, so the optimum does not depend on the start.
    """
    usable = impressions.clicked.any() and (~impressions.clicked).any()
    spread = features.std(axis=0)
    if not usable or not (spread > 0).any():
        return np.zeros(features.shape[1])
    scale = np.where(spread > 0, spread, np.inf)
    scaled = features / scale
    slate = np.repeat(np.arange(len(impressions)), impressions.slate_sizes)
    clicked = impressions.clicked
    clicks = clicked.sum()

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = scaled @ weights + offset
        peak = np.maximum.reduceat(scores, impressions.slate[:-1])[slate]
        rest = np.where(clicked, 0.0, np.exp(scores - peak))
        total = np.bincount(slate, rest)[slate]
        odds = np.log(np.maximum(total, 1e-300)) + peak - scores  # of not choosing this article
        lost = np.where(clicked, 1 / (1 + np.exp(-odds)), 0.0)
        pull = np.bincount(slate, lost)[slate] * rest / np.maximum(total, 1e-300) - lost
        value = np.logaddexp(0, odds[clicked]).sum() / clicks + ridge * weights @ weights / 2
        return float(value), scaled.T @ pull / clicks + ridge * weights

    from scipy.optimize import minimize  # half a second, which who only ranks need not wait for

    best = minimize(loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(best.x / scale)
