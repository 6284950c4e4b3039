"""Clients side by side: tensors whose first dimension is clients, each padded to the largest, for `vmap`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.models.features import ArticleTable
from discreet.models.news_model import ArticleBatch
from discreet.training.dropout import NONE, Dropout
from discreet.training.layout import gather, masked
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
    reader: Tensor | None
    article_masks: Tensor | None
    reader_masks: Tensor | None

    def gradients(
        self, network: Network, parameters: Mapping[str, Tensor], objective: Objective
    ) -> tuple[Parameters, NDArray[np.float64]]:
        """Each client's gradient [clients, …] and loss."""
        tensors = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

        def loss(values: Parameters, articles: dict[str, Tensor], own: dict[str, Tensor]) -> Tensor:
            vectors = masked(network.encode_articles(values, ArticleBatch(**articles)), own.get("article_masks"))
            clicks, candidates = gather(vectors, own["clicks"]), gather(vectors, own["candidates"])
            view = own["sample_view"]
            if network.candidate_aware:
                scores = network.match(values, clicks[view], own["copies"][view], candidates)
                losses = objective.losses(scores, own["target"])
            else:
                readers = network.encode_readers(values, clicks, own["copies"], own.get("reader"))
                readers = masked(readers, own.get("reader_masks"))
                noise = own.get("randomness")
                readers = objective.readers(values, readers, None if noise is None else noise.to(readers.dtype))
                readers = gather(readers, view)
                scores = network.score(values, readers, candidates)
                losses = objective.losses(scores, own["target"], network.model.penalty(readers))
            return losses @ own["weight"].to(losses.dtype)

        each = torch.func.vmap(torch.func.grad_and_value(loss), in_dims=(None, 0, 0))
        gradients, losses = each(dict(parameters), self.articles, tensors)
        return gradients, losses.detach().double().cpu().numpy()


def stack(samples: Samples, table: ArticleTable, history_length: int, dropout: Dropout = NONE) -> Stack:
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

    def by_view(values: NDArray[Any] | None) -> Tensor | None:
        if values is None:
            return None
        placed = np.zeros((*shape[:2], *values.shape[1:]), dtype=values.dtype)
        placed[samples.view_client, view] = values
        return torch.from_numpy(placed)

    batch, reader = table.batch(rows.ravel()), None
    if table.reader_numbers is not None:
        number = table.number_of(samples.reader)
        batch = replace(batch, reader=number.repeat_interleave(rows.shape[1]))
        reader = number[:, None].expand(shape[:2])
    reader_masks = dropout.readers(samples)
    parts = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return Stack(
        articles={name: part.reshape(*rows.shape, *part.shape[1:]) for name, part in parts.items() if part is not None},
        clicks=torch.from_numpy(click_places),
        copies=torch.from_numpy(copies),
        sample_view=torch.from_numpy(sample_view),
        candidates=torch.from_numpy(candidate_places),
        target=torch.from_numpy(target),
        weight=torch.from_numpy(weight),
        randomness=by_view(samples.randomness),
        reader=reader,
        article_masks=dropout.articles(samples, rows),
        reader_masks=by_view(None if reader_masks is None else reader_masks.numpy()),
    )
