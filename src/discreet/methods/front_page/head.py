"""A head that learns which interests go together: one sum at the end of training, over all readers and their slates.

An article is a public vector t (`head_articles`), a reader the mean ū of her history's. The head adds ūᵀWt to a score,
with a symmetric W. Each device that trains contributes once, from all slates with a click that it kept:

    c = n(Σ_slates n(sym((Σ_j (clicked_j − p_j) t_j) ūᵀ))),   n(x) = x/‖x‖,   sym(A) = (A + Aᵀ)/2,

where p is the soft-max of what the device scored without a head: its own features, and popularity as it was known then.
This is the direction in which the slates' likelihood grows from W = 0. Its length is 1, whatever the reader did. The
sum over readers has discrete Gaussian noise of each aggregator. W is a step along the mean, after what is noise and
chance in its spectrum was taken out (`denoised_matrix`). More steps were not better: K rounds need √K times the noise.

**Theorem.** Let each aggregator add discrete Gaussian noise of σ = z·unit to every entry, on a lattice of `unit` steps
to the length 1, with z = `participation_cost.multiplier_for(ε, δ, 1)`. Then what the publisher and one aggregator see
of the sum is (ε, δ)-differentially private: unit a reader with all her slates, neighbours in which her contribution is
there or counts as zero.

**Proof.** A contribution has length at most 1 and is cut towards zero to the lattice, so without it the sum, of whole
numbers, moves by at most `unit` in L2 (`privacy.distributed_gaussian`). The honest aggregator's noise alone is that of
the analytic Gaussian for (ε, δ), with room for what a lattice costs (`privacy.accounting.lattice_price`). The other's
noise is post-processing, and so is what is made of the sum. ∎
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.aggregation.aggregator_noise import AGGREGATORS
from discreet.data.news import Impressions
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.denoised_matrix import denoised, symmetric_deviation
from discreet.methods.front_page.head_articles import SIZE, HeadArticles
from discreet.methods.method import Scores, State, TrainingTask
from discreet.privacy.distributed_gaussian import DistributedGaussian
from discreet.privacy.noise import Noise

Floats = NDArray[np.float64]

LENGTH = SIZE * (SIZE + 1) // 2
"""What a device contributes: the entries of a symmetric matrix on and above its diagonal, those above times √2."""
MAX_READERS = 10**8
"""The lattice has room for so many in one sum."""

MIN_READERS, MAX_NOISE = 4000, 0.2
"""From how many readers on a head may be worth its share of ε, and how long the noise on their mean may be."""

_RATE = 50.0
_CHUNK = 512


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

    What a head could learn of generated worlds is 0.03 long, in few directions; noise is spread over all.
    """
    return readers >= MIN_READERS and noise_length(readers, multiplier) <= MAX_NOISE


def noise_length(readers: int, multiplier: float) -> float:
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
    mean = head_matrix(lattice.values(total) / (readers * copies))
    noised = math.hypot(noise_length(readers * copies, multiplier), readers**-0.5)
    found = _RATE * denoised(mean, symmetric_deviation(noised, SIZE))
    return head_weights(found)


def head_contributions(slates: Impressions, articles: HeadArticles, scores: Scores) -> Iterator[Floats]:
    """What each reader with a click contributes, one in a row, some at a time; each from her own slates alone."""
    readers = mean_of_history(articles.vectors, slates).astype(np.float64)
    pulled = _pulled(slates, articles, scores)
    lengths = [np.einsum("nd,nd->n", a, b) for a, b in ((pulled, pulled), (readers, readers), (pulled, readers))]
    length = np.sqrt((lengths[0] * lengths[1] + lengths[2] ** 2) / 2)
    pulled /= np.where(length > 0, length, np.inf)[:, None]
    order = np.argsort(slates.reader, kind="stable")
    order = order[length[order] > 0]
    left, right = _above(SIZE)
    for some in _by_reader(slates.reader[order]):
        rows = order[some]
        gradient = pulled[rows][:, left] * readers[rows][:, right] + pulled[rows][:, right] * readers[rows][:, left]
        gradient *= _factor(SIZE) / 2
        summed = np.add.reduceat(gradient, np.flatnonzero(np.diff(slates.reader[rows], prepend=-1)), axis=0)
        norm = np.linalg.norm(summed, axis=1, keepdims=True)
        yield summed / np.where(norm > 0, norm, np.inf)


def head_scores(task: TrainingTask, state: State, impressions: Impressions) -> Scores:
    """What the head adds to the score of each shown article."""
    return matched(HeadArticles.of(task, state), np.asarray(state["head"], np.float64), impressions)


def matched(articles: HeadArticles, weights: Floats, impressions: Impressions) -> Scores:
    """ūᵀWt of each shown article."""
    if not weights.any() or not len(impressions):
        return np.zeros(len(impressions.shown))
    wanted = mean_of_history(articles.vectors, impressions).astype(np.float64) @ head_matrix(weights)
    shown, each = impressions.shown, impressions.impression_of_shown
    return np.asarray(np.einsum("nd,nd->n", articles.vectors[shown], wanted[each]), np.float64)


def head_matrix(weights: Floats) -> Floats:
    """W, from what stands for it in a sum."""
    size = math.isqrt(2 * len(weights))
    matrix = np.zeros((size, size))
    matrix[_above(size)] = weights / _factor(size)
    return np.asarray(matrix + np.triu(matrix, 1).T)


def head_weights(matrix: Floats) -> Floats:
    """What stands for W in a sum."""
    return np.asarray(matrix[_above(len(matrix))] * _factor(len(matrix)))


def _pulled(slates: Impressions, articles: HeadArticles, scores: Scores) -> Floats:
    """Of each slate Σ_j (clicked_j − p_j) t_j, several clicks sharing it; zeros where nothing was clicked."""
    each, begins = slates.impression_of_shown, slates.slate[:-1]
    clicks = np.add.reduceat(slates.clicked.astype(np.float64), begins)
    chance = np.exp(scores - np.maximum.reduceat(scores, begins)[each])
    chance /= np.add.reduceat(chance, begins)[each]
    surprise = np.where((clicks > 0)[each], slates.clicked / np.maximum(clicks, 1)[each] - chance, 0.0)
    shape = (len(slates), len(articles.vectors))
    return np.asarray(sparse.csr_array((surprise, slates.shown, slates.slate), shape=shape) @ articles.vectors)


def _by_reader(reader: NDArray[np.int32]) -> Iterator[slice]:
    """Slices of some hundred slates that part no reader's."""
    begin = 0
    while begin < len(reader):
        end = min(begin + _CHUNK, len(reader))
        end = int(np.searchsorted(reader, reader[end - 1], side="right"))
        yield slice(begin, end)
        begin = end


@lru_cache(maxsize=4)
def _above(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(size)


@lru_cache(maxsize=4)
def _factor(size: int) -> Floats:
    return np.where(np.equal(*_above(size)), 1.0, math.sqrt(2))
