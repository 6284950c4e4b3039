"""Levels of interest as noised bits: what a browser's new-tab page sends of a reader's interests."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.checks import check_count, check_epsilon, check_substitution
from discreet.privacy.mechanisms.choice import ONE, exp_weight
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.noise import Noise
from discreet.privacy.release import LatticePayload

if TYPE_CHECKING:
    from dp_accounting import DpEvent


@dataclass(frozen=True, kw_only=True)
class LevelBits(Mechanism):
    """K features, each at one of L levels, as K·L bits of which each is flipped with probability 1 − p: K·ε-DP.

    A feature's level is a 1 among L bits. A 1 stays with probability p, a 0 becomes 1 with probability q = 1 − p, and
    e^ε = p(1 − q)/((1 − p)q) = (p/q)².

    Proof: If the level of a feature changes, two of its bits change, one from 1 to 0 and one from 0 to 1. The bits are
    independent, and each changes the probability of what it becomes by a factor of at most p/q. Here p/q = w/2⁴⁰ with
    w = ⌊e^{ε/2}·2⁴⁰⌋, so a feature costs at most ε. One click may change every feature, since interests are divided by
    the largest of them: K·ε. ∎

    The ε that is often named for such bits, that of one feature, is K times too small.

    Attributes:
        epsilon: ε of one feature.
        features: K.
        levels: L.
    """

    name: ClassVar[str] = "level bits"
    summary: ClassVar[str] = "levels of K interests, one-hot, each bit flipped with probability 1/(1 + e^(ε/2))"

    epsilon: float
    features: int
    levels: int

    def __post_init__(self) -> None:
        check_substitution(self.adjacency)
        check_epsilon(self.epsilon)
        check_count("features", self.features)
        check_count("levels", self.levels, 2)

    @property
    def keep(self) -> Fraction:
        """p, the exact probability that a bit stays as it is."""
        weight = exp_weight(self.epsilon / 2)
        return Fraction(weight, weight + ONE)

    @property
    def sensitivity(self) -> Sensitivity:
        """Two bits of each feature, whatever is clicked."""
        return Sensitivity(l1=2 * self.features, l2=(2 * self.features) ** 0.5, linf=1, diameter=True)

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        return (
            f"{self.features} levels as bits that stay with probability {float(self.keep):.6g} are"
            f" {self.features * self.epsilon:.6g}-DP, {self.epsilon:.6g} for each"
        )

    def event(self) -> DpEvent:
        """Pure K·ε."""
        from discreet.privacy.accounting.events import ApproximateDpEvent

        return ApproximateDpEvent(self.features * self.epsilon)

    def guarantee(self) -> Guarantee:
        """Pure K·ε."""
        return self.proved(self.features * self.epsilon)

    def checked(self, value: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The level of each feature."""
        levels = np.asarray(value)
        if levels.shape != (self.features,) or levels.dtype.kind not in "iu":
            raise ValueError(f"levels must be {self.features} whole numbers")
        if ((levels < 0) | (levels >= self.levels)).any():
            raise ValueError(f"a level must be from 0 to {self.levels - 1}")
        return levels.astype(np.int64)

    def sample(self, value: np.ndarray[Any, np.dtype[np.int64]], noise: Noise) -> LatticePayload:
        """The bits, feature by feature."""
        bits = (value[:, None] == np.arange(self.levels)).ravel()
        flips = noise.coins(1 - self.keep, len(bits))
        return LatticePayload((bits ^ flips).astype(np.int64))
