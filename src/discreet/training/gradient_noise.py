"""Noise on whole gradients, for simulation: the sum over clients drawn at once, in exactly its distribution.

A Laplace variable of scale λ is λ·√(2E)·Z with E exponential and Z standard normal. So the weighted sum of
independent ones, given their E's, is normal with variance 2λ²·Σ wᵢ²Eᵢ, and the E's of clients with one and the same
weight add up to a single Gamma variable. A model of 2.5 million parameters and 64 clients then needs one normal number
per parameter and one Gamma per different weight, instead of 64 Laplace numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.training.objective import Parameters


def summed_laplace(
    shape: Sequence[int], scale: float, weights: NDArray[np.floating], generator: np.random.Generator
) -> Tensor:
    """Σᵢ wᵢ·nᵢ with each nᵢ an array of independent Laplace noise of the given scale, as one float32 array."""
    variance = np.zeros(shape, dtype=np.float32)
    for weight, count in zip(*np.unique(np.asarray(weights, dtype=np.float64), return_counts=True), strict=True):
        if count == 1:
            gamma = generator.standard_exponential(shape, dtype=np.float32)
        else:
            gamma = generator.standard_gamma(float(count), shape, dtype=np.float32)
        gamma *= np.float32(2 * (scale * weight) ** 2)
        variance += gamma
    np.sqrt(variance, out=variance)
    variance *= generator.standard_normal(shape, dtype=np.float32)
    return torch.from_numpy(variance)


def summed_laplace_like(
    values: Mapping[str, Tensor], scale: float, weights: NDArray[np.floating], generator: np.random.Generator
) -> Parameters:
    """`summed_laplace` for every parameter, in its type; drawn by name, so that the parameters' order is no matter."""
    noise: Parameters = {}
    for name in sorted(values):
        noise[name] = summed_laplace(values[name].shape, scale, weights, generator).to(values[name].dtype)
    return noise


def client_laplace(values: Mapping[str, Tensor], scale: float, generator: np.random.Generator) -> Parameters:
    """One client's own Laplace noise for every parameter: the difference of two exponential variables."""
    noise: Parameters = {}
    for name, value in sorted(values.items()):
        drawn = generator.standard_exponential(value.shape, dtype=np.float32)
        drawn -= generator.standard_exponential(value.shape, dtype=np.float32)
        noise[name] = torch.from_numpy(drawn).mul_(scale).to(value.dtype)
    return noise
