"""A client's update, by the functions that training calls: what the server receives, and the truth behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.methods.method import TrainingTask
from discreet.methods.published.privaterec import PrivateRec
from discreet.methods.setup import article_table
from discreet.models.features import ArticleTable
from discreet.models.model_registry import build_model
from discreet.training.clients import Clients
from discreet.training.loop import client_gradient
from discreet.training.network import Network
from discreet.training.objective import Objective, Parameters
from discreet.training.samples import ANONYMOUS, Samples


@dataclass(frozen=True)
class AuditedFederation:
    """PrivateRec before its first round. Models that read words learn their vectors, whatever public ones there are."""

    method: PrivateRec
    network: Network
    table: ArticleTable
    parameters: Parameters
    clients: Clients
    seed: int

    @classmethod
    def start(cls, method: PrivateRec, task: TrainingTask, seed: int) -> AuditedFederation:
        """The untrained model, its basis, and the readers of the train split."""
        table = article_table(task, method.needs)
        network = Network(build_model(method.model, method.chosen_model, table, seed))
        parameters = {**network.parameters(), "basis": method.first_basis(network.model.size, seed)}
        clients = Clients.from_impressions(task.data.splits["train"], network.model.history_length)
        return cls(method, network, table, parameters, clients, seed)

    def clients_with_history(self) -> NDArray[np.int64]:
        """The clients of whose history there is something to learn, ascending."""
        longest = np.maximum.reduceat(
            self.clients.history_stop - self.clients.history_start, self.clients.first_view[:-1]
        )
        return np.flatnonzero(longest > 0)

    def history(self, client: int) -> NDArray[np.int32]:
        """All clicks of the client's histories, as they are before anything is masked."""
        return self.clients.draw(np.array([client]), self.seed, 0, 1).history

    def draw(self, client: int, round_: int) -> Samples:
        """The client's samples in a round, with all that is random: masks, noise, negatives, labels."""
        fresh = self.clients.draw(np.array([client]), self.seed, round_, self.method.negatives)
        return self.method.with_client_noise(fresh)

    def update(self, samples: Samples) -> Parameters:
        """What the client sends (Algorithm 3, line 21)."""
        return client_gradient(
            self.network, self.table, self.parameters, samples, Objective(self.method.interest)
        ).gradient

    @torch.no_grad()
    def reader_vectors(self, samples: Samples) -> Tensor:
        """The vector u of each view (Algorithm 2, line 6): what the noise is to hide, from the masked history."""
        length = self.network.model.history_length
        histories = np.full((len(samples.view_client), length), self.table.anonymous)
        for view, history in enumerate(histories):
            clicks = samples.history[samples.history_view == view]
            history[length - len(clicks) :] = np.where(clicks == ANONYMOUS, self.table.anonymous, clicks)
        vectors = self.network.encode_articles(self.parameters, self.table.padded(histories.ravel()))
        once = torch.ones(histories.shape, dtype=torch.int64)
        return self.network.encode_readers(self.parameters, vectors.view(*histories.shape, -1), once)
