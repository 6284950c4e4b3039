"""What a way to collaborate is: vendors share something once, and each uses it beside its own ratings.

All vendors know the items, their public features and the scale of ratings. Users are each vendor's own: the same number
means different people at different vendors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.privacy.guarantee import Guarantee


class Predictor(Protocol):
    """What a vendor has in the end."""

    def predict(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """The expected rating of each pair of one of the vendor's own users and an item, within the scale."""
        ...


class VendorMethod(Protocol):
    """A way to predict ratings, with what the vendors share or without."""

    @property
    def name(self) -> str:
        """The name that the command line uses."""
        ...

    @property
    def epsilon(self) -> float | None:
        """The privacy budget of each user of the others, or None where the method knows no ε."""
        ...

    def share(self, vendors: Sequence[Ratings], seed: int) -> Any:
        """All that leaves the vendors, computed once from everybody's training ratings (None: nothing leaves)."""
        ...

    def predictor(self, shared: Any, recipient: int, own: Ratings, seed: int) -> Predictor:
        """What the vendor of this number makes of `shared` and of its own ratings, which it may use without noise."""
        ...

    def guarantee(self, vendors: int) -> Guarantee | None:
        """What a user of another vendor is promised when so many take part; None where ratings are simply pooled."""
        ...
