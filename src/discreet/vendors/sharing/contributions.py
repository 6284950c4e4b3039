"""What one user adds to the sums that vendors share: whole numbers, of bounded norm whatever the ratings are.

Every function takes one vendor's ratings and gives the sum of its users' contributions. A user's contribution depends
on that user's own ratings and on what is public already, on nothing else. Values are cut towards zero to the lattice,
which makes no norm longer, so the bounds hold exactly:

* `opening`: a user's vector (all sums and counts) has L2 norm at most `UNIT`;
* `pairs`: a user's vector (the strict upper triangle of v·vᵀ with ‖v‖ ≤ 1) has L2 norm at most `UNIT`/√2, since
  Σ_{i<j} (v_i·v_j)² = (‖v‖⁴ − Σ v_i⁴)/2;
* `projections`: a user's matrix (items by directions, each row x_i·q with ‖x‖, ‖q‖ ≤ 1) has L2 norm at most `UNIT`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.data.ratings import Ratings

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

UNIT = 2**40
"""The lattice steps of a contribution of norm 1."""

COUNT_WEIGHT = 0.3
"""The weight of a count in a user's opening vector, relative to a residual of one star (of five)."""

_ROOT_UNIT = 2**20
_MIN_SQUARES = 2.0**-600
_CENTRE_STRENGTH = 2.0
_PROFILE_PRECISION = 20.0
_LEVEL_PRECISION = 2.0


@dataclass(frozen=True, eq=False)
class Directions:
    """What is public after the first rounds, and what projections are made of.

    Attributes:
        offset: An expected residual of each item.
        popular: The items that directions are about, best known first.
        basis: For each popular item a row with its loading on each direction.
        emphasis: How much each item's ratings weigh.
    """

    offset: Floats
    popular: Integers
    basis: Floats
    emphasis: Floats

    @property
    def rank(self) -> int:
        """How many directions there are."""
        return int(self.basis.shape[1])


def residuals(ratings: Ratings, offset: Floats) -> Floats:
    """Each rating less its item's offset, and less the mean of what its user has then, shrunk to the scale's middle.

    In stars. No other user's rating takes part: to centre on a vendor's mean would let one user move all contributions.
    """
    low, high = ratings.scale
    count = np.bincount(ratings.user, minlength=len(ratings.users))
    value = (ratings.value.astype(np.float64) - (low + high) / 2) / star(ratings) - offset[ratings.item]
    centre = np.bincount(ratings.user, value, len(ratings.users)) / (count + _CENTRE_STRENGTH)
    return np.asarray(value - centre[ratings.user])


def opening(ratings: Ratings, emphasis: Floats, offset: Floats) -> Integers:
    """Sums of weighted residuals, then of weights, of each item; a user's ratings weigh as `emphasis` of the items."""
    residual, users, items = residuals(ratings, offset), len(ratings.users), len(ratings.items)
    stress = emphasis[ratings.item]
    weight = (
        stress * _inverse(np.bincount(ratings.user, stress**2 * (residual**2 + COUNT_WEIGHT**2), users))[ratings.user]
    )
    return np.concatenate(
        (
            _summed(ratings.item, cut(residual * weight, UNIT, items), items),
            _summed(ratings.item, cut(COUNT_WEIGHT * weight, UNIT, items), items),
        )
    )


def pairs(ratings: Ratings, offset: Floats, popular: Integers) -> Integers:
    """Strict upper triangle of Σ_u v·vᵀ, row by row; v are a user's residuals of popular items, of norm 1."""
    user, column, residual = _of_popular(ratings, offset, popular)
    users = len(ratings.users)
    seen = np.bincount(user, minlength=users)
    residual = residual - (np.bincount(user, residual, users) / (seen + _CENTRE_STRENGTH))[user]
    weight = _inverse(np.bincount(user, residual**2, users))[user]
    rows = csr_array((cut(residual * weight, _ROOT_UNIT, len(popular)), (user, column)), shape=(users, len(popular)))
    return np.asarray((rows.T @ rows).toarray()[np.triu_indices(len(popular), 1)], dtype=np.int64)


def projections(ratings: Ratings, directions: Directions) -> Integers:
    """Σ_u x·qᵀ of each item (row by row): x are a user's residuals of norm 1, q her profile of norm 1."""
    residual = residuals(ratings, directions.offset) * directions.emphasis[ratings.item]
    users, items = len(ratings.users), len(ratings.items)
    weight = _inverse(np.bincount(ratings.user, residual**2, users))[ratings.user]
    profile = profiles(ratings, directions)
    profile *= _inverse(np.square(profile).sum(axis=1))[:, None]
    weighted = residual * weight
    columns = [
        _summed(ratings.item, cut(weighted * profile[ratings.user, k], UNIT, items), items)
        for k in range(directions.rank)
    ]
    return np.stack(columns, axis=1).ravel()


def profiles(ratings: Ratings, directions: Directions) -> Floats:
    """How far each user's own residuals of popular items lean to each direction: ridge regression, user by user."""
    user, column, residual = _of_popular(ratings, directions.offset, directions.popular)
    design = np.column_stack((np.ones(len(directions.basis)), directions.basis))
    size, users, popular = design.shape[1], len(ratings.users), len(directions.basis)
    rated = csr_array((np.ones(len(user)), (user, column)), shape=(users, popular))
    valued = csr_array((residual, (user, column)), shape=(users, popular))
    grams = (rated @ (design[:, :, None] * design[:, None, :]).reshape(popular, -1)).reshape(users, size, size)
    grams += np.diag([_LEVEL_PRECISION] + [_PROFILE_PRECISION] * (size - 1))
    return np.asarray(np.linalg.solve(grams, (valued @ design)[:, :, None])[:, 1:, 0])


def _of_popular(ratings: Ratings, offset: Floats, popular: Integers) -> tuple[Integers, Integers, Floats]:
    column = np.full(len(ratings.items), -1, np.int64)
    column[popular] = np.arange(len(popular))
    chosen = column[ratings.item] >= 0
    residual = residuals(ratings, offset)
    return ratings.user[chosen].astype(np.int64), column[ratings.item[chosen]], residual[chosen]


def star(ratings: Ratings) -> float:
    """A quarter of the scale: 1 on a scale from 1 to 5."""
    low, high = ratings.scale
    return (high - low) / 4


def _inverse(squares: NDArray[Any]) -> Floats:
    """1/√squares, and 0 for those who have nothing to contribute, or so little that its squares lose their digits."""
    enough = squares > _MIN_SQUARES
    return np.asarray(np.where(enough, 1 / np.sqrt(np.where(enough, squares, 1.0)), 0.0))


def cut(values: Floats, unit: int, terms: int) -> Integers:
    """To the lattice, towards zero; the slack is more than float64 may err upwards in a norm of so many terms."""
    slack = max(2.0**-40, (terms + 16) * 2.0**-52)
    return np.trunc(values * (unit * (1 - slack))).astype(np.int64)


def _summed(item: NDArray[np.int32], integers: Integers, items: int) -> Integers:
    """Exact sums by item."""
    sums = np.zeros(items, np.int64)
    np.add.at(sums, item, integers)
    return sums
