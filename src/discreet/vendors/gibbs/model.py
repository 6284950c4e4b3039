"""Bayesian probabilistic matrix factorization (Salakhutdinov and Mnih, 2008) with biases, by Gibbs sampling.

    rating = mean + b_u + c_i + p_u · q_i + N(0, 1/α)
    (b_u, p_u) ~ N(0, Λ_U⁻¹)      (c_i, q_i) ~ N((1, features_i) · W, Λ_group(i)⁻¹)

A row's bias and factors are drawn together, so the chain mixes as well as it does without biases. Everything that is
not a rating is learnt: α ~ Gamma(1, 1), the Λ are Wishart, and W is normal (see `hyper`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.progress import track
from discreet.vendors.gibbs.fitted import FittedGibbs
from discreet.vendors.gibbs.hyper import ItemHyper, draw_precision
from discreet.vendors.gibbs.prior import ItemPrior, PseudoObservations
from discreet.vendors.gibbs.rows import Known, RowPrior, draw_rows, neighbours, padded

_START_DEVIATION = 0.1


@dataclass(frozen=True)
class GibbsMF:
    """How to factorize: the number of factors, of iterations, and of the first of them that are not kept."""

    rank: int = 24
    iterations: int = 100
    burn_in: int = 20

    def __post_init__(self) -> None:
        if self.rank < 0 or not 0 <= self.burn_in < self.iterations:
            raise ValueError("rank must be at least 0, and burn_in at least 0 and below iterations")

    def fit(self, ratings: Ratings, *, prior: ItemPrior | None = None, seed: int = 0) -> FittedGibbs:
        """Sample the posterior. The same seed gives the same model, whatever the number of threads (numba's)."""
        if not len(ratings):
            raise ValueError(f"{ratings.name}: there are no ratings to fit")
        users, items, size = len(ratings.users), len(ratings.items), 1 + self.rank
        prior = prior or ItemPrior.plain(items)
        if len(prior.features) != items:
            raise ValueError(f"the prior is about {len(prior.features)} items, the ratings about {items}")
        mean = float(ratings.value.mean(dtype=np.float64))
        centred = ratings.value - np.float32(mean)
        by_user = neighbours(ratings.user, ratings.item, centred, users, seed)
        by_item = neighbours(ratings.item, ratings.user, centred, items, seed)
        unrated = np.diff(by_item.start) == 0
        known, nothing = _known(prior.pseudo, items, size), _known(None, users, size)

        rng = np.random.default_rng(seed)
        keys = np.random.SeedSequence(seed).generate_state(2 * self.iterations, np.uint64)
        user_rows, item_rows = (_START_DEVIATION * rng.standard_normal((rows, size)) for rows in (users, items))
        user_means, item_means = np.zeros_like(user_rows), np.zeros_like(item_rows)
        user_errors, item_errors = np.zeros(users), np.zeros(items)
        user_mean, user_group = np.zeros((users, size)), np.zeros(users, np.int32)
        hyper = ItemHyper(prior.features, prior.groups, size)
        noise_precision = 1.0

        kept = self.iterations - self.burn_in
        user_samples = np.empty((kept, users, size), np.float32)
        item_samples = np.empty((kept, items, size), np.float32)
        noise = 0.0
        for iteration in track(range(self.iterations), "sampling factors"):
            hyper.draw(rng, item_rows)
            item_prior = RowPrior(hyper.mean, prior.groups, hyper.precision)
            given = (padded(user_rows), noise_precision, item_prior, known, keys[2 * iteration])
            draw_rows(by_item, *given, item_rows, item_means, item_errors)
            user_prior = RowPrior(user_mean, user_group, draw_precision(rng, user_rows)[None])
            given = (padded(item_rows), noise_precision, user_prior, nothing, keys[2 * iteration + 1])
            draw_rows(by_user, *given, user_rows, user_means, user_errors)
            noise_precision = rng.gamma(1 + len(ratings) / 2, 1 / (1 + user_errors.sum() / 2))
            if iteration >= self.burn_in:
                user_samples[iteration - self.burn_in] = user_means
                item_samples[iteration - self.burn_in] = np.where(unrated[:, None], item_means, item_rows)
                noise += noise_precision**-0.5 / kept
        return FittedGibbs(
            mean, ratings.scale, user_samples, item_samples, noise, rated_start=by_user.start, rated=by_user.other
        )


def _known(pseudo: PseudoObservations | None, rows: int, size: int) -> Known:
    """Pseudo-observations ordered by row, scaled to unit variance."""
    if pseudo is None:
        return Known(np.zeros(rows + 1, np.int64), np.zeros((0, size)), np.zeros(0))
    if pseudo.direction.shape[1] != size:
        raise ValueError(f"directions need {size} columns (bias and factors), not {pseudo.direction.shape[1]}")
    if len(pseudo.item) and not 0 <= pseudo.item.min() <= pseudo.item.max() < rows:
        raise ValueError(f"items of pseudo-observations must be from 0 to {rows - 1}")
    by_row = np.argsort(pseudo.item, kind="stable")
    start = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(pseudo.item, minlength=rows), out=start[1:])
    deviation: NDArray[np.float64] = pseudo.deviation[by_row]
    return Known(start, pseudo.direction[by_row] / deviation[:, None], pseudo.value[by_row] / deviation)
