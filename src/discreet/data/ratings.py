"""What a ratings data set is: who rated what how high, in compact arrays, and the public side of the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.progress import counted


@dataclass(frozen=True, eq=False)
class Items:
    """The public side of a ratings data set. What a source does not say is empty, and `years` is -1."""

    ids: Sequence[str]
    titles: Sequence[str]
    genres: Sequence[tuple[str, ...]]
    years: NDArray[np.int32]

    @classmethod
    def named(cls, ids: Sequence[str]) -> Items:
        """Items of which nothing but their names is known."""
        return cls(ids, [""] * len(ids), [()] * len(ids), np.full(len(ids), -1, np.int32))

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Ratings:
    """Ratings in the order of their file: `users[user[i]]` gave item `items.ids[item[i]]` the rating `value[i]`.

    A user rates an item at most once. `time` is in seconds since 1970 (UTC), or -1 where the source does not say.
    `scale` is the lowest and the highest rating that the source allows, or those that occur where it does not say.
    """

    name: str
    user: NDArray[np.int32]
    item: NDArray[np.int32]
    value: NDArray[np.float32]
    time: NDArray[np.int64]
    users: Sequence[str]
    items: Items
    scale: tuple[float, float]

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        """Its size. Nobody's ratings: what is shown in a notebook or a log stays there."""
        sizes = f"{len(self):,} of {counted(len(self.users), 'user')} and {counted(len(self.items), 'item')}"
        return f"{type(self).__name__}({self.name!r}, {sizes}, from {self.scale[0]:g} to {self.scale[1]:g})"

    @classmethod
    def from_frame(cls, frame: Any, *, scale: tuple[float, float] | None = None, name: str = "frame") -> Ratings:
        """Ratings from a table in memory (polars, pandas or a dictionary) with `user`, `item` and `rating`."""
        from discreet.data.frames import ratings_from_frame

        return ratings_from_frame(frame, scale=scale, name=name)

    @classmethod
    def from_sparse(
        cls,
        matrix: Any,
        *,
        users: Sequence[Any] | None = None,
        items: Sequence[Any] | None = None,
        scale: tuple[float, float] | None = None,
        name: str = "matrix",
    ) -> Ratings:
        """Ratings from a scipy sparse matrix of users by items; what is stored is rated. Names default to numbers."""
        from discreet.data.frames import ratings_from_sparse

        return ratings_from_sparse(matrix, users=users, items=items, scale=scale, name=name)

    @property
    def density(self) -> float:
        """The share of all pairs of a user and an item that are rated."""
        return len(self) / (len(self.users) * len(self.items))
