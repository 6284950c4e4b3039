"""A model with several interests in addition to the reader's own vector: one for ranking, the others for recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from discreet.models.layers import log_copies
from discreet.models.news_model import ArticleBatch, Needs, NewsModel


class MultiInterest(NewsModel):
    """A reader is (u, r₁, …, r_K): the model's own vector, and K means of the clicks by attention to K codes.

    The ranking score of a candidate t is that of the model for u, its recall score the largest ⟨r_k, t⟩.
    """

    PRESETS: ClassVar = {}

    def __init__(self, model: NewsModel, interests: int, tasks: tuple[str, ...], seed: int = 0) -> None:
        super().__init__(model.settings, model.sizes)
        self.base, self.interests, self.tasks = model, interests, tasks
        self.size, self.reader_size = model.size, model.reader_size + interests * model.size
        drawn = torch.randn(interests, model.size, generator=torch.Generator().manual_seed(seed))
        self.codes = nn.Parameter(drawn / model.size**0.5)

    @classmethod
    def needs(cls, settings: object) -> Needs:
        """The model's own needs are the method's; of itself it needs nothing more."""
        return Needs()

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """As the model."""
        return self.base.encode_articles(batch)

    def encode_batches(self, batches: Sequence[ArticleBatch]) -> Tensor:
        """As the model."""
        return self.base.encode_batches(batches)

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """The reader's vector, and all interests after it."""
        logits = (clicks @ self.codes.T).transpose(-1, -2)
        weights = torch.softmax(logits + log_copies(copies, logits).unsqueeze(-2), dim=-1)
        return torch.cat((self.base.encode_readers(clicks, copies), (weights @ clicks).flatten(-2)), dim=-1)

    def split(self, readers: Tensor) -> tuple[Tensor, Tensor]:
        """The reader's vector [n, size] and interests [n, interests, size]."""
        own, interests = readers[..., : self.base.reader_size], readers[..., self.base.reader_size :]
        return own, interests.reshape(*readers.shape[:-1], self.interests, self.size)

    def score(self, readers: Tensor, candidates: Tensor) -> Tensor:
        """Scores [n, candidates, tasks], in the order of `tasks`."""
        own, interests = self.split(readers)
        found = {"recall": (candidates @ interests.transpose(-1, -2)).amax(-1)}
        if "ranking" in self.tasks:
            found["ranking"] = self.base.score(own, candidates)
        return torch.stack([found[task] for task in self.tasks], dim=-1)
