"""Random padding of a history before another mechanism sees it, which makes that mechanism's ε smaller."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.guarantee import Adjacency, Guarantee, Unit
from discreet.privacy.mechanisms.checks import check_count, check_epsilon
from discreet.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from discreet.privacy.noise import Noise
from discreet.privacy.release import Payload

if TYPE_CHECKING:
    from dp_accounting import DpEvent


def padded_epsilon(inner: float, padding: float) -> float:
    """ε = ln(p + (1 − p)·e^{ε₀}): what remains of an inner ε₀."""
    check_padding(padding)
    return inner + math.log1p(-padding * -math.expm1(-inner)) if math.isfinite(inner) else math.inf


def unpadded_epsilon(epsilon: float, padding: float) -> float:
    """ε₀ = ln((e^ε − p)/(1 − p)): what the inner mechanism may use for a target ε (PrivateRec, Algorithm 2, line 9)."""
    check_epsilon(epsilon)
    check_padding(padding)
    return epsilon + math.log1p(-padding * math.exp(-epsilon)) - math.log1p(-padding)


def check_padding(padding: float) -> None:
    """The probability of a mask is at least 0 and below 1."""
    if not 0 <= padding < 1:
        raise ValueError(f"padding must be at least 0 and below 1, not {padding}")


@dataclass(frozen=True, kw_only=True)
class RandomPadding(Mechanism):
    """Each of H clicks is replaced by public padding with probability p, then `inner` is applied.

    If `inner` is (ε₀, δ₀)-DP between any two inputs, this is (ln(p + (1−p)e^{ε₀}), (1−p)δ₀)-DP for one click.

    Proof: fix the masks of the other clicks. With m, a, a' the output's law when the click in question is masked, is
    the one, is the other, compare p·m + (1−p)·a with p·m + (1−p)·a'. By advanced joint convexity (Balle, Barthe,
    Gaboardi 2018, Thm 2) their divergence at e^ε is (1−p) times that of a from a mixture of m and a' at e^{ε₀}, which
    is at most δ₀ because a is close to both. Averaging over the other masks keeps it.

    Conditions, checked where they can be: the inner sensitivity also bounds masked against unmasked (a diameter
    does); the mask is fresh for each release and secret (it is drawn here and never leaves); all histories have the
    one public length H; the unit is a click, since two histories of one user differ in all places and the chance that
    all are masked is nearly 0.

    A release takes a function that is given the mask (true where a click is to be replaced) and returns the value
    for `inner`.
    """

    name: ClassVar[str] = "random padding"
    summary: ClassVar[str] = "public padding in place of random clicks, which amplifies another mechanism"

    inner: Mechanism
    padding: float
    history_length: int

    def __post_init__(self) -> None:
        check_padding(self.padding)
        check_count("history_length", self.history_length)
        if not self.inner.sensitivity.diameter:
            raise ValueError(
                f"padding needs a sensitivity that also bounds masked against unmasked clicks; "
                f"that of {self.inner.name} holds between neighbours only"
            )
        if {self.unit, self.inner.unit} != {Unit.CLICK}:
            raise ValueError("padding amplifies the privacy of one click, not of a user")
        if {self.adjacency, self.inner.adjacency} != {Adjacency.SUBSTITUTE}:
            raise ValueError("padding amplifies under substitution, among histories of one length")

    @property
    def sensitivity(self) -> Sensitivity:
        """That of the inner mechanism."""
        return self.inner.sensitivity

    @property
    def statement(self) -> str:
        """The theorem in one sentence."""
        g = self.guarantee()
        return (
            f"{self.inner.statement}; masking each click with probability {self.padding} makes this "
            f"({g.epsilon:.6g}, {g.delta:.3g})-DP"
        )

    def event(self) -> DpEvent:
        """The inner event on an input that was padded."""
        from discreet.privacy.accounting.events import PaddedDpEvent

        return PaddedDpEvent(self.padding, self.inner.event())

    def guarantee(self) -> Guarantee:
        """The inner guarantee, amplified; the inner claim too, if there is one."""
        inside = self.inner.guarantee()
        epsilon, delta = padded_epsilon(inside.epsilon, self.padding), (1 - self.padding) * inside.delta
        if inside.claimed_epsilon is None:
            outside = self.proved(epsilon, delta)
        else:
            outside = self.claimed(padded_epsilon(inside.claimed_epsilon, self.padding), epsilon, delta)
        return replace(outside, mechanism=f"{self.inner.name} + {self.name}", version=self.inner.version)

    def checked(self, value: Any) -> Callable[[NDArray[np.bool_]], Any]:
        """A function of the mask."""
        if not callable(value):
            raise ValueError("with padding, give a function from the mask to the value: the mask must be drawn here")
        return value  # type: ignore[no-any-return]

    def sample(self, value: Callable[[NDArray[np.bool_]], Any], noise: Noise) -> Payload:
        """A fresh mask, then the inner mechanism."""
        mask = noise.coins(Fraction(self.padding), self.history_length)
        return self.inner.sample(self.inner.checked(value(mask)), noise)
