"""A model: one encoder for articles, one for readers. Every method that trains a model can train it."""

from dataclasses import dataclass
from typing import ClassVar

import torch

import discreet as d
from discreet.models.news_model import ModelSettings, Titles


@dataclass(frozen=True)
class MeanTitleSettings(ModelSettings):
    """Its settings are `--set model.NAME=VALUE` on the command line."""

    stretch: float = 2.0
    """How far scores are spread at first."""


@d.register
class MeanTitle(d.NewsModel):
    """Title vectors in a few directions; a reader is the mean of the clicked ones."""

    name: ClassVar[str] = "mean_title"
    PRESETS: ClassVar = {"published": MeanTitleSettings(size=32), "small": MeanTitleSettings(size=8)}

    def __init__(self, settings, sizes):
        super().__init__(settings, sizes)
        self.directions = torch.nn.Linear(sizes.vector, self.size, bias=False)
        self.weight = torch.nn.Parameter(torch.full((self.size,), settings.stretch))

    @classmethod
    def needs(cls, settings):
        """Vectors of titles, and nothing else."""
        return d.Needs(vectors=Titles.CATALOGUE)

    def encode_articles(self, batch):
        """The titles' vectors in the learnt directions."""
        return self.directions(batch.vectors)

    def encode_readers(self, clicks, copies):
        """The mean of the clicked titles, weighted by direction."""
        total = (copies.to(clicks.dtype).unsqueeze(-2) @ clicks).squeeze(-2)
        return total / copies.sum(-1, keepdim=True).clamp(min=1) * self.weight
