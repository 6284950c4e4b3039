"""Ranking with a trained model: every history is encoded once, then its slates are scored by dot products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.data.news import Impressions
from discreet.methods.method import Scores
from discreet.models.features import ArticleTable, encode_all
from discreet.privacy.guarantee import Guarantee
from discreet.progress import track
from discreet.training.layout import by_length, gather, history_bucket
from discreet.training.network import Network
from discreet.training.samples import spans

_HISTORIES = 1024  # encoded at a time
_PAIRS = 1 << 17  # candidates scored at a time


class Serving(Protocol):
    """What stands between a reader's exact history and the vector that candidates are scored with."""

    @property
    def padding(self) -> float:
        """With which probability a click is replaced by the anonymous article before the history is encoded."""
        ...

    def __call__(self, parameters: Mapping[str, Tensor], readers: Tensor) -> Tensor:
        """The vectors to score with; one draw of noise for each."""
        ...

    def guarantee(self) -> Guarantee | None:
        """Of what is sent once; None where nothing is sent."""
        ...


class OnDevice:
    """The device ranks by itself with its exact history and sends nothing: serving costs ε = 0."""

    padding = 0.0

    def __call__(self, parameters: Mapping[str, Tensor], readers: Tensor) -> Tensor:
        """The vectors themselves."""
        return readers

    def guarantee(self) -> Guarantee | None:
        """Nothing is sent."""
        return None


def score_impressions(
    network: Network,
    table: ArticleTable,
    parameters: Mapping[str, Tensor],
    impressions: Impressions,
    serving: Serving,
    seed: int = 0,
) -> Scores:
    """A score for each shown article. A history that several impressions share is served once: a device memoises it."""
    model = network.load(parameters)
    bounds = np.stack((impressions.history_start, impressions.history_stop), axis=1)
    histories, history = np.unique(bounds, axis=0, return_inverse=True)
    start = np.maximum(histories[:, 0], histories[:, 1] - model.history_length)
    clicks, owner = spans(start, histories[:, 1])
    articles = impressions.timeline[clicks].astype(np.int64)
    if serving.padding:
        masked = np.random.default_rng([seed, 1]).random(len(articles)) < serving.padding
        articles = np.where(masked, table.anonymous, articles)
    rows, places = np.unique(np.concatenate((articles, impressions.shown, [table.anonymous])), return_inverse=True)
    vectors = encode_all(model, table, rows)
    clicked, shown, anonymous = np.split(places, [len(articles), len(places) - 1])
    sizes = np.bincount(owner, minlength=len(histories))
    readers = _encode_readers(network, vectors, clicked, sizes, int(anonymous[0]))
    return _dot(serving(parameters, readers), vectors, history.reshape(-1)[impressions.impression_of_shown], shown)


@torch.no_grad()
def _encode_readers(
    network: Network, vectors: Tensor, clicks: NDArray[np.int64], sizes: NDArray[np.int64], anonymous: int
) -> Tensor:
    model = network.model
    starts = np.cumsum(sizes) - sizes
    readers = torch.zeros(len(sizes), model.size)
    parts = [part for group in by_length(sizes, 1000) for part in _pieces(group, _HISTORIES)]
    for part in track(parts, "Readers"):
        bucket = history_bucket(clicks, starts[part], sizes[part], anonymous, model.history_length)
        readers[torch.from_numpy(part)] = model.encode_readers(gather(vectors, bucket.clicks), bucket.copies)
    return readers


@torch.no_grad()
def _dot(readers: Tensor, vectors: Tensor, reader: NDArray[np.int64], shown: NDArray[np.int64]) -> Scores:
    scores = np.empty(len(shown))
    for part in _pieces(np.arange(len(shown)), _PAIRS):
        u, t = readers[torch.from_numpy(reader[part])], vectors[torch.from_numpy(shown[part])]
        scores[part] = torch.einsum("nd,nd->n", u, t).numpy()
    return scores


def _pieces(positions: NDArray[np.int64], most: int) -> list[NDArray[np.int64]]:
    return [positions[i : i + most] for i in range(0, len(positions), most)]
