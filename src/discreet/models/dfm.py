"""DFM: dense channels of several depths over the features of reader and candidate, fused by attention.

Lian, Zhang, Xie, Sun: Towards better representation learning for personalized news recommendation: a multi-channel deep
fusion approach. IJCAI 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from discreet.models.fm import FeatureSum
from discreet.models.layers import AttentionPooling, Dense
from discreet.models.news_model import ArticleBatch, ModelSettings, Needs, NewsModel, TableSizes
from discreet.models.published import SMALL


@dataclass(frozen=True)
class DFMSettings(ModelSettings):
    """`channels` is how many depths there are: the first channel has one layer, the last has so many."""

    channels: int = 3


class DFM(NewsModel):
    """A channel of depth c reads (u, t, u ⊙ t) through c dense layers; attention fuses the channels' last layers.

    u is the mean of the clicks' features, t the candidate's own: words, category and subcategory, each with a vector.
    """

    name: ClassVar[str] = "dfm"
    PRESETS: ClassVar = {"published": DFMSettings(size=64), "small": DFMSettings(**SMALL)}

    def __init__(self, settings: DFMSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.features = FeatureSum(sizes, self.size, 0.1)
        self.channels = nn.ModuleList(
            nn.ModuleList(Dense(3 * self.size if depth == 0 else self.size, self.size) for depth in range(layers))
            for layers in range(1, settings.channels + 1)
        )
        self.fusion = AttentionPooling(self.size, settings.query_size)
        self.output = nn.Linear(self.size, 1, bias=False)

    @classmethod
    def needs(cls, settings: DFMSettings) -> Needs:
        """Titles and categories."""
        return Needs(title_words=settings.title_words, categories=True)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The sums of the articles' features."""
        vectors: Tensor = self.features(batch)[0]
        return vectors

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """The mean of the clicks' features."""
        weights = copies.to(clicks.dtype).unsqueeze(-2)
        return (weights @ clicks).squeeze(-2) / weights.sum(-1).clamp(min=1)

    def score(self, readers: Tensor, candidates: Tensor) -> Tensor:
        """What the fused channels make of each pair of reader and candidate."""
        readers = readers.unsqueeze(-2).expand_as(candidates)
        inputs = torch.cat((readers, candidates, readers * candidates), dim=-1)
        last = []
        for layers in self.channels:
            hidden = inputs
            for layer in layers:  # type: ignore[attr-defined]
                hidden = nn.functional.relu(layer(hidden))
            last.append(hidden)
        channels = torch.stack(last, dim=-2)
        scores: Tensor = self.output(
            self.fusion(channels.flatten(0, 1), torch.ones_like(channels[..., 0].flatten(0, 1)))
        )
        return scores.view(candidates.shape[:-1])
