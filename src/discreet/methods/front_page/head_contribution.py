"""What a device contributes to the head, once: what its reader read together, and what she chose.

Its length is 1, or 0 where she has read less than two articles and chosen none.

    c = n(n(R) + n(S)),   n(X) = X/‖X‖, and n(0) = 0
    R = Σ_{i≠j} tᵢ tⱼᵀ                                       over pairs of different articles of her history
    S = Σ_slates n(sym((Σ_j (clicked_j − p_j) t_j) ūᵀ))      sym(A) = (A + Aᵀ)/2

R says which articles are read by the same reader; a history has hundreds of pairs, so it is steadier than S, which has
one click of a slate to learn from. S says what is chosen among what was shown: it is the direction in which the
likelihood of her clicks grows, with p the soft-max of what the device scored without a head, and ū the mean of the
history. Together they teach more than each alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.data.news import Impressions
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.head_articles import SIZE, HeadArticles
from discreet.methods.front_page.symmetric import symmetric_vector, vector_length
from discreet.methods.method import Scores
from discreet.progress import track

Floats = NDArray[np.float64]

LENGTH = vector_length(SIZE)
"""How many numbers a device contributes: those of a symmetric matrix."""

_CHUNK = 512


def head_contributions(slates: Impressions, articles: HeadArticles, scores: Scores) -> Iterator[Floats]:
    """What each reader contributes, one in a row, some at a time, by reader; each from her own data alone.

    Args:
        slates: All that the devices kept. A reader's history is that of her last slate.
        articles: Public vectors.
        scores: What devices scored without a head, for each shown article.
    """
    pulled, means = _pulled(slates, articles, scores), mean_of_history(articles.vectors, slates).astype(np.float64)
    order = np.argsort(slates.reader, kind="stable")
    mine = np.split(order, np.flatnonzero(np.diff(slates.reader[order])) + 1) if len(order) else []
    for start in track(range(0, len(mine), _CHUNK), "Teaching the head"):
        rows = np.zeros((min(_CHUNK, len(mine) - start), LENGTH))
        for row, own in zip(rows, mine[start : start + _CHUNK], strict=True):
            history = articles.vectors[np.unique(slates.history(own[-1]))].astype(np.float64)
            row[:] = symmetric_vector(_unit(_unit(read_together(history)) + _unit(chosen(pulled[own], means[own]))))
        yield rows


def read_together(history: Floats) -> Floats:
    """R, of the vectors of the articles that a reader read, each once."""
    total = history.sum(axis=0)
    return np.asarray(np.outer(total, total) - history.T @ history)


def chosen(pulled: Floats, means: Floats) -> Floats:
    """S, of what each slate pulls towards and the mean of the history then."""
    squares = [np.einsum("nd,nd->n", a, b) for a, b in ((pulled, pulled), (means, means), (pulled, means))]
    length = np.sqrt((squares[0] * squares[1] + squares[2] ** 2) / 2)
    summed = (pulled / np.where(length > 0, length, np.inf)[:, None]).T @ means
    return np.asarray((summed + summed.T) / 2)


def _unit(matrix: Floats) -> Floats:
    length = float(np.linalg.norm(matrix))
    return matrix / length if length > 0 else matrix


def _pulled(slates: Impressions, articles: HeadArticles, scores: Scores) -> Floats:
    """Of each slate Σ_j (clicked_j − p_j) t_j, several clicks sharing it; zeros where nothing was clicked."""
    each, begins = slates.impression_of_shown, slates.slate[:-1]
    clicks = np.add.reduceat(slates.clicked.astype(np.float64), begins)
    chance = np.exp(scores - np.maximum.reduceat(scores, begins)[each])
    chance /= np.add.reduceat(chance, begins)[each]
    surprise = np.where((clicks > 0)[each], slates.clicked / np.maximum(clicks, 1)[each] - chance, 0.0)
    shape = (len(slates), len(articles.vectors))
    return np.asarray(sparse.csr_array((surprise, slates.shown, slates.slate), shape=shape) @ articles.vectors)
