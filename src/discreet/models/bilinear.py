"""A bilinear head over public vectors: few parameters, so that training with noise costs little.

An article is a fixed, public vector t; a reader the mean ū of the clicked ones; the score is ūᵀWt + bᵀt. W says which
interests go together, b what everybody likes. The loss is convex in both, and articles' vectors are scaled so that all
directions count alike: the noise of private training then falls evenly on what is learnt, and a few rounds suffice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from discreet.models.news_model import ArticleBatch, ModelSettings, Needs, NewsModel, TableSizes, Titles
from discreet.models.published import needed

if TYPE_CHECKING:
    from discreet.models.features import ArticleTable


@dataclass(frozen=True)
class BilinearSettings(ModelSettings):
    """Sizes of the model; it has no use for `title_words` and `query_size`."""

    size: int = 192


class Bilinear(NewsModel):
    """Article: text vector and its topic, joined, in principal directions of equal variance. Reader: ūW + b.

    The topic is the subcategory, or the category where there are no subcategories, as a vector with a single 1. Text
    vector x and topic e make the article's vector t = B'x + B''e, where B = (B', B'') keeps the `size` directions of
    most variance among all articles and scales each to variance 1. W is symmetric, and starts at `SCALE` times the
    variances: untrained, the score is the similarity of text and topic. An article with neither, the anonymous one
    above all, has the vector 0 and is not counted among a reader's clicks.

    W is learnt as the vector of its entries on and above the diagonal, those above it times √2, so that its length is
    W's and noise of the same size on each entry is noise of the same size in every direction.
    """

    name: ClassVar[str] = "bilinear"
    PRESETS: ClassVar = {"published": BilinearSettings(), "small": BilinearSettings(size=96)}

    SCALE = 9.0
    """How far a new model spreads scores: the similarity of unit vectors, with the topic's, times this."""

    PRIOR = 0.5
    """The length that b is learnt in: about that of a reader's ū in one direction, so that both learn at one rate."""

    def __init__(self, settings: BilinearSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        if not sizes.vector:
            raise ValueError("this model needs articles with text vectors")
        self.by_subcategory = sizes.subcategories > 1
        topics = sizes.subcategories if self.by_subcategory else max(1, sizes.categories)
        self.text_basis: Tensor
        self.topic_basis: Tensor
        self.entry: Tensor
        self.share: Tensor
        self.register_buffer("text_basis", torch.zeros(sizes.vector, self.size))
        self.register_buffer("topic_basis", torch.zeros(topics, self.size))
        above = torch.triu(torch.ones(self.size, self.size, dtype=torch.bool))
        entry = torch.zeros(self.size, self.size, dtype=torch.int64)
        entry[above] = torch.arange(int(above.sum()))
        self.register_buffer("entry", torch.maximum(entry, entry.T), persistent=False)
        share = torch.full((self.size, self.size), 0.5**0.5).fill_diagonal_(1.0)
        self.register_buffer("share", share, persistent=False)
        self.pairs = nn.Parameter(torch.zeros(self.size * (self.size + 1) // 2))
        self.prior = nn.Parameter(torch.zeros(self.size))

    @classmethod
    def needs(cls, settings: BilinearSettings) -> Needs:
        """Vectors of all titles, and categories."""
        return Needs(vectors=Titles.CATALOGUE, categories=True)

    @torch.no_grad()
    def start_from(self, table: ArticleTable) -> None:
        """Take the directions of most variance among public articles, and begin with their similarity.

        A direction's largest entry is positive: its sign is not left to chance. Where there are fewer directions than
        `size`, the rest of a vector is 0. Directions of nearly equal variance may come out otherwise on another
        machine, so whoever trains together or goes on with a trained model takes its `text_basis` and `topic_basis`.
        """
        articles = table.batch(torch.arange(table.anonymous))
        texts = needed(articles.vectors, "text vectors").double()
        names = self._topics(articles)
        topics = len(self.topic_basis) - 1
        by_topic = torch.zeros(topics + 1, texts.shape[1], dtype=torch.float64).index_add_(0, names, texts)[1:]
        shares = torch.bincount(names, minlength=topics + 1)[1:].double()
        upper = torch.cat((texts.T @ texts, by_topic.T), dim=1)
        lower = torch.cat((by_topic, torch.diag(shares)), dim=1)
        found = torch.linalg.eigh(torch.cat((upper, lower)) / max(1, len(texts)))
        kept = min(self.size, len(found.eigenvalues))
        variances, directions = found.eigenvalues[-kept:].flip(0), found.eigenvectors[:, -kept:].flip(1)
        directions = directions * directions.gather(0, directions.abs().argmax(0, keepdim=True)).sign()
        variances = torch.where(variances > 1e-6 * variances[0], variances, 0.0)
        basis = directions * torch.where(variances > 0, variances.rsqrt(), 0.0)
        self.text_basis[:, :kept] = basis[: len(self.text_basis)]
        self.topic_basis[1:, :kept] = basis[len(self.text_basis) :]
        self.pairs[self.entry.diagonal()[:kept]] = self.SCALE * variances.to(self.pairs.dtype)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, which training does not change."""
        texts = needed(batch.vectors, "text vectors").to(self.text_basis.dtype)
        return texts @ self.text_basis + nn.functional.embedding(self._topics(batch), self.topic_basis)

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """The readers' vectors, from the mean of their clicks."""
        counted = (copies * (clicks != 0).any(-1)).to(clicks.dtype)
        mean = (counted.unsqueeze(-2) @ clicks).squeeze(-2) / counted.sum(-1, keepdim=True).clamp(min=1)
        weights = self.pairs[self.entry] * self.share
        return mean @ weights + self.PRIOR * self.prior

    def _topics(self, batch: ArticleBatch) -> Tensor:
        names = batch.subcategory if self.by_subcategory else batch.category
        if len(self.topic_basis) == 1:
            return torch.zeros_like(needed(batch.vectors, "text vectors")[..., 0], dtype=torch.int64)
        return needed(names, "categories and subcategories")
