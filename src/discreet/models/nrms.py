"""NRMS: self-attention over a title's words, and over a reader's clicks.

Wu, Ge, Qi, Huang, Xie: Neural news recommendation with multi-head self-attention. EMNLP 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from discreet.models.layers import AttentionPooling, SelfAttention, WordEmbedding
from discreet.models.news_model import ArticleBatch, Needs, NewsModel, TableSizes
from discreet.models.published import SMALL, WordSettings, check_heads, needed


@dataclass(frozen=True)
class NRMSSettings(WordSettings):
    """Sizes of the model; `heads` share its vectors evenly."""

    heads: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.heads, self.size)


class NRMS(NewsModel):
    """Title: words, self-attention, attention pooling. Reader: clicks, self-attention, attention pooling."""

    name: ClassVar[str] = "nrms"
    PRESETS: ClassVar = {"published": NRMSSettings(), "small": NRMSSettings(word_size=48, heads=4, **SMALL)}

    def __init__(self, settings: NRMSSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.words = WordEmbedding(sizes.words, settings.word_size, trained=bool(settings.train_words))
        self.title_attention = SelfAttention(settings.word_size, self.size, settings.heads)
        self.title_pooling = AttentionPooling(self.size, settings.query_size)
        self.click_attention = SelfAttention(self.size, self.size, settings.heads)
        self.click_pooling = AttentionPooling(self.size, settings.query_size)

    @classmethod
    def needs(cls, settings: NRMSSettings) -> Needs:
        """Titles."""
        return Needs(title_words=settings.title_words)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, from their titles' words."""
        titles, copies = needed(batch.titles, "titles"), needed(batch.title_copies, "titles")
        vectors: Tensor = self.title_pooling(self.title_attention(self.words(titles), copies), copies)
        return vectors

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """The readers' vectors, from all their clicks."""
        vectors: Tensor = self.click_pooling(self.click_attention(clicks, copies), copies)
        return vectors
