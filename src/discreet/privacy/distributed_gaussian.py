"""Gaussian noise that many parties add together, inside a secure sum of whole numbers.

Every party adds its part. The reader of the sum does not know the parts that stay secret. As many as may
drop out and as many as may collude are left out of the count beforehand: `quorum` − `colluders` parts are enough. What
the sum is worth is the theorem of `lattice_price`; here are the numbers that make it so.

**Contributions.** A user's vector is clipped to `clip` and cut towards zero to whole multiples of a step, of which
`unit` = 2^k make a clip, so its norm is at most `unit` steps. Float64 errs by less than the factor by which values are
shrunk on the way: whatever the order of its d additions, a computed norm is wrong by at most a part d·2⁻⁵³, and the
few other operations by 2⁻⁵³ each. So the sensitivity of a sum is `unit`, and no rounding has to be added to it.

**Wrap.** A secure sum is known mod 2^bits. It is a function of the true sum, so wrapping round costs no privacy; it
would spoil the result. A value of the sum is at most `contributions`·`unit` + |N| with N the parties' noise, and
P[|N| ≥ x] ≤ 2·e^{−x²/2mσ²} for m parts of σ, since E e^{sX} ≤ e^{s²σ²/2} for the discrete Gaussian (shift the sum over
e^{−x²/2σ²} by sσ²; it is largest unshifted). `headroom` bounds the probability that any value wraps; k is the largest,
up to 40, for which it is at most 2⁻⁴⁰.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import DiscreetError
from discreet.privacy.accounting.lattice_price import (
    MIN_HIDDEN_NOISE,
    MIN_PART_NOISE,
    LatticePrice,
    NoiseRound,
    lattice_price,
    part_deviation,
)
from discreet.privacy.mechanisms.checks import check_count, check_positive
from discreet.privacy.mechanisms.lattice import float_slack
from discreet.privacy.noise import Noise, rounded_up
from discreet.privacy.noise_tables import MAX_SCALE

FINEST = 40
"""A clip is at most 2^40 steps: finer lattices gain nothing."""

MIN_HEADROOM = 2.0**-40
"""How likely a value of a sum may wrap round."""


@dataclass(frozen=True, kw_only=True)
class DistributedGaussian:
    """Who adds how much noise to a sum of users' clipped vectors, and on which lattice.

    Attributes:
        multiplier: z: σ of the noise that stays hidden, in clips.
        clip: The largest L2 norm of one user's vector; longer ones are shortened to it.
        dimension: How many values a vector has.
        contributions: How many users at most are in one sum.
        parties: How many parties at most are in one sum; each adds its part of the noise.
        quorum: How many parties at least are in one sum.
        colluders: How many of them at most show their noise to the reader of the sum (or are the reader).
        bits: Sums are known mod 2^bits.
    """

    multiplier: float
    clip: float
    dimension: int
    contributions: int
    parties: int
    quorum: int
    colluders: int = 0
    bits: int = 64

    def __post_init__(self) -> None:
        check_positive("multiplier", self.multiplier)
        check_positive("clip", self.clip)
        if not 2.0**-500 < self.clip < 2.0**500:
            raise ValueError(f"clip must be from 2^-500 to 2^500, not {self.clip}")
        check_count("dimension", self.dimension)
        check_count("contributions", self.contributions)
        if not 1 <= self.quorum <= self.parties:
            raise DiscreetError(f"of {self.parties} parties from 1 to {self.parties} must stay, not {self.quorum}")
        if not 0 <= self.colluders < self.quorum:
            raise DiscreetError(
                f"where {self.quorum} parties stay, at most {self.quorum - 1} may collude, not {self.colluders}"
            )
        _ = self.unit

    @property
    def honest(self) -> int:
        """How many parts of the noise stay hidden at least."""
        return self.quorum - self.colluders

    @cached_property
    def unit(self) -> int:
        """The steps of a clip, hence the L2 sensitivity of a sum on the lattice: 2^k."""
        for fineness in range(FINEST, -1, -1):
            unit = 1 << fineness
            if self._part(unit) <= MAX_SCALE and self._headroom(unit) <= MIN_HEADROOM:
                if self.multiplier * unit < MIN_HIDDEN_NOISE or self._part(unit) < MIN_PART_NOISE:
                    break
                return unit
        raise DiscreetError(
            f"a sum of {self.bits} bits has no room for {self.contributions} contributions with noise of"
            f" {self.multiplier:.4g} clips; sum more bits, fewer contributions or in fewer parties"
        )

    @property
    def step(self) -> float:
        """What one step of the lattice is worth."""
        return self.clip / self.unit

    @property
    def party_deviation(self) -> Fraction:
        """σ, in steps, of the noise that each party adds."""
        return self._part(self.unit)

    @property
    def headroom(self) -> float:
        """A bound on the probability that any value of a sum wraps round; at most `MIN_HEADROOM`."""
        return self._headroom(self.unit)

    def sum_deviation(self, parties: int) -> float:
        """σ of the noise in the sum of so many parties, in the vectors' own units."""
        return float(self.party_deviation) * math.sqrt(self._in_a_sum(parties)) * self.step

    def price(self, rounds: int) -> LatticePrice:
        """What the lattice costs in so many rounds: all that are held, whoever takes part in them."""
        check_count("rounds", rounds)
        return lattice_price([NoiseRound(self.party_deviation, self.honest, self.dimension * rounds)])

    def integers(self, vectors: ArrayLike) -> NDArray[np.int64]:
        """Vectors (one, or one in each row), clipped and cut to the lattice. None gets longer; none exceeds `unit`.

        Raises:
            ValueError: a vector is of another dimension, or a value is not finite.
        """
        values = np.asarray(vectors, dtype=np.float64)
        if values.ndim not in (1, 2) or values.shape[-1] != self.dimension:
            raise ValueError(f"expected vectors of {self.dimension} values, not an array of shape {values.shape}")
        if not np.isfinite(values).all():
            raise ValueError("a vector to be summed has values that are not finite")
        largest = np.abs(values).max(axis=-1, keepdims=True)
        shape: NDArray[Any] = values / np.where(largest > 0, largest, 1.0)
        norm = np.sqrt(np.square(shape).sum(axis=-1, keepdims=True))
        with np.errstate(over="ignore", divide="ignore"):
            clips = np.minimum(largest / self.clip, 1 / norm)
        return np.asarray(np.trunc(shape * (clips * (self.unit * (1 - float_slack(self.dimension))))), dtype=np.int64)

    def values(self, integers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Integers of the lattice as real numbers."""
        return np.asarray(integers * self.step)

    def party_noise(self, noise: Noise) -> NDArray[np.int64]:
        """One party's part of the noise, to be drawn afresh for every sum and added to the sum of its users."""
        return noise.discrete_gaussian(self.party_deviation, self.dimension)

    def summed_noise(self, noise: Noise, parties: int) -> NDArray[np.int64]:
        """The noise of so many parties at once, for simulation: one discrete Gaussian, within `lattice_price`'s (1)."""
        together = rounded_up(float(self.party_deviation) * math.sqrt(self._in_a_sum(parties)))
        return noise.discrete_gaussian(together, self.dimension)

    def _in_a_sum(self, parties: int) -> int:
        if not self.quorum <= parties <= self.parties:
            raise ValueError(f"from {self.quorum} to {self.parties} parties are in a sum, not {parties}")
        return parties

    def _part(self, unit: int) -> Fraction:
        return part_deviation(self.multiplier * unit, self.honest)

    def _headroom(self, unit: int) -> float:
        room = 2 ** (self.bits - 1) - self.contributions * unit
        if room <= 0:
            return 1.0
        exponent = room**2 / (2 * self.parties * float(self._part(unit)) ** 2)
        return min(1.0, 2 * self.dimension * math.exp(-exponent))
