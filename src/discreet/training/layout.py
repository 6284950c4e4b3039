"""Where a round's articles, histories and candidates stand in compact tensors: each article once, little padding.

An article is encoded once however many readers share it. Articles of similar length are encoded together, and so are
histories: a *bucket* is padded to its longest. The padding itself is one position with its number of copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from discreet.models.features import ArticleTable
from discreet.models.news_model import ArticleBatch
from discreet.training.network import Network
from discreet.training.objective import Objective
from discreet.training.samples import ANONYMOUS, Samples

Positions = NDArray[np.int64]

BUCKET_OVERHEAD = 40
"""What one more bucket costs, in positions: the time of its calls over the time of one word or click."""

BUCKET_POSITIONS = 16_384
"""The most words in a bucket: some 300 MB of activations at the published sizes."""

KEPT_POSITIONS = 65_536
"""Up to so many words the activations of all articles are kept for the backward pass; beyond, they are recomputed."""


@dataclass(frozen=True)
class HistoryBucket:
    """Histories of similar length: the clicks' places among the encoded articles, and their copies."""

    clicks: Tensor
    copies: Tensor


@dataclass(frozen=True)
class RoundLayout:
    """All that a forward pass needs. Encoded articles and histories stand in the order of their buckets."""

    articles: list[ArticleBatch]
    histories: list[HistoryBucket]
    sample_view: Tensor
    candidates: Tensor
    target: Tensor
    randomness: Tensor | None
    positions: int

    def losses(self, network: Network, parameters: Mapping[str, Tensor], objective: Objective) -> Tensor:
        """The loss of each sample, Eq. (3)."""
        vectors = torch.cat([self._encode(network, parameters, batch) for batch in self.articles])
        readers = torch.cat(
            [network.encode_readers(parameters, gather(vectors, b.clicks), b.copies) for b in self.histories]
        )
        randomness = None if self.randomness is None else self.randomness.to(readers.dtype)
        readers = objective.readers(parameters, readers, randomness)
        return objective.losses(gather(readers, self.sample_view), gather(vectors, self.candidates), self.target)

    def _encode(self, network: Network, parameters: Mapping[str, Tensor], batch: ArticleBatch) -> Tensor:
        if self.positions <= KEPT_POSITIONS:
            return network.encode_articles(parameters, batch)
        encoded: Tensor = checkpoint(network.encode_articles, parameters, batch, use_reentrant=False)
        return encoded


def compact(samples: Samples, table: ArticleTable, history_length: int, overhead: int = BUCKET_OVERHEAD) -> RoundLayout:
    """Lay out the samples of one or of many clients."""
    articles = np.concatenate((samples.history, samples.candidates.ravel(), [ANONYMOUS]))
    rows, places = np.unique(np.where(articles == ANONYMOUS, table.anonymous, articles), return_inverse=True)
    lengths = table.length(rows).numpy()
    buckets = [part for bucket in by_length(lengths, overhead) for part in _parts(bucket, lengths)]
    place = _inverse(np.concatenate(buckets))[places]
    clicks, candidates, anonymous = np.split(place, [len(samples.history), len(articles) - 1])

    sizes = samples.history_sizes
    view_buckets = by_length(sizes, overhead)
    order = np.concatenate(view_buckets)
    start = np.cumsum(sizes) - sizes
    histories = [
        history_bucket(clicks, start[views], sizes[views], int(anonymous[0]), history_length) for views in view_buckets
    ]
    return RoundLayout(
        articles=[table.batch(rows[bucket]) for bucket in buckets],
        histories=histories,
        sample_view=torch.from_numpy(_inverse(order)[samples.sample_view]),
        candidates=torch.from_numpy(candidates.reshape(samples.candidates.shape)),
        target=torch.from_numpy(samples.target),
        randomness=None if samples.randomness is None else torch.from_numpy(samples.randomness[order]),
        positions=int(lengths.sum()) + len(rows),
    )


def by_length(lengths: Positions, overhead: int) -> list[Positions]:
    """Group positions so that Σ over groups of (overhead + members · longest) is least.

    The best groups are runs of the sorted lengths; a dynamic programme over the distinct lengths finds them.
    """
    order = np.argsort(lengths, kind="stable")
    values, counts = np.unique(lengths, return_counts=True)
    below = np.concatenate(([0], np.cumsum(counts)))
    best = np.zeros(len(values) + 1)
    cut = np.zeros(len(values) + 1, dtype=np.int64)
    for stop in range(1, len(values) + 1):
        costs = best[:stop] + overhead + (below[stop] - below[:stop]) * (values[stop - 1] + 1)
        cut[stop] = np.argmin(costs)
        best[stop] = costs[cut[stop]]
    groups = []
    stop = len(values)
    while stop > 0:
        groups.append(order[below[cut[stop]] : below[stop]])
        stop = cut[stop]
    return groups[::-1]


def _parts(bucket: Positions, lengths: Positions) -> list[Positions]:
    """A bucket in parts of a bounded number of words."""
    most = max(1, BUCKET_POSITIONS // (int(lengths[bucket].max()) + 1))
    return [bucket[start : start + most] for start in range(0, len(bucket), most)]


def gather(vectors: Tensor, places: Tensor) -> Tensor:
    """Rows of a matrix [rows, size] at places […], with a gradient that adds rows in place."""
    return vectors.index_select(0, places.flatten()).view(*places.shape, vectors.shape[-1])


def history_bucket(clicks: Positions, start: Positions, size: Positions, anonymous: int, full: int) -> HistoryBucket:
    """Histories side by side, the latest click last; before the oldest the anonymous article, as often as needed."""
    width = int(size.max()) + 1
    back = np.arange(width)[::-1]
    there = back < size[:, None]
    at = np.where(there, (start + size)[:, None] - 1 - back, 0)
    places = np.where(there, clicks[at] if len(clicks) else 0, anonymous)
    copies = there + (back == size[:, None]) * (full - size)[:, None]
    if (size == full).all():
        places, copies = places[:, 1:], copies[:, 1:]
    return HistoryBucket(torch.from_numpy(places), torch.from_numpy(copies.astype(np.int64)))


def _inverse(order: Positions) -> Positions:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse
