"""Many outputs of the shipped release path, quickly.

A release is `seal(sample(checked(value), noise), …)`. The first run is a whole release. The others repeat its random
part, `sample`, without checking the same value and writing the same guarantee a million times; and where noise is
independent for each coordinate, many runs are one `sample` of a long vector, in which the checked value stands over
and over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audits.scores import Outputs
from discreet.privacy.mechanisms.float_noise import FloatNoise
from discreet.privacy.mechanisms.gaussian import AnalyticGaussian
from discreet.privacy.mechanisms.laplace import Laplace
from discreet.privacy.mechanisms.lattice import LatticeMechanism
from discreet.privacy.mechanisms.mechanism import Mechanism
from discreet.privacy.mechanisms.padding import RandomPadding
from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise
from discreet.privacy.release import LatticePayload, Payload

AHEAD = 1 << 20
"""How many random bytes an audit asks for at a time."""

_BLOCK_VALUES = 1 << 20


@dataclass(frozen=True)
class MechanismSampler:
    """Outputs of `mechanism` on `value`, one row per run; lattice outputs as integers.

    The noise is secure unless `simulated`, which floating-point mechanisms need.
    """

    mechanism: Mechanism
    value: Any
    simulated: bool = False

    def __call__(self, runs: int, seed: int) -> Outputs:
        """The outputs of `runs` runs."""
        noise = SimulatedNoise(seed) if self.simulated else SecureNoise(AHEAD)
        first = numbers(self.mechanism.release(self.value, noise).payload)
        outputs = np.empty((runs, len(first)))
        outputs[0] = first
        done, block = 1, max(1, _BLOCK_VALUES // len(first))
        while done < runs:
            size = min(block, runs - done)
            outputs[done : done + size] = sample_many(self.mechanism, self.value, size, noise)
            done += size
        return outputs


@singledispatch
def sample_many(mechanism: Mechanism, value: Any, runs: int, noise: Noise) -> NDArray[Any]:
    """The outputs of `runs` runs, one per row."""
    checked = mechanism.checked(value)
    return np.array([numbers(mechanism.sample(checked, noise)) for _ in range(runs)])


@sample_many.register
def _(mechanism: LatticeMechanism, value: Any, runs: int, noise: Noise) -> NDArray[Any]:
    long = np.tile(mechanism.checked(value), runs)
    return mechanism.sample(long, noise).integers.reshape(runs, -1)


@sample_many.register(FloatNoise)
@sample_many.register(Laplace)
@sample_many.register(AnalyticGaussian)
def _(mechanism: Any, value: Any, runs: int, noise: Noise) -> NDArray[Any]:
    long = np.tile(mechanism.checked(value), runs)
    return np.asarray(replace(mechanism, dimension=len(long)).sample(long, noise).values).reshape(runs, -1)


@sample_many.register
def _(mechanism: RandomPadding, value: Any, runs: int, noise: Noise) -> NDArray[Any]:
    """One history as long as those of all runs together, so that the shipped code draws all masks at once."""
    given = mechanism.checked(value)
    if mechanism.history_length > 56:
        raise ValueError(f"masks of at most 56 clicks can be distinguished, not {mechanism.history_length}")

    def stacked(mask: NDArray[np.bool_]) -> NDArray[Any]:
        masks = mask.reshape(runs, -1)
        codes = np.packbits(masks, axis=1).astype(np.int64) @ 256 ** np.arange(-(-masks.shape[1] // 8))
        _, representatives, which = np.unique(codes, return_index=True, return_inverse=True)
        values = [mechanism.inner.checked(given(masks[run])) for run in representatives]
        return np.array(values)[which].ravel()

    joined = replace(mechanism, history_length=runs * mechanism.history_length)
    object.__setattr__(joined, "inner", _Unchecked(mechanism.inner))
    return numbers(joined.sample(stacked, noise)).reshape(runs, -1)


class _Unchecked:
    """A mechanism whose values have been checked one by one before they were joined."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.sample = mechanism.sample

    def checked(self, value: Any) -> Any:
        return value


def numbers(payload: Payload) -> NDArray[Any]:
    """The integers of a lattice payload, the values of any other."""
    return payload.integers if isinstance(payload, LatticePayload) else payload.values


@dataclass(frozen=True)
class WhenMasked:
    """For `RandomPadding` of a one-click history: `padding` if the click is masked, `click` if not."""

    click: Any
    padding: Any

    def __call__(self, mask: NDArray[np.bool_]) -> Any:
        """The value under this mask."""
        return self.padding if mask[0] else self.click
