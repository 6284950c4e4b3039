"""Audits of "sending the gradient is ε-DP" (PrivateRec, Theorem 3), registered when this module is imported.

Two histories differ in one click, and the title of that click has a word that no other title has, the canary. Whether
the canary's row in a client's gradient is zero tells the histories apart, unless the click was masked or the noise let
no gradient through to it.

What runs an audit is imported when it runs, so that listing audits does not wait for PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.audits.audit_registry import Audit, register
from discreet.audits.black_box import BlackBox
from discreet.audits.noninterference import NonInterference
from discreet.audits.scores import Outputs, likelier_by_frequency
from discreet.privacy.guarantee import Status

if TYPE_CHECKING:
    from discreet.audits.leak.update import AuditedFederation

_TITLES = (
    "council votes on new budget",
    "rain expected over the weekend",
    "local team wins the cup",
    "how to bake better bread",
    "markets fall after rate decision",
    "new museum opens in spring",
    "five walks for a sunny day",
    "what the budget means for schools",
    "living with a pacemaker",
)
_CANARY = len(_TITLES) - 1
_SLATE = (3, 4, 5, 6, 7)
_WITH, _WITHOUT = (0, 1, _CANARY), (0, 1, 2)


@dataclass(frozen=True)
class CanaryRow:
    """For each run, whether the canary's row of a client's gradient is other than 0.

    A run is one client's update by the training's own code: masks, noise and labels of `PrivateRec.with_client_noise`,
    the gradient of `client_gradients`. All runs have the same history, and each has its own random numbers.
    """

    history: tuple[int, ...]
    epsilon: float

    def __call__(self, runs: int, seed: int) -> Outputs:
        """One row for each run: 1 or 0."""
        from discreet.training.objective import Objective
        from discreet.training.simulator import client_gradients

        outputs = np.zeros((runs, 1))
        with _one_thread():
            watched = _federation(self.history, self.epsilon, runs)
            fresh = watched.clients.draw(np.arange(runs), seed, 0, watched.method.negatives)
            samples = watched.method.with_client_noise(fresh)
            objective = Objective(watched.method.interest)
            for part in client_gradients(watched.network, watched.table, watched.parameters, samples, objective):
                rows = part.gradients["words.vectors"][:, _canary_word()]
                outputs[part.positions, 0] = (rows != 0).any(dim=1).numpy()
        return outputs


@dataclass(frozen=True)
class WordsBesideAttention:
    """Which words' rows are not 0 in the gradient of a client whose noised attention is given.

    If the gradient were post-processing of the noised attention, these bytes would not depend on the history: the noise
    is what lies between the given weights and the attention of this history, and nothing is masked.
    """

    def __call__(self, history: tuple[int, ...], weights: tuple[float, ...]) -> bytes:
        """The flags of all words."""
        from discreet.audits.leak.title_leak import words_seen
        from discreet.methods.published.serving import attention

        with _one_thread():
            watched = _federation(history, 1.0, 1)
            samples = watched.clients.draw(np.array([0]), 0, 0, watched.method.negatives)
            own = attention(watched.reader_vectors(samples), watched.parameters["basis"], watched.method.theta)
            noise = np.array([weights]) - own.double().numpy()
            return np.packbits(words_seen(watched.update(samples.with_randomness(noise)))).tobytes()


def _federation(history: tuple[int, ...], epsilon: float, readers: int) -> AuditedFederation:
    """Readers who all have this history and clicked the first article of the same slate."""
    from discreet.audits.leak.update import AuditedFederation
    from discreet.data.news import Articles, Impressions, NewsData
    from discreet.methods.method import TrainingTask
    from discreet.methods.published.privaterec import PrivateRec

    none = [""] * len(_TITLES)
    articles = Articles(
        ids=[f"N{number}" for number in range(len(_TITLES))],
        titles=_TITLES,
        categories=none,
        subcategories=none,
        abstracts=none,
        published=np.full(len(_TITLES), -1, np.int64),
    )
    impressions = Impressions(
        reader=np.arange(readers, dtype=np.int32),
        time=np.zeros(readers, np.int64),
        slate=np.arange(readers + 1, dtype=np.int64) * len(_SLATE),
        shown=np.tile(np.array(_SLATE, np.int32), readers),
        clicked=np.tile(np.arange(len(_SLATE)) == 0, readers),
        timeline=np.array(history, np.int32),
        history_start=np.zeros(readers, np.int64),
        history_stop=np.full(readers, len(history), np.int64),
    )
    names = [f"U{number}" for number in range(readers)]
    task = TrainingTask(NewsData("canary", articles, names, {"train": impressions}))
    return AuditedFederation.start(PrivateRec(model="nrms", epsilon=epsilon), task, seed=0)


def _canary_word() -> int:
    from discreet.text.words import Vocabulary

    return Vocabulary.of(_TITLES).number_of["pacemaker"]


@contextmanager
def _one_thread() -> Iterator[None]:
    """A model this small is faster on one thread, and audits run side by side."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


register(
    Audit(
        "client gradient",
        "PrivateRec ε=1 p=0.2, canary word, as published",
        Status.CLAIMED,
        1.0,
        BlackBox(CanaryRow(_WITH, 1.0), CanaryRow(_WITHOUT, 1.0), runs=1000, scores=(likelier_by_frequency,)),
    )
)
register(
    Audit(
        "client gradient",
        "PrivateRec, besides its noised attention, as published",
        Status.CLAIMED,
        0.0,
        NonInterference(WordsBesideAttention(), (_WITH, _WITHOUT), (0.2, 0.3, 0.5)),
    )
)
