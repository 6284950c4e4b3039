"""FM: a factorization machine over the features of a reader's clicks and of a candidate.

Rendle: Factorization machines with libFM. ACM TIST 2012. Features as in the comparisons of Wu et al. (NPA, NAML): words
of titles, category and subcategory, once for what was clicked and once for the candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from discreet.models.news_model import ArticleBatch, ModelSettings, Needs, NewsModel, TableSizes
from discreet.models.published import SMALL, needed


@dataclass(frozen=True)
class FMSettings(ModelSettings):
    """`size` is 2k + 1, where k is the length of a feature's vector."""

    size: int = 129

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size % 2 == 0:
            raise ValueError(f"size must be odd (two vectors and one number), not {self.size}")


class FeatureSum(nn.Module):
    """Σᵢ xᵢvᵢ over an article's features: each word by its share of the title, category and subcategory once."""

    def __init__(self, sizes: TableSizes, size: int, spread: float) -> None:
        super().__init__()
        self.words = nn.Parameter(torch.randn(sizes.words, size) * spread)
        self.category = nn.Parameter(torch.randn(max(1, sizes.categories), size) * spread)
        self.subcategory = nn.Parameter(torch.randn(max(1, sizes.subcategories), size) * spread)

    def forward(self, batch: ArticleBatch) -> tuple[Tensor, Tensor]:
        """Σ xᵢvᵢ and Σ xᵢ²vᵢ² [n, size]. Padding is no feature, but where there is no word at all it is the one."""
        titles = needed(batch.titles, "titles")
        first_column = torch.arange(titles.shape[-1], device=titles.device) == 0
        share = ((titles != 0) | (first_column & (titles == 0).all(-1, keepdim=True))).to(self.words.dtype)
        share = (share / share.sum(-1, keepdim=True).clamp(min=1)).unsqueeze(-1)
        words = nn.functional.embedding(titles, self.words)
        first, second = (share * words).sum(-2), (share * words).square().sum(-2)
        for table, numbers in ((self.category, batch.category), (self.subcategory, batch.subcategory)):
            names = needed(numbers, "categories and subcategories")
            vectors = nn.functional.embedding(names, table) * (names != 0).to(table.dtype).unsqueeze(-1)
            first, second = first + vectors, second + vectors.square()
        return first, second


class FM(NewsModel):
    """score = Σᵢ wᵢxᵢ + Σ_{i<j} ⟨vᵢ, vⱼ⟩ xᵢxⱼ over the features of clicks and candidate together.

    Pairs of two features of the clicks are the same for every candidate and rank nothing, so they are left out. What
    is left is a dot product: an article is (Vx as a candidate, its own score, Vx as a click), a reader the mean of the
    last part over the clicks, and a 1.
    """

    name: ClassVar[str] = "fm"
    PRESETS: ClassVar = {"published": FMSettings(), "small": FMSettings(**SMALL | {"size": 49})}

    def __init__(self, settings: FMSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.factors = settings.size // 2
        self.candidate = FeatureSum(sizes, self.factors, 0.1)
        self.click = FeatureSum(sizes, self.factors, 0.1)
        self.weight = FeatureSum(sizes, 1, 0.0)

    @classmethod
    def needs(cls, settings: FMSettings) -> Needs:
        """Titles and categories."""
        return Needs(title_words=settings.title_words, categories=True)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """Both sums of the articles' features, and what a candidate scores whoever reads it."""
        own, squares = self.candidate(batch)
        alone = self.weight(batch)[0] + 0.5 * (own.square() - squares).sum(-1, keepdim=True)
        return torch.cat((own, alone, self.click(batch)[0]), dim=-1)

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """The mean of the clicks' features."""
        weights = copies.to(clicks.dtype).unsqueeze(-2)
        mean = (weights @ clicks[..., self.factors + 1 :]).squeeze(-2) / weights.sum(-1).clamp(min=1)
        return torch.cat((mean, torch.ones_like(mean[..., :1]), torch.zeros_like(mean)), dim=-1)
