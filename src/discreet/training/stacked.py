"""Clients side by side: tensors whose first dimension is clients, each padded to the largest, for `vmap`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.models.features import ArticleTable
from discreet.models.news_model import ArticleBatch
from discreet.training.layout import gather
from discreet.training.network import Network
from discreet.training.objective import Objective, Parameters
from discreet.training.samples import ANONYMOUS, Samples, position_in_group

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Stack:
    """Some clients' articles [clients, articles, …], histories [clients, views, clicks] and samples [clients, samples].

    A view or sample that a client does not have is there with the anonymous article, and its samples weigh 0.
    """

    articles: dict[str, Tensor]
    clicks: Tensor
    copies: Tensor
    sample_view: Tensor
    candidates: Tensor
    target: Tensor
    weight: Tensor
    randomness: Tensor | None

    def gradients(
        self, network: Network, parameters: Mapping[str, Tensor], objective: Objective
    ) -> tuple[Parameters, NDArray[np.float64]]:
        """Each client's gradient [clients, …] and loss."""
        tensors = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

        def loss(values: Parameters, articles: dict[str, Tensor], own: dict[str, Tensor]) -> Tensor:
            vectors = network.encode_articles(values, ArticleBatch(**articles))
            readers = network.encode_readers(values, gather(vectors, own["clicks"]), own["copies"])
            randomness = own.get("randomness")
            readers = objective.readers(values, readers, None if randomness is None else randomness.to(readers.dtype))
            readers = gather(readers, own["sample_view"])
            losses = objective.losses(readers, gather(vectors, own["candidates"]), own["target"])
            return losses @ own["weight"].to(losses.dtype)

        each = torch.func.vmap(torch.func.grad_and_value(loss), in_dims=(None, 0, 0))
        gradients, losses = each(dict(parameters), self.articles, tensors)
        return gradients, losses.detach().double().numpy()


def stack(samples: Samples, table: ArticleTable, history_length: int) -> Stack:
    """Lay the samples' clients side by side."""
    clients = len(samples.clients)
    click_client = samples.view_client[samples.history_view]
    candidate_client = np.repeat(samples.sample_client, samples.candidates.shape[1])
    owner = np.concatenate((click_client, candidate_client, np.arange(clients)))
    articles = np.concatenate((samples.history, samples.candidates.ravel(), np.full(clients, ANONYMOUS)))
    articles = np.where(articles == ANONYMOUS, table.anonymous, articles)
    pairs, places = np.unique(owner * len(table) + articles, return_inverse=True)
    pair_client = pairs // len(table)
    place = position_in_group(pair_client)[places]
    clicks, candidates, anonymous = np.split(place, [len(samples.history), len(articles) - clients])

    rows = np.full((clients, int(np.bincount(pair_client).max())), table.anonymous)
    rows[pair_client, position_in_group(pair_client)] = pairs % len(table)

    view = position_in_group(samples.view_client)
    sizes = samples.history_sizes
    shape = (clients, int(view.max()) + 1, int(sizes.max()) + 1)
    click_places = np.broadcast_to(anonymous[:, None, None], shape).copy()
    copies = np.zeros(shape, dtype=np.int64)
    copies[:, :, -1] = 1  # a view that is not there: one anonymous click
    copies[samples.view_client, view, -1] = 0
    copies[samples.view_client, view, -1 - sizes] = history_length - sizes
    back = sizes[samples.history_view] - position_in_group(samples.history_view)
    at = (click_client, view[samples.history_view], -back)
    click_places[at], copies[at] = clicks, 1

    sample = position_in_group(samples.sample_client)
    count = int(sample.max()) + 1
    own = (samples.sample_client, sample)
    sample_view, target = np.zeros((2, clients, count), dtype=np.int64)
    weight = np.zeros((clients, count))
    candidate_places = np.zeros((clients, count, samples.candidates.shape[1]), dtype=np.int64)
    sample_view[own], target[own], weight[own] = view[samples.sample_view], samples.target, 1
    candidate_places[own] = candidates.reshape(samples.candidates.shape)
    randomness = None
    if samples.randomness is not None:
        randomness = np.zeros((*shape[:2], *samples.randomness.shape[1:]), dtype=samples.randomness.dtype)
        randomness[samples.view_client, view] = samples.randomness
    batch = table.batch(rows.ravel())
    parts = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return Stack(
        articles={name: part.reshape(*rows.shape, *part.shape[1:]) for name, part in parts.items() if part is not None},
        clicks=torch.from_numpy(click_places),
        copies=torch.from_numpy(copies),
        sample_view=torch.from_numpy(sample_view),
        candidates=torch.from_numpy(candidate_places),
        target=torch.from_numpy(target),
        weight=torch.from_numpy(weight),
        randomness=None if randomness is None else torch.from_numpy(randomness),
    )
