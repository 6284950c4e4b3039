"""How much one user or one rating may say: what the sensitivity of everything that vendors sum rests on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings


def even_weights(user: NDArray[np.int32], users: int) -> NDArray[np.float64]:
    """A weight 1/√L for each rating of a user with L ratings, so that each user's squared weights sum to 1.

    If each rating's contribution goes to its own item and has an L2 norm of at most c times its weight, a user moves
    all items' sums together by √(Σ w²·c²) ≤ c in L2. Unlike a limit on the number of ratings, it throws none away.
    """
    return np.asarray(1 / np.sqrt(np.maximum(np.bincount(user, minlength=users), 1))[user])


def at_most(user: NDArray[np.int32], limit: int, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Which ratings to keep so that no user has more than `limit`, at random; each user's choice is the user's own."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    order = generator.permutation(len(user))
    order = order[np.argsort(user[order], kind="stable")]
    grouped = user[order]
    place = np.arange(len(user)) - np.searchsorted(grouped, grouped)
    kept = np.zeros(len(user), dtype=np.bool_)
    kept[order[place < limit]] = True
    return kept


def clipped(vectors: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """Each row, shortened to an L2 norm of `bound` where it is longer."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors * np.minimum(1.0, bound / np.maximum(norms, 1e-300)))


def own_deviation(ratings: Ratings, shrinkage: float) -> NDArray[np.float64]:
    """Each user's mean deviation from the middle of the scale, drawn to 0 by so many ratings; kept at the vendor."""
    users = len(ratings.users)
    total = np.bincount(ratings.user, ratings.value - sum(ratings.scale) / 2, minlength=users)
    return np.asarray(total / (np.bincount(ratings.user, minlength=users) + shrinkage))
