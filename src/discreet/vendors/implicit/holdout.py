"""What is held out to be recommended: each user's last items where there are times, random ones otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.vendors.partition import Fold, selected

HELD_OUT = 0.2
"""The share of a user's items, rounded, at least one and never all: who has a single item is trained on only."""


def leave_last_out(purchases: Ratings, *, seed: int = 0) -> Fold:
    """Hold out a fifth of each user's items: the last ones, or random ones where a time is missing."""
    held = _last(purchases, seed)
    return Fold(selected(purchases, ~held), selected(purchases, held))


def leave_last_out_by_users(purchases: Ratings, folds: int, *, seed: int = 0) -> Iterator[Fold]:
    """In each fold the same is held out of other users, and of each user once; all else is trained on."""
    held, fold = _last(purchases, seed), np.random.default_rng(seed).permutation(len(purchases.users)) % folds
    for number in range(folds):
        tested = held & (fold[purchases.user] == number)
        yield Fold(selected(purchases, ~tested), selected(purchases, tested))


def _last(purchases: Ratings, seed: int) -> NDArray[np.bool_]:
    shuffled = np.random.default_rng(seed).permutation(len(purchases))
    timed = bool((purchases.time >= 0).all())
    late = purchases.time if timed else np.zeros(len(purchases), np.int64)
    order = np.lexsort((shuffled, late, purchases.user))
    count = np.bincount(purchases.user, minlength=len(purchases.users))
    wanted = np.where(count > 1, np.maximum(1, np.round(HELD_OUT * count)), 0).astype(np.int64)
    ends = np.cumsum(count)
    user = purchases.user[order]
    held = np.zeros(len(purchases), np.bool_)
    held[order[np.arange(len(order)) >= (ends - wanted)[user]]] = True
    return held
