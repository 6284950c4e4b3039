"""All ratings in one place where vendors share users, who are matched by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.vendors.gibbs import FittedGibbs, GibbsMF
from discreet.vendors.item_features import local_prior
from discreet.vendors.methods.vertical import transposed


@dataclass(frozen=True, eq=False)
class MatchedUsers:
    """A model of all users, asked for those of one vendor, who are known by name."""

    model: FittedGibbs
    numbers: NDArray[np.int32]

    def predict(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """The expected rating of each pair of one of the vendor's users and an item."""
        return self.model.predict(self.numbers[user], item)


def matched_users(model: GibbsMF, vendors: Sequence[Ratings], seed: int) -> list[MatchedUsers]:
    """Fit one model to all ratings, a user being the same person at every vendor, and show it to each vendor."""
    turned = transposed(vendors)
    names = turned.items.ids
    everything = replace(turned, user=turned.item, item=turned.user, users=names, items=vendors[0].items)
    fitted = model.fit(everything, prior=local_prior(everything), seed=seed)
    place = {name: number for number, name in enumerate(names)}
    return [MatchedUsers(fitted, np.array([place[name] for name in own.users], np.int32)) for own in vendors]
