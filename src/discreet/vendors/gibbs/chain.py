"""The Markov chain: what is drawn in each iteration, and in which order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.vendors.gibbs.hyper import ItemHyper, draw_precision
from discreet.vendors.gibbs.prior import ItemPrior, PseudoObservations
from discreet.vendors.gibbs.rows import PseudoRows, RowPrior, design, draw_rows, neighbours

_START_DEVIATION = 0.1
_SHAPE = 10.0
"""ν of the users' noise: the smaller, the more they may differ (5, 10 and 20 predict alike)."""


class Chain:
    """Users' and items' rows (bias, factors), all that they depend on, and one step from there to the next sample."""

    def __init__(self, ratings: Ratings, prior: ItemPrior, rank: int, seed: int) -> None:
        users, items, size = len(ratings.users), len(ratings.items), 1 + rank
        self.mean = float(ratings.value.mean(dtype=np.float64))
        centred = ratings.value - np.float32(self.mean)
        self.by_user = neighbours(ratings.user, ratings.item, centred, users, seed)
        self.by_item = neighbours(ratings.item, ratings.user, centred, items, seed)
        self.rng = np.random.default_rng(seed)
        self.users, self.items = (_START_DEVIATION * self.rng.standard_normal((rows, size)) for rows in (users, items))
        self.user_means, self.item_means = np.zeros_like(self.users), np.zeros_like(self.items)
        """The means around which the rows were drawn."""
        self.noise_precision = 1.0
        self.user_weight = np.ones(users)
        """γ_u: how many times the precision of noise a user's own is."""
        self._user_errors, self._item_errors = np.zeros(users), np.zeros(items)
        self._hyper = ItemHyper(prior.features, prior.groups, size)
        self._observed, self._nothing = known_rows(prior.pseudo, items, size), known_rows(None, users, size)
        self._user_mean, self._user_group = np.zeros((users, size)), np.zeros(users, np.int32)
        self._unrated = np.diff(self.by_item.start) == 0

    def step(self) -> None:
        """Draw the items' prior, the items, the users' prior, the users, and the noise, each given all the rest."""
        self._hyper.draw(self.rng, self.items)
        prior = RowPrior(self._hyper.mean, self._hyper.groups, self._hyper.precision)
        noise = np.full(len(self.items), self.noise_precision)
        given = (design(self.users, self.user_weight), noise, prior, self._observed, self._key())
        draw_rows(self.by_item, *given, self.items, self.item_means, self._item_errors)

        prior = RowPrior(self._user_mean, self._user_group, draw_precision(self.rng, self.users)[None])
        noise = self.noise_precision * self.user_weight
        given = (design(self.items, np.ones(len(self.items))), noise, prior, self._nothing, self._key())
        draw_rows(self.by_user, *given, self.users, self.user_means, self._user_errors)
        self._draw_noise()

    def _draw_noise(self) -> None:
        """α ~ Gamma(1, 1) and γ_u ~ Gamma(ν/2, ν/2), given the squared residuals of each user."""
        counts, errors = np.diff(self.by_user.start), self._user_errors
        squares = float((self.user_weight * errors).sum())
        self.noise_precision = self.rng.gamma(1 + counts.sum() / 2, 1 / (1 + squares / 2))
        self.user_weight = self.rng.gamma((_SHAPE + counts) / 2, 2 / (_SHAPE + self.noise_precision * errors))

    def sample(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Users' and items' rows to predict with.

        A user's row is the mean given the items: its predictions have the same expectation as a draw's, and less
        variance. So is the row of an item without ratings, which no user's row depends on.
        """
        return self.user_means, np.where(self._unrated[:, None], self.item_means, self.items)

    def _key(self) -> np.uint64:
        return self.rng.integers(2**64, dtype=np.uint64)


def known_rows(pseudo: PseudoObservations | None, rows: int, size: int) -> PseudoRows:
    """Pseudo-observations ordered by row, scaled to unit variance."""
    if pseudo is None:
        return PseudoRows(np.zeros(rows + 1, np.int64), np.zeros((0, size)), np.zeros(0))
    if pseudo.direction.shape[1] != size:
        raise ValueError(f"directions need {size} columns (bias and factors), not {pseudo.direction.shape[1]}")
    if len(pseudo.item) and not 0 <= pseudo.item.min() <= pseudo.item.max() < rows:
        raise ValueError(f"items of pseudo-observations must be from 0 to {rows - 1}")
    by_row = np.argsort(pseudo.item, kind="stable")
    start = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(pseudo.item, minlength=rows), out=start[1:])
    deviation: NDArray[np.float64] = pseudo.deviation[by_row]
    return PseudoRows(start, pseudo.direction[by_row] / deviation[:, None], pseudo.value[by_row] / deviation)
