"""DKN: a convolution reads words and the entities that they name together; clicks are weighed for each candidate.

Wang, Zhang, Xie, Guo: DKN: Deep knowledge-aware network for news recommendation. WWW 2018.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from discreet.models.layers import CandidateAttention, Dense, EntityEmbedding, WordEmbedding
from discreet.models.news_model import ArticleBatch, Needs, NewsModel, TableSizes
from discreet.models.published import SMALL, EntitySettings, needed
from discreet.models.word_convolution import WordConvolution


class DKN(NewsModel):
    """Article: knowledge-aware convolution (KCNN). Reader: attention over the clicks by the candidate. Score: a net.

    At each word of a title two vectors are aligned, that of the word and tanh(Me + b) of the entity e that it is part
    of; a convolution reads them as channels, and each filter keeps its largest value. The score is a net over reader
    and candidate. The paper has a third channel, the entity's neighbours in the knowledge graph, which MIND's files do
    not have.
    """

    name: ClassVar[str] = "dkn"
    PRESETS: ClassVar = {
        "published": EntitySettings(),
        "small": EntitySettings(word_size=48, entity_size=16, **SMALL),
    }

    def __init__(self, settings: EntitySettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.words = WordEmbedding(sizes.words, settings.word_size, trained=bool(settings.train_words))
        self.entities = EntityEmbedding(sizes.entities, settings.entity_size, trained=bool(settings.train_entities))
        self.to_words = Dense(settings.entity_size, settings.word_size)
        self.convolution = WordConvolution(2 * settings.word_size, self.size)
        self.click_attention = CandidateAttention(self.size, settings.query_size)
        self.hidden = Dense(3 * self.size, self.size)
        self.output = nn.Linear(self.size, 1, bias=False)

    @classmethod
    def needs(cls, settings: EntitySettings) -> Needs:
        """Titles and their entities."""
        return Needs(title_words=settings.title_words, entities=True, candidate_aware=True)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, from their titles' words and entities."""
        titles, entities = needed(batch.titles, "titles"), needed(batch.entities, "entities")
        named = (entities != 0).to(self.to_words.weight.dtype).unsqueeze(-1)
        aligned = named * torch.tanh(self.to_words(self.entities(entities)))
        words: Tensor = self.convolution(torch.cat((self.words(titles), aligned), dim=-1))
        return words.amax(-2)

    def match(self, clicks: Tensor, copies: Tensor, candidates: Tensor) -> Tensor:
        """For each candidate, the clicks by their attention; then a net over both, and over their product."""
        readers = self.click_attention(clicks, copies, candidates) @ clicks
        both = torch.cat((readers, candidates, readers * candidates), dim=-1)
        scores: Tensor = self.output(nn.functional.relu(self.hidden(both)))
        return scores.squeeze(-1)
