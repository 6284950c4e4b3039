"""DAN: parallel convolutions over a title's words and entities; attention and an LSTM over the clicks.

Zhu, Zhou, Song, Tan, Guo: DAN: Deep attention neural network for news recommendation. AAAI 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from discreet.models.layers import CandidateAttention, Dense, EntityEmbedding, WordEmbedding
from discreet.models.news_model import ArticleBatch, Needs, NewsModel, TableSizes
from discreet.models.published import SMALL, EntitySettings, needed
from discreet.models.recurrent import RecentLSTM
from discreet.models.word_convolution import WordConvolution


@dataclass(frozen=True)
class DANSettings(EntitySettings):
    """Sizes of the model; the LSTM reads the `recent` latest clicks."""

    recent: int = 20


class DAN(NewsModel):
    """Article: two convolutions side by side, over words and over entities (PCNN), and a dense layer that joins them.

    Reader, for each candidate: the clicks by their attention (interest), and the states of an LSTM by theirs
    (sequence), joined by a dense layer. Score: the cosine, times a scale that is learnt, since a soft-max over cosines
    alone could not tell candidates apart.
    """

    name: ClassVar[str] = "dan"
    PRESETS: ClassVar = {
        "published": DANSettings(),
        "small": DANSettings(word_size=48, entity_size=16, recent=10, **SMALL),
    }

    def __init__(self, settings: DANSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.words = WordEmbedding(sizes.words, settings.word_size, trained=bool(settings.train_words))
        self.entities = EntityEmbedding(sizes.entities, settings.entity_size, trained=bool(settings.train_entities))
        self.word_convolution = WordConvolution(settings.word_size, self.size)
        self.entity_convolution = WordConvolution(settings.entity_size, self.size)
        self.article = Dense(2 * self.size, self.size)
        self.click_attention = CandidateAttention(self.size, settings.query_size)
        self.sequence = RecentLSTM(self.size, self.size, settings.recent)
        self.state_attention = CandidateAttention(self.size, settings.query_size)
        self.reader = Dense(2 * self.size, self.size)
        self.scale = nn.Parameter(torch.tensor(10.0))

    @classmethod
    def needs(cls, settings: DANSettings) -> Needs:
        """Titles and their entities."""
        return Needs(title_words=settings.title_words, entities=True, candidate_aware=True)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, from the largest values of both convolutions."""
        titles, entities = needed(batch.titles, "titles"), needed(batch.entities, "entities")
        words = self.word_convolution.of_words(self.words, titles).amax(-2)
        named = self.entity_convolution(self.entities(entities)).amax(-2)
        return torch.tanh(self.article(torch.cat((words, named), dim=-1)))

    def match(self, clicks: Tensor, copies: Tensor, candidates: Tensor) -> Tensor:
        """For each candidate, interest and sequence by their attention; then the cosine with the candidate."""
        interest = self.click_attention(clicks, copies, candidates) @ clicks
        states, there = self.sequence(clicks, copies)
        sequence = self.state_attention(states, there, candidates) @ states
        readers = self.reader(torch.cat((interest, sequence), dim=-1))
        return self.scale * (_unit(readers) * _unit(candidates)).sum(-1)


def _unit(vectors: Tensor) -> Tensor:
    """Vectors at length 1; one at zero stays there, with a gradient that is finite."""
    return vectors * (vectors.square().sum(-1, keepdim=True) + 1e-6).rsqrt()
