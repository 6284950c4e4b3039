"""All clients of a round at once: the same gradients as the loop, in a fraction of its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.models.features import ArticleTable
from discreet.training.dropout import Dropout
from discreet.training.layout import RoundLayout, compact
from discreet.training.network import Network
from discreet.training.objective import Objective, Parameters, gradient_of
from discreet.training.samples import ANONYMOUS, Samples
from discreet.training.stacked import stack
from discreet.training.threads import by_threads
from discreet.training.torch_device import moved

STACKED_WORK = 3e8
"""Below so many parameters × words of a client, clients are computed side by side (measured; see the benchmark)."""

STACKED_CLIENTS = (16, 64)
STACKED_NUMBERS = (1_300_000, 32_000_000)
"""From 16 to 64 clients at once, as long as their gradients fit a cache; never more than 128 MB of them."""


@dataclass(frozen=True)
class SummedGradient:
    """Σ_u w_u · g_u over a round's clients, with each client's own loss L_u."""

    gradient: Parameters
    losses: NDArray[np.float64]


@dataclass(frozen=True)
class ClientGradients:
    """The gradients of some clients: `positions` in the round, values [clients, …] by name, and losses L_u."""

    positions: NDArray[np.int64]
    gradients: Parameters
    losses: NDArray[np.float64]


def summed_gradient(
    network: Network,
    table: ArticleTable,
    parameters: Mapping[str, Tensor],
    samples: Samples,
    weights: NDArray[np.floating],
    objective: Objective = Objective(),  # noqa: B008 (frozen)
) -> SummedGradient:
    """The weighted sum of all clients' gradients, by one backward pass: Σ_u w_u ∂L_u/∂Θ = ∂(Σ_u w_u L_u)/∂Θ."""
    leaves = _leaves(network, parameters)
    losses = _layout(network, table, samples).losses(network, leaves, objective)
    weight = torch.from_numpy(np.asarray(weights, dtype=np.float64)[samples.sample_client]).to(losses)
    return SummedGradient(_to_memory(gradient_of(losses @ weight, leaves)), _client_losses(samples, losses))


def client_gradients(
    network: Network,
    table: ArticleTable,
    parameters: Mapping[str, Tensor],
    samples: Samples,
    objective: Objective = Objective(),  # noqa: B008 (frozen)
    *,
    alone: bool = False,
) -> Iterator[ClientGradients]:
    """Each client's own gradient, for methods that clip them before they are added; a few clients at a time.

    Side by side, who else is there changes the last bits of a gradient. `alone` computes each by itself, from its own
    samples and nothing else, as a bound on what one client can change must have it.

    Small models are all overhead, so clients of similar size are computed side by side (`vmap`); for large ones the
    arithmetic counts, and each client in its own compact layout, each title at its own length, has less of it. Clients
    then share torch's threads, one each, which is quicker than several threads for each of their small products.
    """
    if not alone and _work(table, parameters, samples) < STACKED_WORK:
        yield from _stacked(network, table, parameters, samples, objective)
        return

    def one(worker: Network, position: int) -> ClientGradients:
        own, leaves = samples.select(np.array([position])), _leaves(worker, parameters)
        losses = _layout(worker, table, own).losses(worker, leaves, objective)
        gradient = {name: value.unsqueeze(0) for name, value in gradient_of(losses.sum(), leaves).items()}
        return ClientGradients(np.array([position]), _to_memory(gradient), _client_losses(own, losses))

    yield from by_threads(network, one, len(samples.clients))


def _stacked(
    network: Network, table: ArticleTable, parameters: Mapping[str, Tensor], samples: Samples, objective: Objective
) -> Iterator[ClientGradients]:
    size = sum(value.numel() for value in parameters.values())
    (fewest, most), (cached, held) = STACKED_CLIENTS, STACKED_NUMBERS
    together = max(1, min(most, max(fewest, cached // size), held // size))
    clicks = np.bincount(samples.view_client[samples.history_view], minlength=len(samples.clients))
    order = np.argsort(clicks, kind="stable")
    for start in range(0, len(order), together):
        positions = np.sort(order[start : start + together])
        own = samples.select(positions)
        clients = stack(own, table, network.model.history_length, Dropout.of(network.model))
        there = moved(dict(parameters), network.device)
        gradients, losses = moved(clients, network.device).gradients(network, there, objective)
        yield ClientGradients(positions, _to_memory(gradients), losses)


def _layout(network: Network, table: ArticleTable, samples: Samples) -> RoundLayout:
    layout = compact(samples, table, network.model.history_length, dropout=Dropout.of(network.model))
    return moved(layout, network.device)


def _leaves(network: Network, parameters: Mapping[str, Tensor]) -> Parameters:
    """Parameters to differentiate by, on the network's device."""
    return {name: value.detach().to(network.device).requires_grad_() for name, value in parameters.items()}


def _to_memory(gradients: Parameters) -> Parameters:
    return {name: value.cpu() for name, value in gradients.items()}


def _work(table: ArticleTable, parameters: Mapping[str, Tensor], samples: Samples) -> float:
    """Parameters × words of a client: in proportion to a client's arithmetic."""
    articles = np.concatenate((samples.history, samples.candidates.ravel()))
    words = int(table.length(articles[articles != ANONYMOUS]).sum()) + len(articles)
    return sum(value.numel() for value in parameters.values()) * words / max(1, len(samples.clients))


def client_differences(
    network: Network,
    table: ArticleTable,
    parameters: Mapping[str, Tensor],
    samples: Samples,
    steps: int,
    rate: float,
    objective: Objective = Objective(),  # noqa: B008 (frozen)
) -> Iterator[ClientGradients]:
    """Each client's difference Θ − Θ_u after local steps (FedAvg), as `loop.client_difference` defines it."""
    for position in range(len(samples.clients)):
        own = samples.select(np.array([position]))
        layout = _layout(network, table, own)
        local = {name: value.detach().to(network.device) for name, value in parameters.items()}
        before = np.zeros(1)
        for step in range(steps):
            leaves = {name: value.requires_grad_() for name, value in local.items()}
            losses = layout.losses(network, leaves, objective)
            if step == 0:
                before = _client_losses(own, losses)
            gradient = gradient_of(losses.mean(), leaves)
            local = {name: (value - rate * gradient[name]).detach() for name, value in leaves.items()}
        local = _to_memory(local)
        differences = {name: (value - local[name]).unsqueeze(0) for name, value in parameters.items()}
        yield ClientGradients(np.array([position]), differences, before)


def _client_losses(samples: Samples, losses: Tensor) -> NDArray[np.float64]:
    values: NDArray[np.float64] = losses.detach().double().cpu().numpy()
    return np.asarray(np.bincount(samples.sample_client, values, len(samples.clients)), dtype=np.float64)
