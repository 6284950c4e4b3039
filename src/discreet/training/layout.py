"""Where a round's articles, histories and candidates stand in compact tensors: each article once, little padding.

An article is encoded once however many readers share it. Articles of similar length are encoded together, and so are
histories: a *bucket* is padded to its longest. The padding itself is one position with its number of copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from discreet.models.features import ArticleTable
from discreet.models.news_model import ArticleBatch
from discreet.training.dropout import NONE, Dropout
from discreet.training.network import Network
from discreet.training.objective import Objective
from discreet.training.samples import ANONYMOUS, Samples

Positions = NDArray[np.int64]

BUCKET_OVERHEAD = 40
"""What one more bucket costs, in positions: the time of its calls over the time of one word or click."""

HISTORY_OVERHEAD = 200
"""The same for histories, in clicks: a recurrent unit makes its small steps once more for each bucket."""

BUCKET_POSITIONS = 16_384
"""The most words in a bucket: some 300 MB of activations at the published sizes."""

KEPT_POSITIONS = 65_536
"""Up to so many words the activations of all articles are kept for the backward pass; beyond, they are recomputed."""


@dataclass(frozen=True)
class HistoryBucket:
    """Histories of similar length: the clicks' places among the encoded articles, and their copies."""

    clicks: Tensor
    copies: Tensor
    reader: Tensor | None = None


@dataclass(frozen=True)
class RoundLayout:
    """All that a forward pass needs. Encoded articles and histories stand in the order of their buckets.

    `by_view` are the samples in the order of their views, `bucket_samples` how many of them each bucket has.
    """

    articles: list[ArticleBatch]
    histories: list[HistoryBucket]
    sample_view: Tensor
    candidates: Tensor
    target: Tensor
    randomness: Tensor | None
    positions: int
    by_view: Tensor
    bucket_samples: list[int]
    article_masks: Tensor | None = None
    reader_masks: Tensor | None = None

    def losses(self, network: Network, parameters: Mapping[str, Tensor], objective: Objective) -> Tensor:
        """The loss of each sample, Eq. (3)."""
        scores, penalty = self.scores(network, parameters, objective)
        return objective.losses(scores, self.target, penalty)

    def scores(
        self, network: Network, parameters: Mapping[str, Tensor], objective: Objective
    ) -> tuple[Tensor, Tensor | None]:
        """The scores of each sample's candidates [samples, candidates], and what a model adds to the loss."""
        vectors = masked(self._encode(network, parameters), self.article_masks)
        if network.candidate_aware:
            return self._matches(network, parameters, vectors), None
        readers = torch.cat(
            [network.encode_readers(parameters, gather(vectors, b.clicks), b.copies, b.reader) for b in self.histories]
        )
        readers = masked(readers, self.reader_masks)
        randomness = None if self.randomness is None else self.randomness.to(readers.dtype)
        readers = gather(objective.readers(parameters, readers, randomness), self.sample_view)
        return network.score(parameters, readers, gather(vectors, self.candidates)), network.model.penalty(readers)

    def _matches(self, network: Network, parameters: Mapping[str, Tensor], vectors: Tensor) -> Tensor:
        """Scores of each sample's candidates by a model whose readers depend on them; histories go by bucket."""
        found, first = [], 0
        for bucket, samples in zip(self.histories, torch.split(self.by_view, self.bucket_samples), strict=True):
            views = self.sample_view[samples] - first
            clicks, candidates = gather(vectors, bucket.clicks[views]), gather(vectors, self.candidates[samples])
            found.append(network.match(parameters, clicks, bucket.copies[views], candidates))
            first += len(bucket.clicks)
        return torch.cat(found)[torch.argsort(self.by_view)]

    def _encode(self, network: Network, parameters: Mapping[str, Tensor]) -> Tensor:
        if self.positions <= KEPT_POSITIONS:
            return network.encode_batches(parameters, self.articles)
        return torch.cat(
            [checkpoint(network.encode_articles, parameters, batch, use_reentrant=False) for batch in self.articles]
        )


