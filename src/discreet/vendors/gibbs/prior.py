"""What is known about the items before their ratings are seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PseudoObservations:
    """Noisy linear measurements of items: value = direction · (bias, factors) + N(0, deviation²), deviation known.

    An item may have none or many. The bias is that of the model

        rating = mean of the training ratings + user's bias + item's bias + user's factors · item's factors

    in which users' biases and factors have prior mean 0: it is how far a typical user's rating lies from the mean.
    """

    item: NDArray[np.int32]
    """The item of each observation."""
    direction: NDArray[np.float64]
    """A row of 1 + rank numbers for each: the weight of the bias, and of the factors."""
    value: NDArray[np.float64]
    deviation: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.direction.ndim != 2 or not len(self.item) == len(self.direction) == len(self.value) == len(
            self.deviation
        ):
            raise ValueError("give item, value and deviation, and a row of direction, for each pseudo-observation")
        if not (np.isfinite(self.direction).all() and np.isfinite(self.value).all() and (self.deviation > 0).all()):
            raise ValueError("directions and values of pseudo-observations must be finite, deviations above 0")

    @classmethod
    def of_biases(
        cls, item: NDArray[np.int32], value: NDArray[np.float64], deviation: NDArray[np.float64], rank: int
    ) -> PseudoObservations:
        """Measurements of items' biases alone."""
        direction = np.zeros((len(item), 1 + rank))
        direction[:, 0] = 1.0
        return cls(item, direction, value, deviation)


@dataclass(frozen=True, eq=False)
class ItemPrior:
    """A prior for items: (bias, factors) ~ N((1, features) · W, Λ⁻¹ of the item's group), with W and each Λ learnt.

    That is the link from features of Macau (Simm et al., 2017), with a precision for each group: items about which the
    features say less, or which differ more among themselves, belong in a group of their own.
    """

    features: NDArray[np.float64]
    """A row for each item, without a column of ones; best of mean 0 and deviation 1."""
    groups: NDArray[np.int32]
    """The group of each item, from 0."""
    pseudo: PseudoObservations | None = None
    kinds: NDArray[np.int32] | None = None
    """The kind of each feature, from 0 (by default all are of one): the weights of a kind have a precision of their
    own, so that many features that say little of taste do not shrink the few that say much."""

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.groups.shape != self.features.shape[:1]:
            raise ValueError("features need a row, and groups a number, for each item")
        if not np.isfinite(self.features).all():
            raise ValueError("features must be finite")
        if self.kinds is not None and (
            self.kinds.shape != self.features.shape[1:] or (len(self.kinds) and self.kinds.min() < 0)
        ):
            raise ValueError("kinds need a number from 0 for each feature")
        if len(self.groups) and self.groups.min() < 0:
            raise ValueError("groups are numbered from 0")

    @classmethod
    def plain(cls, items: int) -> ItemPrior:
        """Nothing is known: no features, one group."""
        return cls(np.zeros((items, 0)), np.zeros(items, np.int32))
