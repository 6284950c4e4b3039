"""Bayesian probabilistic matrix factorization (Salakhutdinov and Mnih, 2008) with biases, by Gibbs sampling.

    rating = mean + b_u + c_i + p_u · q_i + N(0, 1/(α γ_u))
    (b_u, p_u) ~ N(0, Λ_U⁻¹)      (c_i, q_i) ~ N((1, features_i) · W, Λ_group(i)⁻¹)

A row's bias and factors are drawn together, so the chain mixes as well as it does without biases. Everything that is
not a rating is learnt: α and each user's γ_u are Gamma, the Λ Wishart, and W normal (see `chain` and `hyper`). Users
differ in how predictable they are; γ_u keeps the erratic from misleading the rest (Lakshminarayanan et al., 2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.progress import track
from discreet.vendors.gibbs.chain import Chain
from discreet.vendors.gibbs.fitted import FittedGibbs
from discreet.vendors.gibbs.prior import ItemPrior


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
        prior = prior or ItemPrior.plain(len(ratings.items))
        if len(prior.features) != len(ratings.items):
            raise ValueError(f"the prior is about {len(prior.features)} items, the ratings about {len(ratings.items)}")
        chain = Chain(ratings, prior, self.rank, seed)
        kept = self.iterations - self.burn_in
        users = np.empty((kept, *chain.users.shape), np.float32)
        items = np.empty((kept, *chain.items.shape), np.float32)
        noise = 0.0
        for iteration in track(range(-self.burn_in, kept), "sampling factors"):
            chain.step()
            if iteration >= 0:
                users[iteration], items[iteration] = chain.sample()
                noise += chain.noise_precision**-0.5 / kept
        return FittedGibbs(
            chain.mean, ratings.scale, users, items, noise, rated_start=chain.by_user.start, rated=chain.by_user.other
        )
