"""The float leak: outputs of one input that could never have come from its neighbour (Mironov 2012).

A float64 sampler has gaps, and they lie elsewhere for each value that its noise is added to. Whoever sees such an
output knows the input, whatever ε says. On a lattice there are no gaps: every integer is reached from every value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.audits.audit_registry import Measure
from discreet.audits.black_box import Sampler
from discreet.audits.bounds import share_bound

_UNIFORMS = 2.0**53
_TOO_MANY = 64


@dataclass(frozen=True)
class FloatLeak:
    """The share of the outputs of one input that `reachable` says the other cannot give.

    `reachable(outputs, value)` is checked on the outputs' own value first: what has come out can come out.
    """

    sample: Sampler
    value: float
    neighbour: float
    reachable: Callable[[NDArray[np.float64], float], NDArray[np.bool_]]
    runs: int = 2000

    @property
    def measure(self) -> Measure:
        """The share of impossible outputs."""
        return Measure.IMPOSSIBLE

    @property
    def is_statistical(self) -> bool:
        """The share is estimated from runs."""
        return True

    def lower_bound(self, error: float, seed: int) -> float:
        """The least share of impossible outputs."""
        outputs = self.sample(self.runs, seed)[:, 0]
        if not self.reachable(outputs, self.value).all():
            raise RuntimeError("outputs that have just come out are called impossible: the sampler is another one")
        return share_bound(int((~self.reachable(outputs, self.neighbour)).sum()), self.runs, error)


@dataclass(frozen=True)
class NumpyLaplaceReach:
    """Which float64 are value + an output of numpy's Laplace sampler of this scale.

    From a uniform U, a multiple of 2⁻⁵³, the sampler makes scale·ln(U + U) if U < ½ and −scale·ln(2 − U − U) otherwise.
    All U whose sample could round to the output are tried; where there are very many, one of them fits.
    """

    scale: float

    def __call__(self, outputs: NDArray[np.float64], value: float) -> NDArray[np.bool_]:
        """Whether each output can be reached from `value`."""
        return np.array([self._reaches(float(output), value) for output in outputs])

    def _reaches(self, output: float, value: float) -> bool:
        low = math.nextafter(output, -math.inf) - value
        high = math.nextafter(output, math.inf) - value
        tails = sorted((math.exp(-abs(low) / self.scale) / 2, math.exp(-abs(high) / self.scale) / 2))
        if output > value:
            tails = [1 - tails[1], 1 - tails[0]]
        first, last = math.floor(tails[0] * _UNIFORMS) - 3, math.ceil(tails[1] * _UNIFORMS) + 3
        if last - first > _TOO_MANY:
            return True
        return any(
            value + self._noise(n / _UNIFORMS) == output for n in range(max(first, 1), last + 1) if n < _UNIFORMS
        )

    def _noise(self, uniform: float) -> float:
        if uniform < 0.5:
            return self.scale * math.log(uniform + uniform)
        return -self.scale * math.log(2.0 - uniform - uniform)
