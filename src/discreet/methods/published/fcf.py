"""FCF: federated collaborative filtering. A reader's factors stay on the device; gradients of articles' factors leave.

Ammad-ud-din, Ivannikova, Khan, Oyomno, Fu, Tan, Flanagan: Federated collaborative filtering for privacy-preserving
personalized recommendation system. arXiv 1901.09888, 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.learnt import pack_names, unpack_names
from discreet.methods.method import Method, Scores, State, TrainingTask
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.training.checkpoint import CheckpointFile
from discreet.training.clients import choose_clients, round_size
from discreet.training.optimisers import FedAdam
from discreet.training.rounds import RoundResult, Server
from discreet.training.samples import spans

Factors = NDArray[np.float64]


@dataclass(frozen=True)
class ClickLists:
    """For each reader the different articles that they clicked: `article[first[r]:first[r + 1]]`."""

    first: NDArray[np.int64]
    article: NDArray[np.int64]

    @classmethod
    def of(cls, reader: NDArray[np.integer], article: NDArray[np.integer], readers: int, articles: int) -> ClickLists:
        """From pairs of reader and article, in any order."""
        pairs = np.unique(reader.astype(np.int64) * articles + article)
        first = np.searchsorted(pairs // articles, np.arange(readers + 1))
        return cls(first.astype(np.int64), pairs % articles)

    def of_readers(self, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The articles of some readers, and for each the reader's place among the chosen."""
        places, which = spans(self.first[chosen], self.first[chosen + 1])
        return self.article[places], which


@dataclass(frozen=True, kw_only=True)
class FCF(Method):
    """Implicit feedback: p_ui = 1 where u clicked i, with confidence c_ui = 1 + α p_ui; p_ui ≈ x_uᵀ y_i.

    The device solves x_u = (Y C_u Yᵀ + λI)⁻¹ Y C_u p_u for itself. It sends f(u, i) = c_ui (p_ui − x_uᵀ y_i) x_u for
    all articles i, and the server moves Y by Adam against −2 Σ_u f(u, i) + 2λ y_i. There is no noise: f tells who
    clicked what, exactly. An article that nobody has clicked yet, as most news of the next day, has learnt no factors.

    Attributes:
        factors: k, the length of x and y.
        alpha: α.
        regularisation: λ.
    """

    name: ClassVar[str] = "fcf"

    rounds: int = 100
    fraction: float = 0.1
    rate: float = 0.05
    factors: int = 16
    alpha: float = 4.0
    regularisation: float = 1.0

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.factors < 1 or not 0 < self.fraction <= 1:
            raise DiscreetError(f"{self.name}: rounds and factors must be at least 1, fraction above 0 and at most 1")
        if not (self.rate > 0 and self.alpha >= 0 and self.regularisation > 0):
            raise DiscreetError(f"{self.name}: rate and regularisation must be above 0, alpha at least 0")

    @property
    def epsilon(self) -> float | None:
        """No noise."""
        return math.inf

    def train(self, task: TrainingTask, seed: int, checkpoint: Path | None = None) -> State:
        """In each round a share of the readers solve for themselves, and send gradients of all articles' factors."""
        clicks = _clicks(task)
        readers = np.flatnonzero(np.diff(clicks.first))
        generator = torch.Generator().manual_seed(seed)
        start = {"items": 0.1 * torch.randn(len(task.data.articles), self.factors, generator=generator).double()}
        about = {"method": self.name, "seed": str(seed), "data": task.data.fingerprint, "settings": self._settings()}
        file = None if checkpoint is None else CheckpointFile(checkpoint, about)
        with Server(start, FedAdam(self.rate, tau=1e-6), self.rounds, file=file) as server:
            for number in server:
                chosen = choose_clients(len(readers), round_size(len(readers), self.fraction), seed, number)
                server.step(self.gradient(server.parameters["items"].numpy(), clicks, readers[chosen]))
        return {
            "items": server.parameters["items"].numpy(),
            "ids": pack_names(task.data.articles.ids),
            "losses": np.array(server.state.losses),
            "watched": np.zeros((0, 2)),
        }

    def gradient(self, items: Factors, clicks: ClickLists, chosen: NDArray[np.int64]) -> RoundResult:
        """The mean of the chosen readers' −2 f(u, ·), with the server's own 2λY, and their mean squared error."""
        article, which = clicks.of_readers(chosen)
        own = self.solve(items, article, which, len(chosen))
        guess = np.einsum("nk,nk->n", own[which], items[article])
        total = -(items @ (own.T @ own))  # what f(u, i) is where nothing was clicked
        np.add.at(total, article, ((1 + self.alpha) * (1 - guess) + guess)[:, None] * own[which])
        direction = (-2 * total + 2 * self.regularisation * items) / max(1, len(chosen))
        loss = float(np.square(1 - guess).mean()) if len(guess) else math.nan
        return RoundResult({"items": torch.from_numpy(direction)}, loss)

    def solve(self, items: Factors, article: NDArray[np.int64], which: NDArray[np.int64], readers: int) -> Factors:
        """x_u for each reader, from the articles clicked."""
        everything = items.T @ items + self.regularisation * np.eye(self.factors)
        left = np.broadcast_to(everything, (readers, *everything.shape)).copy()
        right = np.zeros((readers, self.factors))
        np.add.at(left, which, self.alpha * items[article][:, :, None] * items[article][:, None, :])
        np.add.at(right, which, (1 + self.alpha) * items[article])
        return np.asarray(np.linalg.solve(left, right[:, :, None])[:, :, 0])

    def guarantee(self, state: State) -> Guarantee:
        """None that is finite: what is sent tells the clicks."""
        return Guarantee.unprotected("gradients of articles' factors without noise", Scope.LIFETIME)

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """x_uᵀ y_i with the reader's factors from the history; 0 for an article that training did not know."""
        place = {name: row for row, name in enumerate(unpack_names(state["ids"]))}
        rows = np.array([place.get(name, len(place)) for name in task.data.articles.ids])
        items = np.vstack((state["items"], np.zeros(self.factors)))[rows]
        bounds = np.stack((impressions.history_start, impressions.history_stop), axis=1)
        histories, history = np.unique(bounds, axis=0, return_inverse=True)
        clicks, owner = spans(histories[:, 0], histories[:, 1])
        lists = ClickLists.of(owner, impressions.timeline[clicks], len(histories), len(items))
        own = self.solve(items, *lists.of_readers(np.arange(len(histories))), len(histories))
        reader = history.reshape(-1)[impressions.impression_of_shown]
        return np.asarray(np.einsum("nk,nk->n", own[reader], items[impressions.shown]))

    def _settings(self) -> str:
        return f"{self.fraction} {self.rate} {self.factors} {self.alpha} {self.regularisation}"


def _clicks(task: TrainingTask) -> ClickLists:
    """What readers clicked, in their histories and in the impressions of the train split."""
    train = task.data.splits["train"]
    past, which = spans(train.history_start, train.history_stop)
    now = np.flatnonzero(train.clicked)
    reader = np.concatenate((train.reader[which], train.reader[train.impression_of_shown[now]]))
    article = np.concatenate((train.timeline[past], train.shown[now]))
    return ClickLists.of(reader, article, len(task.data.readers), len(task.data.articles))
