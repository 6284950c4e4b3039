"""The reference: one client at a time, padded as published. Slow, short, and what the simulator is measured against.

Every title has its 30 words and every history its 50 clicks, padding included, each computed as if it were real. An
article that occurs several times in a client's samples is encoded once, and no more is kept than the gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from discreet.models.features import ArticleTable
from discreet.training.dropout import Dropout
from discreet.training.layout import masked
from discreet.training.network import Network
from discreet.training.objective import Objective, Parameters, gradient_of
from discreet.training.samples import ANONYMOUS, Samples


@dataclass(frozen=True)
class ClientGradient:
    """What one client computes: g_u = ∂L_u/∂Θ, the loss L_u, and the number |B_u| of samples they are sums over."""

    gradient: Parameters
    loss: float
    samples: int


def client_gradient(
    network: Network,
    table: ArticleTable,
    parameters: Mapping[str, Tensor],
    samples: Samples,
    objective: Objective = Objective(),  # noqa: B008 (frozen)
) -> ClientGradient:
    """The gradient of Eq. (2) for the samples of one client."""
    leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    loss = padded_loss(network, table, leaves, samples, objective)
    return ClientGradient(gradient_of(loss, leaves), loss.item(), len(samples))


def client_difference(
    network: Network,
    table: ArticleTable,
    parameters: Mapping[str, Tensor],
    samples: Samples,
    steps: int,
    rate: float,
    objective: Objective = Objective(),  # noqa: B008 (frozen)
) -> ClientGradient:
    """FedAvg's client (McMahan et al. 2017): Θ − Θ_u after local steps Θ_u ← Θ_u − η·∂L_u/∂Θ_u / |B_u|.

    The loss is that before the first step.
    """
    local = dict(parameters)
    losses = []
    for _ in range(steps):
        own = client_gradient(network, table, local, samples, objective)
        losses.append(own.loss)
        local = {name: value - rate / own.samples * own.gradient[name] for name, value in local.items()}
    return ClientGradient({name: value - local[name] for name, value in parameters.items()}, losses[0], len(samples))


def padded_loss(
    network: Network, table: ArticleTable, parameters: Mapping[str, Tensor], samples: Samples, objective: Objective
) -> Tensor:
    """L_u of Eq. (2), from titles and histories at their published lengths."""
    length = network.model.history_length
    histories = np.full((len(samples.view_client), length), ANONYMOUS, dtype=np.int64)
    for view in range(len(histories)):
        clicks = samples.history[samples.history_view == view]
        histories[view, length - len(clicks) :] = clicks
    articles = np.concatenate((histories.ravel(), samples.candidates.ravel()))
    rows, places = np.unique(np.where(articles == ANONYMOUS, table.anonymous, articles), return_inverse=True)
    batch, reader, dropout = table.padded(rows), None, Dropout.of(network.model)
    if table.reader_numbers is not None:
        own = table.number_of(samples.reader)
        batch, reader = replace(batch, reader=own.expand(len(rows))), own.expand(len(histories))
    vectors = masked(network.encode_articles(parameters, batch), dropout.articles(samples, rows))
    place = torch.from_numpy(places)
    clicks_vectors = vectors[place[: histories.size]].view(*histories.shape, -1)
    candidates = vectors[place[histories.size :]].view(*samples.candidates.shape, -1)
    once = torch.ones(histories.shape, dtype=torch.int64)
    which, target = torch.from_numpy(samples.sample_view), torch.from_numpy(samples.target)
    if network.candidate_aware:
        return objective.losses(network.match(parameters, clicks_vectors[which], once[which], candidates), target).sum()
    readers = masked(network.encode_readers(parameters, clicks_vectors, once, reader), dropout.readers(samples))
    randomness = None if samples.randomness is None else torch.from_numpy(samples.randomness).to(vectors.dtype)
    readers = objective.readers(parameters, readers, randomness)
    scores = network.score(parameters, readers[which], candidates)
    return objective.losses(scores, target, network.model.penalty(readers[which])).sum()
