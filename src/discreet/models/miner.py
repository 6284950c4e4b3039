"""MINER: several interests of a reader, kept apart by a penalty, weighed for each candidate.

Li, Zhu, Bi, Cai, Shang, Dong, Jiang, Liu: MINER: Multi-interest matching network for news recommendation. Findings of
ACL 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from discreet.models.layers import AttentionPooling, Dense, SelfAttention, WordEmbedding, log_copies
from discreet.models.news_model import ArticleBatch, Needs, NewsModel, TableSizes, Titles
from discreet.models.published import SMALL, WordSettings, check_heads, needed

if TYPE_CHECKING:
    from discreet.models.features import ArticleTable


@dataclass(frozen=True)
class MINERSettings(WordSettings):
    """Sizes of the model: K `interests`, and the weight λ of their `disagreement`.

    With `text_vectors` articles are public vectors of their titles in place of words: the paper has a language model.
    The model then starts, as `plm_nr` does, near the mean of the clicks and the similarity of public vectors.
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("disagreement",)

    heads: int = 20
    interests: int = 32
    disagreement: float = 0.8
    text_vectors: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.heads, self.size)


class MINER(NewsModel):
    """Article: as NRMS, or a public text vector. Reader: K interests by poly attention. Score: their weighed match.

    Interest k is the mean of the clicks with weights ∝ exp(⟨c_k, tanh(Wx)⟩), for a code c_k that is learnt. A candidate
    t matches it by ⟨r_k, t⟩, and its score is the mean of these with weights ∝ exp(⟨r_k, GELU(W't)⟩). The mean cosine
    between a reader's interests is added to the loss. The paper's bias by the similarity of categories is left out.
    """

    name: ClassVar[str] = "miner"
    PRESETS: ClassVar = {
        "published": MINERSettings(),
        "small": MINERSettings(word_size=48, heads=4, interests=8, **SMALL),
    }

    SCALE = 5.0
    """How much longer a new model makes public vectors of length 1, so that scores spread enough to learn from."""

    def __init__(self, settings: MINERSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.interests, self.disagreement = settings.interests, settings.disagreement
        self.reader_size = self.interests * self.size
        self.text_vectors = settings.text_vectors
        if self.text_vectors:
            self.padding = nn.Parameter(torch.zeros(sizes.vector))
            self.projection = nn.Linear(sizes.vector, self.size, bias=False)
            nn.init.orthogonal_(self.projection.weight, gain=self.SCALE)
        else:
            self.words = WordEmbedding(sizes.words, settings.word_size, trained=bool(settings.train_words))
            self.title_attention = SelfAttention(settings.word_size, self.size, settings.heads)
            self.title_pooling = AttentionPooling(self.size, settings.query_size)
        self.click_projection = Dense(self.size, settings.query_size)
        self.codes = nn.Parameter(torch.empty(self.interests, settings.query_size))
        nn.init.xavier_uniform_(self.codes, gain=0.1 if self.text_vectors else 1.0)
        self.weighing = Dense(self.size, self.size)
        if self.text_vectors:
            nn.init.zeros_(self.weighing.weight)

    @classmethod
    def needs(cls, settings: MINERSettings) -> Needs:
        """Titles, as words or as public vectors."""
        if settings.text_vectors:
            return Needs(vectors=Titles.CATALOGUE)
        return Needs(title_words=settings.title_words)

    @torch.no_grad()
    def start_from(self, table: ArticleTable) -> None:
        """Let the projection keep the directions that matter most to the dot products of public vectors."""
        vectors = table.vectors
        if self.text_vectors and vectors is not None and self.size < vectors.shape[1]:
            moments = vectors.double().T @ vectors.double()
            self.projection.weight.copy_(self.SCALE * torch.linalg.eigh(moments).eigenvectors[:, -self.size :].T)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, from their titles."""
        vectors: Tensor
        if self.text_vectors:
            texts = needed(batch.vectors, "text vectors").to(self.padding.dtype)
            vectors = self.projection(torch.where((texts == 0).all(-1, keepdim=True), self.padding, texts))
            return vectors
        titles, copies = needed(batch.titles, "titles"), needed(batch.title_copies, "titles")
        vectors = self.title_pooling(self.title_attention(self.words(titles), copies), copies)
        return vectors

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """All interests of each reader, one after the other [n, interests · size]."""
        logits = (torch.tanh(self.click_projection(clicks)) @ self.codes.T).transpose(-1, -2)
        weights = torch.softmax(logits + log_copies(copies, logits).unsqueeze(-2), dim=-1)
        return (weights @ clicks).flatten(-2)

    def score(self, readers: Tensor, candidates: Tensor) -> Tensor:
        """The weighed match of each candidate with the reader's interests."""
        interests = self._apart(readers)
        matches = candidates @ interests.transpose(-1, -2)
        weights = torch.softmax(nn.functional.gelu(self.weighing(candidates)) @ interests.transpose(-1, -2), dim=-1)
        return (weights * matches).sum(-1)

    def penalty(self, readers: Tensor) -> Tensor | None:
        """λ times the mean cosine between two interests of a reader (the disagreement regularisation)."""
        if not self.disagreement or self.interests < 2:
            return None
        interests = nn.functional.normalize(self._apart(readers), dim=-1)
        total = interests.sum(-2).square().sum(-1) - interests.square().sum((-1, -2))
        return self.disagreement * total / (self.interests * (self.interests - 1))

    def _apart(self, readers: Tensor) -> Tensor:
        return readers.view(*readers.shape[:-1], self.interests, self.size)
