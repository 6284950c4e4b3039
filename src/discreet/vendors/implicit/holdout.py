"""What is held out to be recommended: each user's last items where there are times, random ones otherwise."""

from __future__ import annotations

import numpy as np

from discreet.data.ratings import Ratings
from discreet.vendors.partition import Fold, selected

HELD_OUT = 0.2
"""The share of a user's items, rounded, at least one and never all: who has a single item is trained on only."""


def leave_last_out(purchases: Ratings, *, seed: int = 0) -> Fold:
    """Hold out a fifth of each user's items: the last ones, or random ones where a time is missing."""
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
    return Fold(selected(purchases, ~held), selected(purchases, held))
