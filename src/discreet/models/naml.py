"""NAML: title, abstract, category and subcategory as views of an article, weighed by attention.

Wu, Wu, An, Huang, Huang, Xie: Neural news recommendation with attentive multi-view learning. IJCAI 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from discreet.models.layers import AttentionPooling, WordEmbedding
from discreet.models.news_model import ArticleBatch, Needs, NewsModel, TableSizes
from discreet.models.published import SMALL, WordSettings, needed
from discreet.models.word_convolution import WordConvolution


@dataclass(frozen=True)
class NAMLSettings(WordSettings):
    """Sizes of the model. Where `abstract_words` is 0 there is no view of the abstract."""

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("abstract_words",)

    abstract_words: int = 50
    category_size: int = 100


class NAML(NewsModel):
    """Views of an article: title and abstract by convolution and attention pooling, categories by embedding.

    A view that an article does not have (no abstract, no subcategory) has no part in its attention; the title always
    has, be it nothing but padding. Reader: attention pooling over the clicks.
    """

    name: ClassVar[str] = "naml"
    PRESETS: ClassVar = {
        "published": NAMLSettings(),
        "small": NAMLSettings(word_size=48, abstract_words=30, category_size=16, **SMALL),
    }

    def __init__(self, settings: NAMLSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.words = WordEmbedding(sizes.words, settings.word_size, trained=bool(settings.train_words))
        self.title = TextView(settings)
        self.abstract = TextView(settings) if settings.abstract_words else None
        self.category = NameView(sizes.categories, settings) if sizes.categories else None
        self.subcategory = NameView(sizes.subcategories, settings) if sizes.subcategories else None
        self.view_pooling = AttentionPooling(self.size, settings.query_size)
        self.click_pooling = AttentionPooling(self.size, settings.query_size)

    @classmethod
    def needs(cls, settings: NAMLSettings) -> Needs:
        """Titles, abstracts and categories."""
        return Needs(title_words=settings.title_words, abstract_words=settings.abstract_words, categories=True)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, from the views that each has."""
        texts = [view.convolution.of_words(self.words, words) for view, words, _ in self._texts(batch)]
        return self._pooled(texts, batch)

    def encode_batches(self, batches: Sequence[ArticleBatch]) -> Tensor:
        """The same for several batches, which share their words."""
        views = zip(*(self._texts(batch) for batch in batches), strict=True)
        texts = [each[0][0].convolution.of_texts(self.words, [words for _, words, _ in each]) for each in views]
        return torch.cat([self._pooled(each, batch) for *each, batch in zip(*texts, batches, strict=True)])

    def _texts(self, batch: ArticleBatch) -> list[tuple[TextView, Tensor, Tensor]]:
        """Title and abstract: their view, words and copies."""
        texts = [(self.title, needed(batch.titles, "titles"), needed(batch.title_copies, "titles"))]
        if self.abstract is not None:
            abstracts, copies = needed(batch.abstracts, "abstracts"), needed(batch.abstract_copies, "abstracts")
            texts.append((self.abstract, abstracts, copies))
        return texts

    def _pooled(self, texts: Sequence[Tensor], batch: ArticleBatch) -> Tensor:
        """Vectors of articles from their texts' words in context, and from their categories."""
        of_texts = self._texts(batch)
        views: list[Tensor] = [
            view.pooling(words, copies) for words, (view, _, copies) in zip(texts, of_texts, strict=True)
        ]
        there = [
            torch.ones_like(of_texts[0][1][..., 0]),
            *(words.amax(-1).clamp(max=1) for _, words, _ in of_texts[1:]),
        ]
        for view, names in ((self.category, batch.category), (self.subcategory, batch.subcategory)):
            if view is not None:
                numbers = needed(names, "categories and subcategories")
                views.append(view(numbers))
                there.append(numbers.clamp(max=1))
        vectors: Tensor = self.view_pooling(torch.stack(views, dim=-2), torch.stack(there, dim=-1))
        return vectors

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """The readers' vectors, from all their clicks."""
        vectors: Tensor = self.click_pooling(clicks, copies)
        return vectors


class TextView(nn.Module):
    """A text as one vector: convolution over its words, attention pooling."""

    def __init__(self, settings: NAMLSettings) -> None:
        super().__init__()
        self.convolution = WordConvolution(settings.word_size, settings.size)
        self.pooling = AttentionPooling(settings.size, settings.query_size)


class NameView(nn.Module):
    """A category or subcategory as one vector: embedding, then a dense layer with ReLU."""

    def __init__(self, names: int, settings: NAMLSettings) -> None:
        super().__init__()
        self.embedding = nn.Embedding(names, settings.category_size)
        self.dense = nn.Linear(settings.category_size, settings.size)
        nn.init.xavier_uniform_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)

    def forward(self, numbers: Tensor) -> Tensor:
        """Vectors [n, size] of categories [n]."""
        return nn.functional.relu(self.dense(self.embedding(numbers)))
