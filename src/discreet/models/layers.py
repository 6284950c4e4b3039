"""The layers that the published models share, each of which knows that a position may stand for several equal ones.

`copies` [n, positions] says for how many equal positions of the padded row a position stands (see `base`); 0 means that
it is not there. Each layer gives exactly what it would give on the padded row. All are plain functions of their
parameters, so that `torch.func` can differentiate them reader by reader: no state, no dropout, no branch on values.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (PyTorch's own name for it)
from numpy.typing import NDArray
from torch import Tensor, nn

VECTOR = 16
"""Numbers that a processor takes at once: torch's soft-max of fewer goes one by one, and is ten times slower."""


class WordEmbedding(nn.Module):
    """Word vectors [n, words, size] of positions in the vocabulary; padding (0) has a learnt vector e₀ of its own.

    The vectors of real words are learnt only if `trained`: otherwise they are public and fixed, as in FedNewsRec's
    released code, and no gradient of the size of the vocabulary has to leave a device.
    """

    SPREAD = 0.4
    """Standard deviation of vectors drawn at random: that of an entry of the 300-dimensional GloVe vectors."""

    def __init__(self, words: int, size: int, *, trained: bool) -> None:
        super().__init__()
        self.trained = trained
        self.padding = nn.Parameter(torch.zeros(size))
        vectors = torch.randn(words, size) * self.SPREAD
        self.vectors: Tensor
        if trained:
            self.vectors = nn.Parameter(vectors)
        else:
            self.register_buffer("vectors", vectors)

    def fill(self, vectors: NDArray[np.floating]) -> None:
        """Put public vectors [words, size] in the place of the random ones."""
        if vectors.shape != tuple(self.vectors.shape):
            raise ValueError(f"word vectors of shape {vectors.shape} do not fit a table of {tuple(self.vectors.shape)}")
        with torch.no_grad():
            self.vectors.copy_(torch.as_tensor(vectors))

    def forward(self, words: Tensor) -> Tensor:
        """Look the words up."""
        return torch.where((words == 0).unsqueeze(-1), self.padding, F.embedding(words, self.vectors))


class EntityEmbedding(nn.Module):
    """Entities' vectors [n, words, size] by number; 0, no entity, has the vector zero. Public ones may stay fixed."""

    def __init__(self, entities: int, size: int, *, trained: bool) -> None:
        super().__init__()
        vectors = torch.randn(entities, size) * WordEmbedding.SPREAD
        self.vectors: Tensor
        if trained:
            self.vectors = nn.Parameter(vectors)
        else:
            self.register_buffer("vectors", vectors)

    def forward(self, entities: Tensor) -> Tensor:
        """Look the entities up."""
        there = (entities != 0).unsqueeze(-1)
        return torch.where(there, F.embedding(entities, self.vectors), torch.zeros_like(self.vectors[0]))


class SelfAttention(nn.Module):
    """Multi-head self-attention (Vaswani et al. 2017) without output projection or bias, as NRMS publishes it.

    Position i's output is Σⱼ aᵢⱼ Vxⱼ with aᵢⱼ ∝ copiesⱼ · exp(⟨Qxᵢ, Kxⱼ⟩ / √head size), head by head.
    """

    def __init__(self, input_size: int, size: int, heads: int) -> None:
        super().__init__()
        if size % heads:
            raise ValueError(f"{heads} heads cannot share an output of {size} evenly")
        self.heads, self.size = heads, size
        self.weight = nn.Parameter(torch.empty(input_size, 3, size))
        bound = math.sqrt(6 / (input_size + size))
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, inputs: Tensor, copies: Tensor) -> Tensor:
        """Inputs [n, positions, input size] in the light of one another, [n, positions, size]."""
        n, positions, _ = inputs.shape
        head_size = self.size // self.heads
        projected = (inputs @ self.weight.flatten(1)).view(n, positions, 3, self.heads, head_size)
        queries, keys, values = (each.transpose(1, 2) for each in projected.unbind(2))
        absent = max(0, VECTOR - positions)
        keys, values = F.pad(keys, (0, 0, 0, absent)), F.pad(values, (0, 0, 0, absent))
        logits = (queries / math.sqrt(head_size)) @ keys.transpose(-1, -2)
        counted = log_copies(F.pad(copies, (0, absent)), logits)
        weights = torch.softmax(logits + counted[:, None, None, :], dim=-1)
        return (weights @ values).transpose(1, 2).reshape(n, positions, self.size)


class AttentionPooling(nn.Module):
    """Additive attention: the mean of the inputs with weights ∝ copies · exp(⟨q, tanh(Wx + b)⟩)."""

    def __init__(self, size: int, query_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(size, query_size)
        nn.init.xavier_uniform_(self.project.weight)
        nn.init.zeros_(self.project.bias)
        bound = math.sqrt(6 / (query_size + 1))
        self.query = nn.Parameter(torch.empty(query_size).uniform_(-bound, bound))

    def forward(self, inputs: Tensor, copies: Tensor) -> Tensor:
        """Inputs [n, positions, size] as one vector [n, size] each."""
        logits = torch.tanh(self.project(inputs)) @ self.query
        weights = torch.softmax(logits + log_copies(copies, logits), dim=-1)
        return (weights.unsqueeze(-2) @ inputs).squeeze(-2)


class Dense(nn.Linear):
    """A linear layer that starts with Glorot's weights and no bias."""

    def __init__(self, size: int, output_size: int) -> None:
        super().__init__(size, output_size)
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)


class PersonalPooling(nn.Module):
    """NPA's personalised attention: weights ∝ copies · exp(⟨q, tanh(Wx + b)⟩), with a query q of one's own."""

    def __init__(self, size: int, query_size: int) -> None:
        super().__init__()
        self.project = Dense(size, query_size)

    def forward(self, inputs: Tensor, copies: Tensor, queries: Tensor) -> Tensor:
        """Inputs [n, positions, size] as one vector [n, size] each, by the queries [n, query size]."""
        logits = (torch.tanh(self.project(inputs)) @ queries.unsqueeze(-1)).squeeze(-1)
        weights = torch.softmax(logits + log_copies(copies, logits), dim=-1)
        return (weights.unsqueeze(-2) @ inputs).squeeze(-2)


class CandidateAttention(nn.Module):
    """Weights of clicks for each candidate: a net of one hidden layer reads click and candidate together.

    The net's first layer is linear in both, so click and candidate go through it apart, and each pair costs no more
    than a sum, a ReLU and a dot product.
    """

    def __init__(self, size: int, query_size: int) -> None:
        super().__init__()
        self.from_click = Dense(size, query_size)
        self.from_candidate = nn.Linear(size, query_size, bias=False)
        nn.init.xavier_uniform_(self.from_candidate.weight)
        bound = math.sqrt(6 / (query_size + 1))
        self.query = nn.Parameter(torch.empty(query_size).uniform_(-bound, bound))

    def forward(self, clicks: Tensor, copies: Tensor, candidates: Tensor) -> Tensor:
        """Weights [n, candidates, clicks] of clicks [n, clicks, size] for candidates [n, candidates, size]."""
        hidden = F.relu(self.from_click(clicks).unsqueeze(-3) + self.from_candidate(candidates).unsqueeze(-2))
        logits = hidden @ self.query
        return torch.softmax(logits + log_copies(copies, logits).unsqueeze(-2), dim=-1)


def log_copies(copies: Tensor, like: Tensor) -> Tensor:
    """What to add to soft-max logits so that a position counts `copies` times; −∞ where there is none."""
    return copies.to(like.dtype).log()
