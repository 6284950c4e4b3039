"""Clip clients' gradients and add them up, a few at a time, so that no more than a few are ever held."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.training.objective import Parameters
from discreet.training.simulator import ClientGradients, SummedGradient

Clip = Callable[[Parameters], None]
"""Bounds the gradients of several clients [clients, …] in place."""


def clip_coordinates(bound: float) -> Clip:
    """Bound every coordinate to [−δ, δ] (FedNewsRec, Eq. 4)."""

    def clip(gradients: Parameters) -> None:
        for value in gradients.values():
            value.clamp_(-bound, bound)

    return clip


def clip_norms(bound: float) -> Clip:
    """Scale each client's whole gradient down to Euclidean norm θ where it is larger."""

    def clip(gradients: Parameters) -> None:
        squares = torch.stack([value.reshape(len(value), -1).double().square().sum(1) for value in gradients.values()])
        scale = (bound / squares.sum(0).sqrt()).clamp_(max=1.0)
        for value in gradients.values():
            value.mul_(scale.to(value.dtype).view(-1, *[1] * (value.dim() - 1)))

    return clip


def sum_clients(chunks: Iterable[ClientGradients], weights: NDArray[np.floating], clip: Clip) -> SummedGradient:
    """Σ_u w_u · clip(g_u), with each client's loss."""
    total: Parameters = {}
    losses = np.zeros(len(weights))
    for chunk in chunks:
        clip(chunk.gradients)
        losses[chunk.positions] = chunk.losses
        weight = torch.from_numpy(np.asarray(weights, dtype=np.float64)[chunk.positions])
        for name, value in chunk.gradients.items():
            flat = value.reshape(len(value), -1)
            if name not in total:
                total[name] = torch.zeros(value.shape[1:], dtype=value.dtype)
            total[name].view(-1).addmv_(flat.T, weight.to(value.dtype))
    return SummedGradient(total, losses)
