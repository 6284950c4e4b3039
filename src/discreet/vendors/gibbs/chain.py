"""The Markov chain: what is drawn in each iteration, and in which order.

Only what data say something about is drawn. Users and items of which there is neither a rating nor a
pseudo-observation are integrated out: their rows would be drawn from the prior, and tell it nothing. The chain's
stationary distribution over everything else is the same with and without them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.vendors.gibbs.hyper import ItemHyper, draw_precision
from discreet.vendors.gibbs.observed import MeasuredRows, draw_measured
from discreet.vendors.gibbs.prior import ItemPrior, PseudoObservations
from discreet.vendors.gibbs.rows import PseudoRows, RowPrior, design, draw_rows, neighbours

_START_DEVIATION = 0.1
_SHAPE = 10.0
"""ν of the users' noise: the smaller, the more they may differ (5, 10 and 20 predict alike)."""


class Chain:
    """Users' and items' rows (bias, factors), all that they depend on, and one step from there to the next sample.

    The rows are those of `active_users` and `active_items`, in this order.
    """

    def __init__(self, ratings: Ratings, prior: ItemPrior, rank: int, seed: int) -> None:
        size = 1 + rank
        check_pseudo(prior.pseudo, len(ratings.items), size)
        self.active_users = np.unique(ratings.user)
        self.active_items, rated = _active_items(ratings, prior.pseudo)
        user, item = _places(self.active_users, len(ratings.users)), _places(self.active_items, len(ratings.items))
        users, items = len(self.active_users), len(self.active_items)
        self.mean = float(ratings.value.mean(dtype=np.float64))
        centred = ratings.value - np.float32(self.mean)
        self.by_user = neighbours(user[ratings.user], item[ratings.item], centred, users, seed)
        self.by_item = neighbours(item[ratings.item], user[ratings.user], centred, items, seed, drawn=rated)
        self.rng = np.random.default_rng(seed)
        self.users, self.items = (_START_DEVIATION * self.rng.standard_normal((rows, size)) for rows in (users, items))
        self.user_means, self.item_means = np.zeros_like(self.users), np.zeros_like(self.items)
        """The means around which the rows were drawn."""
        self.noise_precision = 1.0
        self.user_weight = np.ones(users)
        """γ_u: how many times the precision of noise a user's own is."""
        self._user_errors, self._item_errors = np.zeros(users), np.zeros(items)
        groups = np.unique(prior.groups[self.active_items], return_inverse=True)[1].astype(np.int32)
        self._hyper = ItemHyper(prior.features[self.active_items], groups, size, prior.kinds)
        self._observed, self._nothing = known_rows(prior.pseudo, item, items, size), known_rows(None, user, users, size)
        self._measured = _measured_rows(self._observed, rated, self._hyper)
        self._user_mean, self._user_group = np.zeros((users, size)), np.zeros(users, np.int32)
        self._unrated = np.diff(self.by_item.start) == 0

    def step(self) -> None:
        """Draw the items' prior, the items, the users' prior, the users, and the noise, each given all the rest."""
        self._hyper.draw(self.rng, self.items)
        prior = RowPrior(self._hyper.mean, self._hyper.groups, self._hyper.precision)
        noise = np.full(len(self.items), self.noise_precision)
        given = (design(self.users, self.user_weight), noise, prior, self._observed, self._key())
        draw_rows(self.by_item, *given, self.items, self.item_means, self._item_errors)
        draw_measured(self.rng, self._measured, prior.mean, prior.precision, self.items, self.item_means)

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

    def sample(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Users' and items' rows to predict with, and W, from which the rows of all other items follow.

        A user's row is the mean given the items: its predictions have the same expectation as a draw's, and less
        variance. So is the row of an item without ratings, which no user's row depends on.
        """
        items = np.where(self._unrated[:, None], self.item_means, self.items)
        return self.user_means, items, self._hyper.weights

    def _key(self) -> np.uint64:
        return self.rng.integers(2**64, dtype=np.uint64)


def check_pseudo(pseudo: PseudoObservations | None, items: int, size: int) -> None:
    """Refuse pseudo-observations of another model, or of other items."""
    if pseudo is None:
        return
    if pseudo.direction.shape[1] != size:
        raise ValueError(f"directions need {size} columns (bias and factors), not {pseudo.direction.shape[1]}")
    if len(pseudo.item) and not 0 <= pseudo.item.min() <= pseudo.item.max() < items:
        raise ValueError(f"items of pseudo-observations must be from 0 to {items - 1}")


def known_rows(pseudo: PseudoObservations | None, place: NDArray[np.int32], rows: int, size: int) -> PseudoRows:
    """Pseudo-observations ordered by row (an item's is `place[item]`), scaled to unit variance."""
    if pseudo is None:
        return PseudoRows(np.zeros(rows + 1, np.int64), np.zeros((0, size)), np.zeros(0))
    row = place[pseudo.item]
    by_row = np.argsort(row, kind="stable")
    start = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=start[1:])
    deviation: NDArray[np.float64] = pseudo.deviation[by_row]
    return PseudoRows(start, pseudo.direction[by_row] / deviation[:, None], pseudo.value[by_row] / deviation)


def _active_items(ratings: Ratings, pseudo: PseudoObservations | None) -> tuple[NDArray[np.int64], int]:
    """Items that are drawn: first, and so many, those with ratings or several pseudo-observations; then with one."""
    count = len(ratings.items)
    observed = np.zeros(count, np.int64) if pseudo is None else np.bincount(pseudo.item, minlength=count)
    full = (np.bincount(ratings.item, minlength=count) > 0) | (observed > 1)
    first = np.flatnonzero(full)
    return np.concatenate((first, np.flatnonzero(~full & (observed == 1)))), len(first)


def _places(active: NDArray[np.integer], count: int) -> NDArray[np.int32]:
    place = np.full(count, -1, np.int32)
    place[active] = np.arange(len(active))
    return place


def _measured_rows(observed: PseudoRows, first: int, hyper: ItemHyper) -> MeasuredRows:
    rows = [members[members >= first] for members in hyper.members]
    places = [observed.start[of_group] for of_group in rows]
    return MeasuredRows(rows, [observed.direction[p] for p in places], [observed.value[p] for p in places])
