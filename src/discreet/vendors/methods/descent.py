"""Noised gradient rounds of matrix factorization, for privacy of users and for privacy of single ratings.

Both start from `private_means`, and step each item by its noised gradient over its noised count. They differ in what
neighbours may change:

* users: a user's vector is fitted at the user's vendor, exactly, and only items' gradients are noised. Whatever the
  user rates, the user's weights bound what reaches the items.
* ratings: one rating moves its user's vector, and through it the gradients of everything else that the user rated. So
  users' vectors are noised like items' vectors: then one rating touches one row of each side, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.vendors.methods.bounding import clipped
from discreet.vendors.methods.private_start import PrivateMeans, private_means
from discreet.vendors.methods.user_vectors import (
    ItemFactors,
    UserRidge,
    fit_users,
    pair_products,
    weighted_sums,
    with_ones,
)


@dataclass(frozen=True, kw_only=True)
class Descent:
    """Settings of the rounds; all bounds are in stars, all norms L2."""

    dimension: int
    rounds: int
    step: float
    vector_bound: float
    error_bound: float
    start_bound: float = 2.0
    bias_prior: float = 0.6
    later_bias_prior: float = 0.2
    vector_prior: float = 0.4
    ridge: float = 1.0
    """In ratings, how strongly rows are drawn to where they started, noise apart."""
    guess: float = 0.5
    averaged: float = 0.5
    """The share of the rounds, the last ones, whose factors are averaged."""

    def __post_init__(self) -> None:
        if self.dimension < 0 or self.rounds < 1:
            raise ValueError("dimension must be at least 0 and rounds at least 1")
        if not 0 < self.step <= 1:
            raise ValueError(f"step must be above 0 and at most 1, not {self.step}")
        if not (self.vector_bound >= 0 and self.error_bound > 0 and self.start_bound > 0):
            raise ValueError("bounds must be above 0")

    @property
    def row_bound(self) -> float:
        """The bound on ‖(1, vector)‖."""
        return math.sqrt(1 + self.vector_bound**2)

    def item_gradients(
        self, ratings: Ratings, weights: NDArray[np.float64], items: ItemFactors, users: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Σ w·e·(1, u)/(E·X) of each item: a rating of weight w adds a vector of norm at most w to one item."""
        features = with_ones(clipped(users[:, 1:], self.vector_bound))
        errors = self.errors(ratings, items, np.column_stack((users[:, :1], features[:, 1:])))
        return weighted_sums(
            ratings.item, ratings.user, weights * errors, features / self.row_bound, len(ratings.items)
        )

    def both_gradients(
        self, ratings: Ratings, weights: NDArray[np.float64], items: ItemFactors, users: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Σ w·e·(1, u)/(E·X√2) of each item, Σ w·e·(1, v)/(E·X√2) of each user: a rating of weight 1 moves both by 1.

        Rows of both sides must have vectors within the bound already.
        """
        errors = weights * self.errors(ratings, items, users) / math.sqrt(2)
        item_side, user_side = with_ones(users[:, 1:]), with_ones(items.rows[:, 1:])
        return (
            weighted_sums(ratings.item, ratings.user, errors, item_side / self.row_bound, len(ratings.items)),
            weighted_sums(ratings.user, ratings.item, errors, user_side / self.row_bound, len(ratings.users)),
        )

    def errors(self, ratings: Ratings, items: ItemFactors, users: NDArray[np.float64]) -> NDArray[np.float64]:
        """Errors of the predictions, clipped to ±E and in units of E."""
        fitted = items.mean + items.rows[ratings.item, 0] + users[ratings.user, 0]
        fitted += pair_products(users[:, 1:], items.rows[:, 1:], ratings.user, ratings.item)
        return np.asarray(np.clip((ratings.value - fitted) / self.error_bound, -1.0, 1.0))

    def stepped(
        self,
        rows: NDArray[np.float64],
        gradients: NDArray[np.float64],
        counts: NDArray[np.float64],
        biases: NDArray[np.float64],
        sigma: float,
    ) -> NDArray[np.float64]:
        """One step of each row against its noised gradient, drawn to its first bias and to vectors of 0 (`pulls`)."""
        anchor = np.zeros_like(rows)
        anchor[:, 0] = biases
        pulls = self.pulls(counts, sigma)
        return np.asarray(rows + self.step * (gradients - pulls * (rows - anchor)) / (self._curvature(counts) + pulls))

    def pulls(self, counts: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
        """How strongly each coordinate is drawn to its anchor: the more noise, and the fewer ratings, the more.

        Where the curvature is a, steady rounds of step γ leave noise of variance γ/(2 − γ)·ν/a², so the best linear
        estimate of a deviation of prior variance τ² pulls with γ/(2 − γ)·ν/(τ²·a). Noise and counts are known, so this
        is post-processing.
        """
        noise = self.step / (2 - self.step) * (sigma * self.error_bound * self.row_bound) ** 2
        prior = np.array([self.later_bias_prior] + [self.vector_prior] * self.dimension) ** 2
        return np.asarray(self.ridge + noise / (prior * np.maximum(self._curvature(counts), 1e-3)))

    def noise(self, sigma: float, heat: float, counts: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """The standard deviation of the noise on gradients: `sigma`, or what Langevin dynamics need if that is more.

        With a step γ/s, gradient noise of variance `heat`·s/γ makes the rounds a sampler of the density
        exp(−Σ e²/`heat`), up to the error of finite steps.
        """
        if heat == 0:
            return sigma
        scale = self._curvature(counts) + self.pulls(counts, sigma)
        return np.maximum(sigma, np.sqrt(heat * scale / self.step) / (self.error_bound * self.row_bound))

    def least_noise(self, heat: float) -> float:
        """The least that `noise` can be for any item, by its heat alone."""
        return float(np.min(self.noise(0.0, heat, np.zeros(1))))

    def guessed(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Random vectors to start from, within the bound."""
        drawn = generator.standard_normal((count, self.dimension)) * (self.guess / math.sqrt(max(self.dimension, 1)))
        return clipped(drawn, self.vector_bound)

    def _curvature(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """About the second derivative of each coordinate: its ratings times the square of what multiplies it."""
        return np.asarray(
            counts[:, None] * np.array([1.0] + [self.vector_bound**2 / max(self.dimension, 1)] * self.dimension)
        )

    def first_averaged(self) -> int:
        """The first round whose factors are averaged."""
        return min(self.rounds - 1, int((1 - self.averaged) * self.rounds))


FOR_USERS = Descent(
    dimension=5,
    rounds=15,
    step=0.4,
    vector_bound=0.5,
    error_bound=0.7,
    start_bound=1.5,
    later_bias_prior=0.4,
    vector_prior=0.35,
)
"""What is tuned where users are protected."""
FOR_RATINGS = Descent(
    dimension=8,
    rounds=20,
    step=0.6,
    vector_bound=1.0,
    error_bound=1.0,
    later_bias_prior=0.4,
    vector_prior=0.4,
    guess=0.3,
)
"""What is tuned where ratings are protected."""


def descend_for_users(
    settings: Descent,
    ratings: Ratings,
    weights: NDArray[np.float64],
    offsets: NDArray[np.float64],
    sigmas: tuple[float, float],
    ridge: UserRidge,
    generator: np.random.Generator,
    *,
    sampling: float = 1.0,
    heat: float = 0.0,
) -> ItemFactors:
    """Private item factors where users are protected, each with Σ w² ≤ 1.

    A user moves the first release by √2 in L2 (`count_and_sum`) and each round's `item_gradients` by 1.

    Args:
        settings: of the rounds.
        ratings: all vendors'.
        weights: of the ratings.
        offsets: what to take off each user's ratings in the first release, from the user's own ratings alone.
        sigmas: the noise of the first release over √2, and of each round.
        ridge: for the users' vectors in the rounds.
        generator: of coins and noise.
        sampling: with which probability a user takes part in a round, by the user's own secret coin.
        heat: of Langevin dynamics; 0 for none.
    """
    middle = sum(ratings.scale) / 2
    start = _start_of_items(settings, ratings, weights, offsets, math.sqrt(2) * sigmas[0], generator)
    rows = np.column_stack((start.deviations, settings.guessed(len(ratings.items), generator)))
    items = ItemFactors(middle + start.mean, rows)
    total = np.zeros_like(rows)
    unit = settings.error_bound * settings.row_bound
    for number in range(settings.rounds):
        users = fit_users(ratings, items, ridge)
        joining = weights
        if sampling < 1:
            joining = weights * (generator.random(len(ratings.users)) < sampling)[ratings.user]
        gradients = settings.item_gradients(ratings, joining, items, users)
        gradients = gradients + settings.noise(sigmas[1], heat, start.counts) * generator.standard_normal(
            gradients.shape
        )
        rows = settings.stepped(
            items.rows, gradients * unit / sampling, start.counts, start.deviations, sigmas[1] / sampling
        )
        items = ItemFactors(items.mean, rows)
        if number >= settings.first_averaged():
            total += rows
    return ItemFactors(items.mean, total / (settings.rounds - settings.first_averaged()))


def descend_for_ratings(
    settings: Descent,
    ratings: Ratings,
    sigmas: tuple[float, float],
    generator: np.random.Generator,
    *,
    sampling: float = 1.0,
    heat: float = 0.0,
) -> ItemFactors:
    """Private factors of both sides where single ratings are protected.

    A rating moves the first release by 2 in L2 (√2 on each side; the noise is 2·sigmas[0]) and each round's
    `both_gradients` by 1. Other arguments are those of `descend_for_users`.
    """
    ones = np.ones(len(ratings))
    item_start = _start_of_items(settings, ratings, ones, np.zeros(len(ratings.users)), 2 * sigmas[0], generator)
    mean = sum(ratings.scale) / 2 + item_start.mean
    user_start = private_means(
        ratings.user,
        len(ratings.users),
        ones,
        ratings.value - mean - item_start.deviations[ratings.item],
        settings.start_bound,
        2 * sigmas[0],
        settings.bias_prior,
        generator,
    )
    rows = np.column_stack((item_start.deviations, settings.guessed(len(ratings.items), generator)))
    users = np.column_stack((user_start.deviations, settings.guessed(len(ratings.users), generator)))
    total = np.zeros_like(rows)
    unit = settings.error_bound * settings.row_bound * math.sqrt(2)
    for number in range(settings.rounds):
        joining = ones if sampling == 1 else (generator.random(len(ratings)) < sampling).astype(np.float64)
        by_item, by_user = settings.both_gradients(ratings, joining, ItemFactors(mean, rows), users)
        by_item = by_item + settings.noise(sigmas[1], heat, item_start.counts) * generator.standard_normal(
            by_item.shape
        )
        by_user = by_user + settings.noise(sigmas[1], heat, user_start.counts) * generator.standard_normal(
            by_user.shape
        )
        sigma = math.sqrt(2) * sigmas[1] / sampling
        rows = settings.stepped(rows, by_item * unit / sampling, item_start.counts, item_start.deviations, sigma)
        users = settings.stepped(users, by_user * unit / sampling, user_start.counts, user_start.deviations, sigma)
        rows[:, 1:] = clipped(rows[:, 1:], settings.vector_bound)
        users[:, 1:] = clipped(users[:, 1:], settings.vector_bound)
        if number >= settings.first_averaged():
            total += rows
    return ItemFactors(mean, total / (settings.rounds - settings.first_averaged()))


def _start_of_items(
    settings: Descent,
    ratings: Ratings,
    weights: NDArray[np.float64],
    offsets: NDArray[np.float64],
    sigma: float,
    generator: np.random.Generator,
) -> PrivateMeans:
    return private_means(
        ratings.item,
        len(ratings.items),
        weights,
        ratings.value - sum(ratings.scale) / 2 - offsets[ratings.user],
        settings.start_bound,
        sigma,
        settings.bias_prior,
        generator,
    )