def masked(vectors: Tensor, masks: Tensor | None) -> Tensor:
    """Vectors after dropout."""
    return vectors if masks is None else vectors * masks.to(vectors.dtype)


def compact(samples: Samples, table: ArticleTable, history_length: int, dropout: Dropout = NONE) -> RoundLayout:
    """Lay out the samples of one or of many clients."""
    articles = np.concatenate((samples.history, samples.candidates.ravel()))
    articles = np.where(articles == ANONYMOUS, table.anonymous, articles)
    anonymous_of = np.zeros(len(samples.view_client), dtype=np.int64)
    if table.reader_numbers is None:
        rows, places = np.unique(np.append(articles, table.anonymous), return_inverse=True)
        reader = None
    else:  # an article is encoded for each client who has it, and so is the anonymous one
        clients = len(samples.clients)
        owner = (
            samples.view_client[samples.history_view],
            np.repeat(samples.sample_client, samples.candidates.shape[1]),
        )
        owners = np.concatenate((*owner, np.arange(clients)))
        pairs = owners * len(table) + np.append(articles, np.full(clients, table.anonymous))
        pairs, places = np.unique(pairs, return_inverse=True)
        client, rows = np.divmod(pairs, len(table))
        reader = table.number_of(samples.reader[client])
        anonymous_of = samples.view_client
    lengths = table.length(rows).numpy()
    buckets = [part for bucket in by_length(lengths, BUCKET_OVERHEAD) for part in _parts(bucket, lengths)]
    order = np.concatenate(buckets)
    place = _inverse(order)[places]
    clicks, candidates, anonymous = np.split(place, [len(samples.history), len(articles)])

    sizes = samples.history_sizes
    view_buckets = by_length(sizes, HISTORY_OVERHEAD)
    view_order = np.concatenate(view_buckets)
    start = np.cumsum(sizes) - sizes
    histories = [
        history_bucket(clicks, start[views], sizes[views], anonymous[anonymous_of[views]], history_length)
        for views in view_buckets
    ]
    if reader is not None:
        number = table.number_of(samples.reader[samples.view_client])
        histories = [replace(b, reader=number[views]) for b, views in zip(histories, view_buckets, strict=True)]
    batches = [table.batch(rows[bucket]) for bucket in buckets]
    if reader is not None:
        batches = [replace(batch, reader=reader[bucket]) for batch, bucket in zip(batches, buckets, strict=True)]
    reader_masks = dropout.readers(samples)
    sample_view = _inverse(view_order)[samples.sample_view]
    return RoundLayout(
        articles=batches,
        histories=histories,
        sample_view=torch.from_numpy(sample_view),
        candidates=torch.from_numpy(candidates.reshape(samples.candidates.shape)),
        target=torch.from_numpy(samples.target),
        randomness=None if samples.randomness is None else torch.from_numpy(samples.randomness[view_order]),
        positions=int(lengths.sum()) + len(rows),
        by_view=torch.from_numpy(np.argsort(sample_view, kind="stable")),
        bucket_samples=np.diff(np.searchsorted(np.sort(sample_view), np.cumsum([0, *map(len, view_buckets)]))).tolist(),
        article_masks=dropout.articles(samples, rows[order]),
        reader_masks=None if reader_masks is None else reader_masks[view_order],
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


def history_bucket(
    clicks: Positions, start: Positions, size: Positions, anonymous: Positions, full: int
) -> HistoryBucket:
    """Histories side by side, the latest click last; before the oldest the anonymous article, as often as needed.

    `anonymous` has each history's place of that article.
    """
    width = int(size.max()) + 1
    back = np.arange(width)[::-1]
    there = back < size[:, None]
    at = np.where(there, (start + size)[:, None] - 1 - back, 0)
    places = np.where(there, clicks[at] if len(clicks) else 0, anonymous[:, None])
    copies = there + (back == size[:, None]) * (full - size)[:, None]
    if (size == full).all():
        places, copies = places[:, 1:], copies[:, 1:]
    return HistoryBucket(torch.from_numpy(places), torch.from_numpy(copies.astype(np.int64)))


def _inverse(order: Positions) -> Positions:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse
