"""How much of the vendors' error in items' biases sharing could take away at most, by calculation.

    python benchmarks/sharing_bound.py ml-1m.zip --vendors 10 --epsilon 1

A bias of prior variance τ², of which a vendor has n ratings of variance s², is known with precision P = 1/τ² + n/s².
A release whose ratings of the item weigh W together, under noise of deviation σ, adds I = W²/(σ² + s²·Σw²). The mean
over all ratings of 1/(P + I) is what is left of the squared error. Weights of a user's ratings are those of an opening
(norm 1 for each user, as `emphasis` says); counts and biases are taken from all ratings without noise, so that no
release can do better with these weights. The best emphasis follows by iteration: it is proportional to the derivative
of the error by W.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.data.open import open_ratings
from discreet.data.ratings import Ratings
from discreet.vendors.item_features import rating_counts
from discreet.vendors.sharing.contributions import COUNT_WEIGHT, residuals, star
from discreet.vendors.sharing.estimates import BIAS_VARIANCE, RATING_VARIANCE
from discreet.vendors.sharing.plan import FIRST_SHARE, emphasis
from discreet.vendors.sharing.sharing_budget import SharingBudget, usual_colluders

Floats = NDArray[np.float64]
TRAINED = 0.9


def biases(ratings: Ratings) -> Floats:
    """Of all items, from all ratings, in stars; users have levels."""
    count, bias = rating_counts(ratings), np.zeros(len(ratings.items))
    value = (ratings.value - ratings.value.mean(dtype=np.float64)) / star(ratings)
    for _ in range(20):
        left = np.bincount(ratings.user, value - bias[ratings.item], len(ratings.users))
        level = left / (np.bincount(ratings.user, minlength=len(ratings.users)) + 2)
        bias = np.bincount(ratings.item, value - level[ratings.user], len(bias)) / (
            count + RATING_VARIANCE / BIAS_VARIANCE
        )
    return bias


class Bound:
    """What is left of the error at a vendor that has one of `vendors` equal parts."""

    def __init__(self, ratings: Ratings, vendors: int) -> None:
        self.ratings, self.items = ratings, len(ratings.items)
        self.count = rating_counts(ratings)
        self.own = 1 / BIAS_VARIANCE + TRAINED * self.count / vendors / RATING_VARIANCE
        self.others = TRAINED * (vendors - 1) / vendors
        self.first, self.later = (residuals(ratings, offset) for offset in (np.zeros(self.items), biases(ratings)))

    def error(self, precision: Floats | float) -> float:
        """The mean over ratings of the squared error of biases, if the release adds this precision."""
        return float(np.average(1 / (self.own + precision), weights=self.count))

    def weights(self, stress: Floats, residual: Floats) -> tuple[Floats, Floats]:
        """Σw and Σw² of each item's ratings at the others."""
        stressed, user = stress[self.ratings.item], self.ratings.user
        squares = np.bincount(user, stressed**2 * (residual**2 + COUNT_WEIGHT**2), len(self.ratings.users))
        weight = stressed / np.sqrt(squares)[user]
        sums = (np.bincount(self.ratings.item, power, self.items) for power in (weight, weight**2))
        first, second = (self.others * part for part in sums)
        return first, second

    def precision(self, stress: Floats, residual: Floats, sigma: float) -> Floats:
        """I of each item."""
        weight, squares = self.weights(stress, residual)
        return np.asarray(weight**2 / (sigma**2 + RATING_VARIANCE * squares))

    def best(self, start: Floats, sigma: float) -> float:
        """The error with the best emphasis of one opening that has all of the budget."""
        stress, least = start / start.max(), np.inf
        for _ in range(60):
            precision = self.precision(stress, self.later, sigma)
            least = min(least, self.error(precision))
            slope = self.count * self.weights(stress, self.later)[0] / (self.own + precision) ** 2
            stress = np.maximum(stress, 1e-12) ** 0.7 * np.maximum(slope / slope.max(), 1e-9) ** 0.3
            stress /= stress.max()
        return least


def main() -> None:
    """Print the errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ratings", type=Path)
    parser.add_argument("--vendors", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    bound = Bound(open_ratings(options.ratings), options.vendors)
    budget = SharingBudget(options.epsilon, 1e-5, options.vendors, usual_colluders(options.vendors))
    even, alone = np.ones(bound.items), bound.error(0.0)
    stress = emphasis(bound.weights(even, bound.first)[0], budget, 1 - FIRST_SHARE)
    one, first, second = (budget.reader_deviation(1.0, share) for share in (1.0, FIRST_SHARE, 1 - FIRST_SHARE))
    two = bound.precision(even, bound.first, first) + bound.precision(stress, bound.later, second)
    found = {
        "one opening, all items alike": bound.error(bound.precision(even, bound.first, one)),
        "two openings, as released": bound.error(two),
        "one opening, the best emphasis": bound.best(stress, one),
        "no noise": bound.error(bound.others * bound.count / RATING_VARIANCE),
    }
    print(f"squared error of biases, {options.vendors} vendors: {alone:.4f} alone; less, at ε = {options.epsilon:g}:")
    for name, error in found.items():
        print(f"  {alone - error:.4f}  {name}")


if __name__ == "__main__":
    main()
