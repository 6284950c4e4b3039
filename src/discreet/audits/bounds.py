"""From counted runs to lower bounds that hold with a stated confidence.

A test that says "it was the first input" is right with probability p when it was, and says so wrongly with
probability q when it was the second. (ε, δ)-DP means p ≤ e^ε·q + δ for every test, so a p that is surely large and a
q that is surely small refute a small ε.
"""

from __future__ import annotations

import math

from scipy.special import betaincinv, ndtri


def clopper_pearson(hits: int, runs: int, error: float) -> tuple[float, float]:
    """A lower and an upper bound of the probability behind `hits` in `runs`, each wrong with probability ≤ `error`."""
    if not 0 <= hits <= runs or runs < 1:
        raise ValueError(f"hits must be from 0 to the number of runs, at least 1, not {hits} of {runs}")
    low = float(betaincinv(hits, runs - hits + 1, error)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, runs - hits, 1 - error)) if hits < runs else 1.0
    return low, high


def epsilon_bound(hits: int, false_hits: int, runs: int, delta: float, error: float) -> float:
    """ε ≥ ln((p_low − δ)/q_high), wrong with probability at most `error`; 0 where nothing can be said."""
    low, _ = clopper_pearson(hits, runs, error / 2)
    _, high = clopper_pearson(false_hits, runs, error / 2)
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def mu_bound(hits: int, false_hits: int, runs: int, error: float) -> float:
    """μ ≥ Φ⁻¹(p_low) − Φ⁻¹(q_high): how far apart two unit Gaussians are at least, for Gaussian mechanisms."""
    low, _ = clopper_pearson(hits, runs, error / 2)
    _, high = clopper_pearson(false_hits, runs, error / 2)
    return max(0.0, float(ndtri(low) - ndtri(high))) if low > 0 and high < 1 else 0.0


def share_bound(hits: int, runs: int, error: float) -> float:
    """The least share of such runs, wrong with probability at most `error`."""
    return clopper_pearson(hits, runs, error)[0]
