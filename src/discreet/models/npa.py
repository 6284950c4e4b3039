"""NPA: which words of a title and which clicks count depends on who reads.

Wu, Wu, An, Huang, Huang, Xie: NPA: Neural news recommendation with personalized attention. KDD 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from discreet.models.layers import Dense, PersonalPooling, WordEmbedding
from discreet.models.news_model import ArticleBatch, Needs, NewsModel, TableSizes
from discreet.models.published import SMALL, WordSettings, needed
from discreet.models.word_convolution import WordConvolution


@dataclass(frozen=True)
class NPASettings(WordSettings):
    """Sizes of the model; `reader_id_size` is the length of the vector that a reader's number has."""

    reader_id_size: int = 50


class NPA(NewsModel):
    """Title: words, convolution, personalised attention. Reader: personalised attention over the clicks.

    A reader's number has a vector e; the queries of the two attentions are ReLU(Ve + v), one for words, one for clicks.
    A reader who did not train has number 0, whose vector is zero.
    """

    name: ClassVar[str] = "npa"
    PRESETS: ClassVar = {
        "published": NPASettings(),
        "small": NPASettings(word_size=48, reader_id_size=16, **SMALL),
    }

    def __init__(self, settings: NPASettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.words = WordEmbedding(sizes.words, settings.word_size, trained=bool(settings.train_words))
        self.title_convolution = WordConvolution(settings.word_size, self.size)
        self.readers = nn.Parameter(torch.randn(sizes.readers, settings.reader_id_size) * 0.1)
        self.word_query = Dense(settings.reader_id_size, settings.query_size)
        self.click_query = Dense(settings.reader_id_size, settings.query_size)
        for query in (self.word_query, self.click_query):
            nn.init.uniform_(query.bias, 0.0, 0.1)  # a stranger's query is its bias: at zero, nothing would move it
        self.title_pooling = PersonalPooling(self.size, settings.query_size)
        self.click_pooling = PersonalPooling(self.size, settings.query_size)

    @classmethod
    def needs(cls, settings: NPASettings) -> Needs:
        """Titles, and who the reader is."""
        return Needs(title_words=settings.title_words, reader_id=True)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, each for one reader."""
        return self._pooled(self.title_convolution.of_words(self.words, needed(batch.titles, "titles")), batch)

    def encode_batches(self, batches: Sequence[ArticleBatch]) -> Tensor:
        """The same for several batches, which share their words."""
        titles = [needed(batch.titles, "titles") for batch in batches]
        texts = self.title_convolution.of_texts(self.words, titles)
        return torch.cat([self._pooled(words, batch) for words, batch in zip(texts, batches, strict=True)])

    def _pooled(self, words: Tensor, batch: ArticleBatch) -> Tensor:
        """Vectors of titles from those of their words in context, each for one reader."""
        queries = self._queries(self.word_query, needed(batch.reader, "readers' numbers"))
        vectors: Tensor = self.title_pooling(words, needed(batch.title_copies, "titles"), queries)
        return vectors

    def encode_readers(self, clicks: Tensor, copies: Tensor, reader: Tensor | None = None) -> Tensor:
        """The readers' vectors, from all their clicks."""
        queries = self._queries(self.click_query, needed(reader, "readers' numbers"))
        vectors: Tensor = self.click_pooling(clicks, copies, queries)
        return vectors

    def _queries(self, query: Dense, reader: Tensor) -> Tensor:
        known = (reader != 0).to(self.readers.dtype).unsqueeze(-1)
        return nn.functional.relu(query(nn.functional.embedding(reader, self.readers) * known))
