"""FedNewsRec's model: convolution and self-attention over a title's words; long- and short-term interest of a reader.

Qi, Wu, Wu, Huang, Xie: Privacy-preserving news recommendation model learning. Findings of EMNLP 2020, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from discreet.models.layers import AttentionPooling, SelfAttention, WordEmbedding
from discreet.models.news_model import ArticleBatch, Needs, NewsModel, TableSizes
from discreet.models.published import SMALL, WordSettings, check_heads, needed
from discreet.models.recurrent import RecentGRU
from discreet.models.title_attention import COMMON, attended_titles, own_positions
from discreet.models.word_convolution import WordConvolution


@dataclass(frozen=True)
class FedNewsRecSettings(WordSettings):
    """Sizes of the model, and its ablations (Fig. 7): without long-term or without short-term interest.

    The paper leaves open how many clicks are `recent`; its released code takes 20, and so do we.
    """

    heads: int = 20
    filters: int = 400
    recent: int = 20
    long_term: bool = True
    short_term: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.heads, self.size)
        if not (self.long_term or self.short_term):
            raise ValueError("a reader needs long-term or short-term interest")


class FedNewsRecModel(NewsModel):
    """Title: words, convolution, self-attention, attention pooling.

    Reader: self-attention and attention pooling over all clicks (long term), a GRU over the recent ones (short term),
    and an attention that weighs the two. The ReLU after the title's self-attention is the released code's.
    """

    name: ClassVar[str] = "fednewsrec"
    PRESETS: ClassVar = {
        "published": FedNewsRecSettings(),
        "small": FedNewsRecSettings(word_size=48, heads=4, filters=48, recent=10, **SMALL),
    }

    def __init__(self, settings: FedNewsRecSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.long_term, self.short_term = settings.long_term, settings.short_term
        self.words = WordEmbedding(sizes.words, settings.word_size, trained=bool(settings.train_words))
        self.title_convolution = WordConvolution(settings.word_size, settings.filters)
        self.title_attention = SelfAttention(settings.filters, self.size, settings.heads)
        self.title_pooling = AttentionPooling(self.size, settings.query_size)
        if settings.long_term:
            self.click_attention = SelfAttention(self.size, self.size, settings.heads)
            self.click_pooling = AttentionPooling(self.size, settings.query_size)
        if settings.short_term:
            self.recent_clicks = RecentGRU(self.size, self.size, settings.recent)
        if settings.long_term and settings.short_term:
            self.interest_pooling = AttentionPooling(self.size, settings.query_size)

    @classmethod
    def needs(cls, settings: FedNewsRecSettings) -> Needs:
        """Titles."""
        return Needs(title_words=settings.title_words)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, from their titles' words."""
        copies = needed(batch.title_copies, "titles")
        words = self.title_convolution.of_words(self.words, needed(batch.titles, "titles"))
        vectors: Tensor = self.title_pooling(nn.functional.relu(self.title_attention(words, copies)), copies)
        return vectors

    def encode_batches(self, batches: Sequence[ArticleBatch]) -> Tensor:
        """The same for several batches, which share their words and the padding at their titles' ends."""
        titles = [needed(batch.titles, "titles") for batch in batches]
        copies = [needed(batch.title_copies, "titles") for batch in batches]
        own = own_positions(titles)
        padding = torch.zeros_like(titles[0][:1, :1]).expand(1, COMMON + 1)
        chosen = [*(slice(positions) for positions in own), slice(1, None)]
        windows = self.title_convolution.sums(self.words, [*titles, padding], chosen)
        return attended_titles(windows, own, copies, self.title_attention, self.title_pooling)

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """The readers' vectors, from all clicks and from the recent ones."""
        interests: list[Tensor] = []
        if self.short_term:
            interests.append(self.recent_clicks(clicks, copies))
        if self.long_term:
            interests.append(self.click_pooling(self.click_attention(clicks, copies), copies))
        if len(interests) == 1:
            return interests[0]
        both = torch.stack(interests, dim=-2)
        vectors: Tensor = self.interest_pooling(both, torch.ones_like(both[..., 0]))
        return vectors
