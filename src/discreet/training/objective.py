"""What a client minimises: FedNewsRec's Eq. (2) and (3), with room for what a method puts between reader and score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

Parameters = dict[str, Tensor]

Interest = Callable[[Mapping[str, Tensor], Tensor, Tensor | None], Tensor]
"""From parameters, readers' vectors [views, size] and their randomness [views, …] to the vectors that are scored.

A pure function: what it draws was drawn before and comes as `randomness`; what it learns stands in `parameters`.
"""


@dataclass(frozen=True)
class Objective:
    """The loss of a sample: L = −log softmax(s) at the clicked article, where s = s(u, t) for each candidate t.

    `interest` makes of the readers' vectors those that are scored; None scores the vectors themselves.
    """

    interest: Interest | None = None

    def readers(self, parameters: Mapping[str, Tensor], vectors: Tensor, randomness: Tensor | None) -> Tensor:
        """The vectors that candidates are scored with."""
        return vectors if self.interest is None else self.interest(parameters, vectors, randomness)

    def losses(self, scores: Tensor, target: Tensor, penalty: Tensor | None = None) -> Tensor:
        """Eq. (3) for each sample: scores [n, 1 + k], the clicked one's place [n], and what a model adds [n].

        A model with several tasks has scores [n, 1 + k, tasks], and its loss is the sum over them.
        """
        if scores.dim() == 3:
            target = target.unsqueeze(-1).expand(-1, scores.shape[-1])
        losses = torch.nn.functional.cross_entropy(scores, target, reduction="none")
        losses = losses.sum(-1) if scores.dim() == 3 else losses
        return losses if penalty is None else losses + penalty


def gradient_of(loss: Tensor, leaves: Parameters) -> Parameters:
    """∂loss/∂Θ by name; zero for what the loss does not depend on."""
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(leaves, found, strict=True))
