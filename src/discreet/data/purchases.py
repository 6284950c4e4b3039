"""What implicit feedback is: who bought, clicked or liked what, how often and when, and nothing about what was not."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Items, Ratings
from discreet.errors import DiscreetError

LIKED = 4.0
"""The rating from which on a rated item counts as liked, where the scale goes to 5."""


@dataclass(frozen=True, repr=False)
class Purchases(Ratings):
    """Purchases, clicks or likes: each user and item at most once, `value` is how often, `time` when last.

    They are dealt out to vendors and split like ratings. No method of ratings makes sense of them: that an item was not
    bought says little, and that it was bought twice does not say that it was liked twice as much.
    """

    @classmethod
    def of_events(
        cls,
        name: str,
        user: NDArray[np.int32],
        item: NDArray[np.int32],
        count: NDArray[np.floating],
        time: NDArray[np.int64],
        users: list[str],
        items: Items,
    ) -> Purchases:
        """Of single events in any order: those of one user and item become one, with their counts added up."""
        pairs = user.astype(np.int64) * len(items) + item
        kept, place = np.unique(pairs, return_inverse=True)
        last = np.full(len(kept), np.iinfo(np.int64).min)
        np.maximum.at(last, place, time)
        value = np.bincount(place, count, len(kept)).astype(np.float32)
        order = np.argsort(last, kind="stable")
        bought_by, bought = np.divmod(kept[order], len(items))
        scale = (0.0, float(value.max(initial=1.0)))
        return cls(
            name, bought_by.astype(np.int32), bought.astype(np.int32), value[order], last[order], users, items, scale
        )

    @classmethod
    def from_ratings(cls, ratings: Ratings, threshold: float = LIKED) -> Purchases:
        """The ratings of at least `threshold` as likes. Items and users without a like stay in the numbering.

        Raises:
            DiscreetError: there are none.
        """
        found = cls.likes(ratings, threshold)
        if not len(found):
            low, high = ratings.scale
            problem = f"no rating is at least {threshold:g} (the scale is {low:g} to {high:g}); lower --threshold"
            raise DiscreetError(f"{ratings.name}: {problem}")
        return found

    @classmethod
    def likes(cls, ratings: Ratings, threshold: float) -> Purchases:
        """The same, where there may be none."""
        liked = ratings.value >= threshold
        columns = {field.name: getattr(ratings, field.name) for field in fields(ratings)}
        columns |= {name: columns[name][liked] for name in ("user", "item", "time")}
        return cls(**{**columns, "value": np.ones(int(liked.sum()), np.float32), "scale": (0.0, 1.0)})

    @classmethod
    def from_frame(cls, frame: Any, *, scale: tuple[float, float] | None = None, name: str = "frame") -> Purchases:
        """From a table in memory (polars, pandas or a dictionary) with `user`, `item`, and `count`, `time` if known."""
        from discreet.data.frames import purchases_from_frame

        return purchases_from_frame(frame, name=name)

    @property
    def has_times(self) -> bool:
        """Whether it is known when things were bought."""
        return bool(len(self)) and bool((self.time >= 0).all())
