"""What a node of readers gives to a round, as whole numbers: sums of those are exact in every order.

A secure sum adds integers. Each value is rounded to a multiple of `STEP`, which is finer than the float32 of gradients,
and the sum over nodes is the same to the last bit whether it is formed in one process or by many machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import DiscreetError
from discreet.training.objective import Parameters

Integers = NDArray[np.int64]

STEP = 2.0**-30
"""What one integer is worth. Sums up to 2³³ have room in 64 bits."""

_MAX_EXACT = 2.0**52


@dataclass(frozen=True)
class ReadersSum:
    """Sums over readers: Σ w_u·g_u, Σ w_u, the losses of all samples, and the number of samples."""

    gradient: Parameters
    weight: float
    loss: float
    samples: int

    def to_lattice(self) -> Integers:
        """One vector: the gradient in the order of its names, then weight, loss and samples.

        Raises:
            DiscreetError: a value is not finite, or too large to be a gradient of anything that still learns.
        """
        values = np.append(flat(self.gradient), (self.weight, self.loss, self.samples)) / STEP
        if not (np.abs(values) < _MAX_EXACT).all():
            raise DiscreetError("training diverged (gradients are not finite or very large); lower the learning rate")
        return np.rint(values).astype(np.int64)

    @staticmethod
    def length(parameters: Mapping[str, Tensor]) -> int:
        """How many numbers that vector has."""
        return sum(value.numel() for value in parameters.values()) + 3

    @classmethod
    def nothing(cls, parameters: Mapping[str, Tensor]) -> Integers:
        """What a node without readers gives."""
        return np.zeros(cls.length(parameters), np.int64)

    @classmethod
    def from_lattice(cls, total: Integers, like: Mapping[str, Tensor]) -> ReadersSum:
        """The inverse, for a sum of such vectors over the parameters `like`; values are float64."""
        values = total.astype(np.float64) * STEP
        return cls(unflat(values[:-3], like), float(values[-3]), float(values[-2]), round(float(values[-1])))

    @property
    def mean(self) -> Parameters | None:
        """Σ w_u·g_u / Σ w_u; None if nobody has any weight."""
        if not self.weight > 0:
            return None
        return {name: value / self.weight for name, value in self.gradient.items()}

    @property
    def mean_loss(self) -> float:
        """The mean loss of a sample."""
        return self.loss / self.samples if self.samples else float("nan")


def flat(values: Mapping[str, Tensor]) -> NDArray[np.float64]:
    """All values in one vector, in the order of their names as given."""
    return np.concatenate([value.detach().double().numpy().ravel() for value in values.values()])


def flat_rows(values: Mapping[str, Tensor]) -> NDArray[np.float64]:
    """The values of several clients [clients, …] as one row each."""
    rows = [value.detach().reshape(len(value), -1).double().numpy() for value in values.values()]
    return np.concatenate(rows, axis=1)


def unflat(vector: NDArray[np.float64], like: Mapping[str, Tensor]) -> Parameters:
    """The inverse of `flat`, in the shapes of `like`."""
    sizes = [value.numel() for value in like.values()]
    if len(vector) != sum(sizes):
        raise ValueError(f"{len(vector)} values for {sum(sizes)} parameters")
    parts = torch.split(torch.from_numpy(vector), sizes)
    return {name: part.view(value.shape) for (name, value), part in zip(like.items(), parts, strict=True)}
