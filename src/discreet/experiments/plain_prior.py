"""The vendors' model as the thesis has it: ids only, without genres, years and popularity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.vendors.gibbs import FittedGibbs, GibbsMF
from discreet.vendors.methods.baselines import Full, Local, PooledUsers
from discreet.vendors.partition import pooled


@dataclass(frozen=True)
class PlainLocal(Local):
    """`local` without genres, years and popularity, as in the thesis."""

    name: ClassVar[str] = "plain_local"

    def predictor(self, shared: None, recipient: int, own: Ratings, seed: int) -> FittedGibbs:
        """The model of own ratings, ids only."""
        return (self.model or GibbsMF.for_size(len(own))).fit(own, seed=seed)


@dataclass(frozen=True)
class PlainFull(Full):
    """`full` without genres, years and popularity."""

    name: ClassVar[str] = "plain_full"

    def share(self, vendors: Sequence[Ratings], seed: int) -> list[PooledUsers]:
        """One model, ids only, as seen by each vendor."""
        everything = pooled(vendors)
        fitted = (self.model or GibbsMF.for_size(len(everything))).fit(everything, seed=seed)
        first = np.cumsum([0, *(len(own.users) for own in vendors)])
        return [PooledUsers(fitted, int(start)) for start in first[:-1]]
