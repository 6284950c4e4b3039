"""Ranking with a trained model: every history is encoded once, then its slates are scored.

Where the reader's vector depends on the candidate, or an article's on the reader, impressions are computed one by one,
as training's samples are.
"""

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
from discreet.training.layout import by_length, compact, gather, history_bucket
from discreet.training.network import Network
from discreet.training.objective import Objective
from discreet.training.samples import ANONYMOUS, Samples, position_in_group, spans
from discreet.training.torch_device import moved

_HISTORIES = 1024  # encoded at a time
_PAIRS = 1 << 17  # candidates scored at a time
_NUMBERS = 30_000_000  # of pairs of candidate and click, where these are looked at together


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
    parameters = moved(dict(parameters), network.device)
    if network.candidate_aware or table.reader_numbers is not None:
        return _one_by_one(network, table, parameters, impressions, serving)
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
    of_shown = history.reshape(-1)[impressions.impression_of_shown]
    here = {name: value.cpu() for name, value in parameters.items()}  # what is served is noised in main memory
    served = serving(here, readers.cpu()).to(network.device)
    return _pairs(network, parameters, served, vectors, of_shown, shown)


@torch.no_grad()
def _one_by_one(
    network: Network,
    table: ArticleTable,
    parameters: Mapping[str, Tensor],
    impressions: Impressions,
    serving: Serving,
) -> Scores:
    """Impressions with slates of similar size together, shorter ones filled up with the anonymous article."""
    model, sizes = network.model, impressions.slate_sizes
    order = np.argsort(sizes, kind="stable")
    scores = np.empty(len(impressions.shown))
    here = {name: value.cpu() for name, value in parameters.items()}
    objective = Objective(lambda _, readers, __: serving(here, readers.cpu()).to(network.device))
    pair = model.history_length * model.settings.query_size
    for part in track(_pieces(order, max(1, _NUMBERS // (pair * int(sizes.max(initial=1))))), "Impressions"):
        places, owner = spans(impressions.slate[part], impressions.slate[part + 1])
        column = position_in_group(owner)
        candidates = np.full((len(part), int(sizes[part].max())), ANONYMOUS, np.int32)
        candidates[owner, column] = impressions.shown[places]
        start = np.maximum(impressions.history_start[part], impressions.history_stop[part] - model.history_length)
        clicks, view = spans(start, impressions.history_stop[part])
        one_each = np.arange(len(part))
        samples = Samples(
            seed=0,
            round=0,
            clients=one_each,
            reader=impressions.reader[part],
            view_client=one_each,
            history=impressions.timeline[clicks],
            history_view=view,
            sample_view=one_each,
            candidates=candidates,
            target=np.zeros(len(part), np.int64),
            slate_size=sizes[part].astype(np.int32),
        )
        layout = moved(compact(samples, table, model.history_length), network.device)
        found, _ = layout.scores(network, parameters, objective)
        scores[places] = found.double().cpu().numpy()[owner, column]
    return scores


@torch.no_grad()
def _encode_readers(
    network: Network, vectors: Tensor, clicks: NDArray[np.int64], sizes: NDArray[np.int64], anonymous: int
) -> Tensor:
    model = network.model
    starts = np.cumsum(sizes) - sizes
    readers = torch.zeros(len(sizes), model.reader_size, device=network.device)
    parts = [part for group in by_length(sizes, 1000) for part in _pieces(group, _HISTORIES)]
    for part in track(parts, "Readers"):
        nobody = np.full(len(part), anonymous)
        bucket = moved(history_bucket(clicks, starts[part], sizes[part], nobody, model.history_length), network.device)
        readers[torch.from_numpy(part)] = model.encode_readers(gather(vectors, bucket.clicks), bucket.copies)
    return readers


@torch.no_grad()
def _pairs(
    network: Network,
    parameters: Mapping[str, Tensor],
    readers: Tensor,
    vectors: Tensor,
    reader: NDArray[np.int64],
    shown: NDArray[np.int64],
) -> Scores:
    scores = np.empty(len(shown))
    at_once = _PAIRS * network.model.size // network.model.reader_size
    for part in _pieces(np.arange(len(shown)), at_once):
        u, t = readers[torch.from_numpy(reader[part])], vectors[torch.from_numpy(shown[part])]
        found = network.score(parameters, u, t.unsqueeze(1)).squeeze(1)
        scores[part] = (
            (found if found.dim() == 1 else found[:, 0]).cpu().numpy()
        )  # of several tasks the first one ranks
    return scores


def _pieces(positions: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    return [positions[i : i + size] for i in range(0, len(positions), size)]
