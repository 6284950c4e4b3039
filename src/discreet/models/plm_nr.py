"""PLM-NR: a pre-trained language model reads the titles; the reader is NRMS's.

Wu, Wu, Qi, Huang: Empowering news recommendation with pre-trained language models. SIGIR 2021.

The paper trains the last two layers of the language model, and so does the preset `published`. With no trainable layers
(the presets `frozen` and `small`) the language model never changes, so its vectors are computed once, next to the
articles, and the model is a small head over them. It starts from what the vectors already know: projected so that their
dot products stay as they are, and readers as the mean of their clicks. Untrained, it ranks as `content` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from discreet.models.language_model import TrainableLanguageModel
from discreet.models.layers import AttentionPooling, SelfAttention
from discreet.models.news_model import ArticleBatch, ModelSettings, Needs, NewsModel, TableSizes, Titles
from discreet.models.published import SMALL, check_heads, needed

if TYPE_CHECKING:
    from discreet.models.features import ArticleTable


@dataclass(frozen=True)
class PLMNRSettings(ModelSettings):
    """Sizes of the model.

    `trainable_layers` counts from the language model's top; 0 takes cached text vectors instead of titles.
    `language_model` is the folder of one; empty means the one that comes with the extra `lm`.
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("trainable_layers",)

    heads: int = 20
    trainable_layers: int = 0
    language_model: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.heads, self.size)


class PLMNR(NewsModel):
    """Article: text vector, projection. Reader: self-attention and attention pooling over all clicks, as in NRMS.

    An article without text, the anonymous one above all, has the learnt vector e₀ in the place of its text's.
    """

    name: ClassVar[str] = "plm_nr"
    PRESETS: ClassVar = {
        "published": PLMNRSettings(trainable_layers=2),
        "frozen": PLMNRSettings(),
        "small": PLMNRSettings(heads=4, **(SMALL | {"size": 96})),
    }

    SCALE = 5.0
    """How much longer a new model makes vectors of length 1, so that scores spread enough to learn from."""

    def __init__(self, settings: PLMNRSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.language_model: TrainableLanguageModel | None = None
        vector_size = sizes.vector
        if settings.trainable_layers:
            self.language_model = TrainableLanguageModel(settings.language_model, settings.trainable_layers)
            vector_size = self.language_model.size
            self.token_pooling = AttentionPooling(vector_size, settings.query_size)
            nn.init.zeros_(self.token_pooling.query)
        if not vector_size:
            raise ValueError("this model needs articles with text vectors, or trainable layers of a language model")
        self.padding = nn.Parameter(torch.zeros(vector_size))
        self.projection = nn.Linear(vector_size, self.size, bias=False)
        self.click_attention = SelfAttention(self.size, self.size, settings.heads)
        self.click_pooling = AttentionPooling(self.size, settings.query_size)
        nn.init.orthogonal_(self.projection.weight, gain=self.SCALE)
        nn.init.zeros_(self.click_pooling.query)
        nn.init.eye_(self.click_attention.weight.data[:, 2])

    @classmethod
    def needs(cls, settings: PLMNRSettings) -> Needs:
        """Vectors of the titles that occur, or titles as tokens where layers are trained."""
        if settings.trainable_layers:
            return Needs(title_words=settings.title_words, tokens=settings.language_model)
        return Needs(vectors=Titles.OCCURRING)

    @torch.no_grad()
    def start_from(self, table: ArticleTable) -> None:
        """Let a projection to fewer dimensions keep those that matter most to the dot products of public vectors."""
        vectors = table.vectors
        if self.language_model is None and vectors is not None and self.size < vectors.shape[1]:
            moments = vectors.double().T @ vectors.double()
            self.projection.weight.copy_(self.SCALE * torch.linalg.eigh(moments).eigenvectors[:, -self.size :].T)

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, from their text vectors or from their titles' tokens."""
        if self.language_model is None:
            texts = needed(batch.vectors, "text vectors").to(self.padding.dtype)
            empty = (texts == 0).all(-1, keepdim=True)
        else:
            tokens = needed(batch.titles, "titles as the language model's tokens")
            empty = (tokens == 0).all(-1, keepdim=True)
            first = torch.arange(tokens.shape[-1], device=tokens.device) == 0
            there = (tokens != 0) | (empty & first)
            texts = self.token_pooling(self.language_model(tokens, there), there)
            texts = nn.functional.normalize(texts, dim=-1)
        vectors: Tensor = self.projection(torch.where(empty, self.padding, texts))
        return vectors

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """The readers' vectors, from all their clicks."""
        vectors: Tensor = self.click_pooling(self.click_attention(clicks, copies), copies)
        return vectors
