"""What a way to collaborate is: vendors share something once, and each uses it together with its own ratings.

All vendors know the items, their public features and the scale of ratings. Users are each vendor's own: the same number
means different people at different vendors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.privacy.guarantee import Guarantee
from discreet.vendors.partition import Distribution, Level


class Predictor(Protocol):
    """What a vendor has in the end."""

    def predict(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """The expected rating of each pair of one of the vendor's own users and an item, within the scale."""
        ...


@dataclass(frozen=True)
class Setting:
    """What a comparison gives to every method: how ratings are dealt out, and to how many vendors."""

    distribution: Distribution
    vendors: int


class VendorMethod(ABC):
    """A way to predict ratings, with what the vendors share or without.

    A method of one's own is a frozen dataclass that inherits from this class and has a `name`. If it has an ε, that is
    its field `epsilon`, and `level_for` says what it protects. If vendors use their own model (`GibbsMF`) with it, that
    is its field `model`, and None stands for the one of the comparison. `discreet.register` makes it known to the
    command line.
    """

    name: ClassVar[str]
    """The name that the command line uses."""

    summary: ClassVar[str | None] = None
    """What it is in one line; without, the first line of the docstring."""

    if TYPE_CHECKING:

        @property
        def epsilon(self) -> float | None:
            """The privacy budget of each user of the others, or None where the method knows no ε."""

    def __init_subclass__(cls) -> None:
        if not any("epsilon" in vars(base).get("__annotations__", {}) for base in cls.__mro__):
            cls.epsilon = None  # type: ignore[method-assign, assignment]

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level | None:
        """What ε protects where ratings are dealt out in this way; None where the method knows no ε."""
        return None

    @classmethod
    def for_setting(cls, epsilon: float, setting: Setting) -> VendorMethod:
        """The method as a comparison asks for it by name; `epsilon` counts only where the method has one."""
        return cls() if cls.level_for(setting.distribution) is None else cls(epsilon=epsilon)  # type: ignore[call-arg]

    @abstractmethod
    def share(self, vendors: Sequence[Ratings], seed: int) -> Any:
        """All that leaves the vendors, computed once from everybody's training ratings (None: nothing leaves)."""

    @abstractmethod
    def predictor(self, shared: Any, recipient: int, own: Ratings, seed: int) -> Predictor:
        """What the vendor of this number makes of `shared` and of its own ratings, which it may use without noise."""

    def guarantee(self, vendors: int) -> Guarantee | None:
        """What a user of another vendor is promised when so many take part; None where ratings are simply pooled."""
        return None
