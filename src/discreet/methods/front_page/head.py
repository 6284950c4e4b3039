"""A head that learns which interests go together: one sum at the end of training, over all readers.

An article is a public vector t (`head_articles`), a reader the mean ū of her history's. The head adds ūᵀWt to a score,
with a symmetric W. Each device that trains contributes once, a symmetric matrix of length at most 1, whatever its
reader did (`head_contribution`). The sum over readers has discrete Gaussian noise of each aggregator. W is a step along
the mean, after what is noise and chance in its spectrum was taken out (`denoised_matrix`). More steps were not better:
K rounds need √K times the noise.

**Theorem.** Let each aggregator add discrete Gaussian noise of σ = z·unit to every entry, on a lattice of `unit` steps
to the length 1, with z = `participation_cost.multiplier_for(ε, δ, 1)`. Then what the publisher and one aggregator see
of the sum is (ε, δ)-differentially private: unit a reader with her history and all her slates, neighbours in which her
contribution is there or counts as zero.

**Proof.** A contribution has length at most 1 and is cut towards zero to the lattice, so without it the sum, of whole
numbers, moves by at most `unit` in L2 (`privacy.distributed_gaussian`). The honest aggregator's noise alone is that of
the analytic Gaussian for (ε, δ), with room for what a lattice costs (`privacy.accounting.lattice_price`). The other's
noise is post-processing, and so is what is made of the sum. ∎
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.aggregator_noise import AGGREGATORS
from discreet.data.news import Impressions
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.denoised_matrix import denoised, symmetric_deviation
from discreet.methods.front_page.head_articles import SIZE, HeadArticles
from discreet.methods.front_page.head_contribution import LENGTH, head_contributions
from discreet.methods.front_page.symmetric import symmetric_matrix, symmetric_vector
from discreet.methods.method import Scores, State, TrainingTask
from discreet.privacy.distributed_gaussian import DistributedGaussian
from discreet.privacy.noise import Noise

Floats = NDArray[np.float64]

MAX_READERS = 10**8
"""The lattice has room for so many in one sum."""

MIN_READERS, MAX_NOISE = 4000, 0.4
"""From how many readers on a head may be worth its share of ε, and how long the noise on their mean may be."""

_RATE = 30.0


@lru_cache(maxsize=16)
def head_lattice(multiplier: float) -> DistributedGaussian:
    """The noise of two aggregators, of whom one may tell its own, and the lattice; for no noise that of z = 1."""
    return DistributedGaussian(
        multiplier=multiplier or 1.0,
        clip=1.0,
        dimension=LENGTH,
        contributions=MAX_READERS,
        parties=AGGREGATORS,
        quorum=AGGREGATORS,
        colluders=AGGREGATORS - 1,
    )


def is_worth_its_noise(readers: int, multiplier: float) -> bool:
    """Whether so many readers may teach a head: by their number, and by the expected length of the noise on their mean.

    What a head could learn of generated worlds is 0.1 long, in few directions; noise is spread over all.
    """
    return readers >= MIN_READERS and _noise_length(readers, multiplier) <= MAX_NOISE


def _noise_length(readers: int, multiplier: float) -> float:
    """The expected length of the noise on the mean contribution of so many readers."""
    return multiplier * math.sqrt(AGGREGATORS * LENGTH) / max(1, readers)


def learn_head(
    slates: Impressions, articles: HeadArticles, scores: Scores, multiplier: float, copies: int, noise: Noise
) -> Floats:
    """The head that the readers of `slates` teach.

    Args:
        slates: All that their devices kept.
        articles: Public vectors.
        scores: What devices scored without a head, for each shown article.
        multiplier: z; 0 for no noise.
        copies: How many readers each reader stands for.
        noise: Of both aggregators.
    """
    lattice, readers = head_lattice(multiplier), max(1, len(np.unique(slates.reader)))
    total = np.zeros(LENGTH, np.int64)
    for contributions in head_contributions(slates, articles, scores):
        total += copies * lattice.integers(contributions).sum(axis=0)
    if multiplier:
        total += lattice.summed_noise(noise, AGGREGATORS)
    mean = symmetric_matrix(lattice.values(total) / (readers * copies))
    noised = math.hypot(_noise_length(readers * copies, multiplier), readers**-0.5)
    return symmetric_vector(_RATE * denoised(mean, symmetric_deviation(noised, SIZE)))


def head_scores(task: TrainingTask, state: State, impressions: Impressions) -> Scores:
    """What the head adds to the score of each shown article."""
    return matched(HeadArticles.of(task, state), np.asarray(state["head"], np.float64), impressions)


def matched(articles: HeadArticles, weights: Floats, impressions: Impressions) -> Scores:
    """ūᵀWt of each shown article."""
    if not weights.any() or not len(impressions):
        return np.zeros(len(impressions.shown))
    wanted = mean_of_history(articles.vectors, impressions).astype(np.float64) @ symmetric_matrix(weights)
    shown, each = impressions.shown, impressions.impression_of_shown
    return np.asarray(np.einsum("nd,nd->n", articles.vectors[shown], wanted[each]), np.float64)
