"""An untargeted attack on federated news recommendation, after UA-FedRec (Yi et al., 2022).

Liars drive similar articles apart and dissimilar ones together, push the model away from what readers click, send as
much as is let through, and say that they have many clicks, where clicks give weight. This is our reading: the paper's
liars estimate how large an honest gradient is and where it points, ours know it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.data.news import Impressions
from discreet.methods.in_rounds import Federated
from discreet.methods.method import TrainingTask
from discreet.methods.round_server import Sums
from discreet.methods.setup import Setup
from discreet.training.clients import Clients
from discreet.training.objective import Parameters
from discreet.training.readers_sum import ReadersSum, flat, unflat

_ARTICLES = 64


@dataclass(frozen=True)
class Bound:
    """What a server lets through of one client.

    Attributes:
        norm: The largest L2 norm of a gradient; None for any.
        coordinate: The largest value of a coordinate; None for any.
        says_count: Whether clients say by themselves how many clicks they have, and are weighted by it.
    """

    norm: float | None = None
    coordinate: float | None = None
    says_count: bool = False


@dataclass(frozen=True)
class Liars:
    """A federation in which a share of the readers lies.

    Attributes:
        share: Which share.
        bound: What the server lets through.
        strength: How many times an honest gradient liars send where nothing bounds it.
        claimed_count: How many clicks they say they have.
        seed: Decides who lies.
    """

    share: float
    bound: Bound
    strength: float = 1000.0
    claimed_count: int = 1000
    seed: int = 0

    simulated = True

    def sums(self, method: Federated, task: TrainingTask, setup: Setup) -> Sums:
        """Honest readers' contributions, and what the liars add."""
        train = task.data.splits["train"]
        honest = replace(setup, clients=self._honest_clients(train, setup, method.history_clicks))

        def one_round(parameters: Parameters, number: int) -> tuple[NDArray[np.int64], tuple[int, ...]]:
            total = ReadersSum.from_lattice(method.contribution(honest, parameters, number), parameters)
            chosen = max(1, round(method.fraction * len(honest.clients)))
            liars = max(1, round(chosen * self.share / (1 - self.share)))
            weight = liars * (self.claimed_count if self.bound.says_count else 1)
            sent = self._sent(setup, parameters, total)
            poisoned = unflat(flat(total.gradient) + weight * sent, parameters)
            return replace(total, gradient=poisoned, weight=total.weight + weight).to_lattice(), (0,)

        return one_round

    def _honest_clients(self, train: Impressions, setup: Setup, history_clicks: int) -> Clients:
        readers = np.unique(train.reader)
        lying = np.random.default_rng(self.seed).choice(readers, round(self.share * len(readers)), replace=False)
        own = train.select(~np.isin(train.reader, lying))
        return Clients.from_impressions(own, setup.network.model.history_length, history_clicks)

    def _sent(self, setup: Setup, parameters: Parameters, honest: ReadersSum) -> NDArray[np.float64]:
        """What each liar sends: the malicious direction, as large as is let through."""
        mean = flat(honest.mean or honest.gradient)
        size = float(np.linalg.norm(mean)) or 1.0
        apart = flat(_similarity_gradient(setup, parameters))
        direction = apart / (np.linalg.norm(apart) or 1.0) - mean / size
        if self.bound.coordinate is not None:
            return self.bound.coordinate * np.sign(direction)
        allowed = self.strength * size if self.bound.norm is None else self.bound.norm
        return np.asarray(direction * allowed / (np.linalg.norm(direction) or 1.0))


def _similarity_gradient(setup: Setup, parameters: Parameters) -> Parameters:
    """∇ Σ ‖vᵢ − v_far‖² − ‖vᵢ − v_near‖²: a step down this loss makes near articles far and far ones near."""
    rows = np.random.default_rng(0).choice(len(setup.table), min(_ARTICLES, len(setup.table)), replace=False)
    start = {name: value.detach().clone().requires_grad_() for name, value in parameters.items()}
    loss = _inverted_similarity(setup.network.encode_articles(start, setup.table.batch(torch.from_numpy(rows))))
    found = torch.autograd.grad(loss, list(start.values()), allow_unused=True)
    pairs = zip(start.items(), found, strict=True)
    return {name: torch.zeros_like(value) if grad is None else grad for (name, value), grad in pairs}


def _inverted_similarity(vectors: Tensor) -> Tensor:
    distances = torch.cdist(vectors, vectors).square()
    own = torch.eye(len(vectors), dtype=torch.bool)
    near = distances.masked_fill(own, torch.inf).min(dim=1).values
    far = distances.max(dim=1).values
    return (far - near).mean()
