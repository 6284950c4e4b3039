"""Whether a head ranks better than none: a tenth of the readers do not teach it, they judge it.

Who judges is drawn beforehand, for each reader alone. When the head is known, a judge contributes two numbers: g, the
mean over her slates of how much better the head orders them in AUC, in tenths, at most 1 in size; and g². The head
ranks only if the summed g is beyond two standard deviations of noise and chance; Σg² tells how large chance is.

**Theorem.** If what a teacher contributes is (ε, δ)-differentially private, and each aggregator adds discrete Laplace
noise of scale 2/ε to both sums of the judges, then all of it together is (ε, δ)-differentially private for a reader.

**Proof.** A reader teaches or judges, never both. If she judges, the head does not depend on her, and without her the
two sums move by at most |g| + g² ≤ 2 in L1: ε. If she teaches, the judges' numbers depend on her only by the head,
which is post-processing of what is (ε, δ). ∎
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.aggregator_noise import AGGREGATORS
from discreet.data.news import Impressions
from discreet.edge.reader.sums.weight_pull import auc_gains
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.method import Scores
from discreet.privacy.noise import Noise, rounded_up
from discreet.protocol.weight_cells import TENTH

UNIT = 2**12
"""Steps of the lattice in the length 1."""
SENSITIVITY = 2 * UNIT
"""The greatest length of a judge's contribution in L1, on the lattice."""
DEVIATIONS = 2.0

_SHARE = 0.1


def judges(readers: int, drawn: np.random.Generator) -> NDArray[np.bool_]:
    """Which readers judge; what anybody does has no part in it."""
    return np.asarray(drawn.random(readers) < _SHARE)


def judged(
    slates: Impressions, without: Scores, added: Scores, epsilon: float, copies: int, noise: Noise
) -> tuple[float, float]:
    """The mean gain in AUC (of a judge's at most a tenth counts), and the standard deviation of noise and chance in it.

    Args:
        slates: The judges' own.
        without: What their devices scored without a head.
        added: What the head adds.
        epsilon: What it costs a judge; infinity for no noise.
        copies: How many readers each reader stands for.
        noise: Of both aggregators.
    """
    readers = len(np.unique(slates.reader))
    total = copies * judge_contributions(slates, without, added).sum(axis=0)
    scale = 0.0
    if not math.isinf(epsilon):
        exact = rounded_up(Fraction(SENSITIVITY) / Fraction(epsilon))
        scale = float(exact)
        total += sum(noise.discrete_laplace(exact, 2) for _ in range(AGGREGATORS))
    gain, square = total / (UNIT * copies)
    variance = CountLikelihood(scale).variance / (UNIT * copies) ** 2
    chance = max(0.0, square) + DEVIATIONS * math.sqrt(variance)
    worth = TENTH / max(1, readers)
    return float(gain) * worth, math.sqrt(variance + chance) * worth


def judge_contributions(slates: Impressions, without: Scores, added: Scores) -> NDArray[np.int64]:
    """Of each judge g and g², one in a row, on the lattice; each from her own slates alone."""
    row = np.unique(slates.reader, return_inverse=True)[1]
    gains = auc_gains(without + added, without, slates.clicked, slates.slate)
    clicks = np.add.reduceat(slates.clicked.astype(np.int64), slates.slate[:-1]) if len(slates) else np.zeros(0)
    readers = int(row.max(initial=-1)) + 1
    mean = np.bincount(row, gains, readers) / np.maximum(np.bincount(row, clicks > 0, readers), 1)
    mean = np.clip(mean / TENTH, -1, 1)
    return np.trunc(np.column_stack((mean, mean**2)) * UNIT).astype(np.int64)
