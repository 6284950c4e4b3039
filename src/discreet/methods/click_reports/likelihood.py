"""The likelihood of noised labels, and its gradient.

A model gives the articles of a slate the probabilities p = softmax(s). If the device reported the set Z by subset
selection with ε, the report has the likelihood 1 + (e^ε − 1)·Σ_{c∈Z} p_c, up to a factor that the model cannot change.
Maximising this needs no correction of the labels; with ε = ∞ it is the ordinary likelihood of the click.

Scores have the form s = base + ⟨A_article, d_reader⟩. With P = Σ_{c∈Z} p_c and κ = e^ε − 1 the gradient with respect to
base is κ/(1 + κP)·p_j·(1[j∈Z] − P); that with respect to A follows by the chain rule.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def report_likelihoods(
    slate: NDArray[np.int64],
    shown: NDArray[np.int32],
    inside: NDArray[np.bool_],
    use: NDArray[np.bool_],
    keep: float,
    base: Floats,
    article: Floats,
    reader: Floats,
    by_impression: Floats,
    by_row: Floats,
    by_article: Floats,
) -> None:
    """Fill in each used impression's log-likelihood, and add up the gradients by row and by article.

    Args:
        slate: Where each impression's slate begins in the flat arrays.
        shown: The article of each row.
        inside: Whether the row was in the reported set.
        use: Which impressions count.
        keep: e^{−ε}; with it the likelihood is P + e^{−ε}·(1 − P) up to a factor, which is right at ε = ∞ too.
        base: A score for each row.
        article: A, one row for each article.
        reader: d, one row for each impression.
        by_impression: Receives the log-likelihoods.
        by_row: Receives the gradient with respect to `base`.
        by_article: The gradient with respect to `article` is added to it.
    """
    size = article.shape[1]
    for i in range(len(slate) - 1):
        first, last = slate[i], slate[i + 1]
        if not use[i]:
            continue
        peak = -np.inf
        for j in range(first, last):
            score = base[j]
            for k in range(size):
                score += article[shown[j], k] * reader[i, k]
            by_row[j] = score
            peak = max(peak, score)
        total = 0.0
        hit = 0.0
        for j in range(first, last):
            odds = np.exp(by_row[j] - peak)
            by_row[j] = odds
            total += odds
            if inside[j]:
                hit += odds
        hit /= total
        probability = hit + keep * (1 - hit)
        by_impression[i] = np.log(max(probability, 1e-300))
        pull = (1 - keep) / max(probability, 1e-300)
        for j in range(first, last):
            share = by_row[j] / total
            by_row[j] = pull * share * ((1.0 if inside[j] else 0.0) - hit)
            for k in range(size):
                by_article[shown[j], k] += by_row[j] * reader[i, k]


def keep_of(epsilon: float) -> float:
    """e^{−ε}."""
    return math.exp(-epsilon)
