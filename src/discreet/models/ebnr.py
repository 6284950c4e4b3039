"""EBNR: a denoising auto-encoder makes articles' vectors from public text alone; a GRU reads the clicks.

Okura, Tagami, Ono, Tajima: Embedding-based news recommendation for millions of users. KDD 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from discreet.models.news_model import ArticleBatch, ModelSettings, Needs, NewsModel, TableSizes
from discreet.models.published import SMALL, needed
from discreet.models.recurrent import RecentGRU

if TYPE_CHECKING:
    from discreet.models.features import ArticleTable


@dataclass(frozen=True)
class EBNRSettings(ModelSettings):
    """The GRU reads the `recent` latest clicks. The auto-encoder hides a share `masked` of each title's words."""

    recent: int = 20
    masked: float = 0.3
    auto_encoder_steps: int = 300


class EBNR(NewsModel):
    """Article: h = tanh(Σ w over the title's words + b), by an auto-encoder. Reader: a GRU over the clicks.

    The auto-encoder is trained once on all titles of the catalogue, before the first round, and then stays as it is:
    from some of a title's words it has to tell all of them, and articles of one category come out more alike than
    others (the paper's weak supervision). No click is read for it.
    """

    name: ClassVar[str] = "ebnr"
    PRESETS: ClassVar = {"published": EBNRSettings(), "small": EBNRSettings(recent=10, auto_encoder_steps=100, **SMALL)}

    BATCH, RATE, ALIKE = 256, 1e-2, 1.0
    LENGTH = 3.0
    """Of articles' vectors, so that scores spread enough to learn from."""

    def __init__(self, settings: EBNRSettings, sizes: TableSizes) -> None:
        super().__init__(settings, sizes)
        self.masked, self.steps = settings.masked, settings.auto_encoder_steps
        self.encoder_words: Tensor
        self.encoder_bias: Tensor
        self.register_buffer("encoder_words", torch.randn(sizes.words, self.size) * 0.1)
        self.register_buffer("encoder_bias", torch.zeros(self.size))
        self.clicks = RecentGRU(self.size, self.size, settings.recent)

    @classmethod
    def needs(cls, settings: EBNRSettings) -> Needs:
        """Titles, and categories for the auto-encoder."""
        return Needs(title_words=settings.title_words, categories=True)

    @torch.enable_grad()
    def start_from(self, table: ArticleTable) -> None:
        """Train the auto-encoder on the titles and categories of all articles."""
        articles = table.padded(torch.arange(table.anonymous))
        titles, category = needed(articles.titles, "titles"), needed(articles.category, "categories")
        titled = torch.nonzero((titles != 0).any(1)).flatten()
        if not len(titled):
            return
        generator = torch.Generator().manual_seed(0)
        words = self.encoder_words.float().clone().requires_grad_()
        bias, decoder_bias = torch.zeros(self.size, requires_grad=True), torch.zeros(len(words), requires_grad=True)
        decoder = (torch.randn(self.size, len(words), generator=generator) * 0.1).requires_grad_()
        optimiser = torch.optim.Adam([words, bias, decoder, decoder_bias], lr=self.RATE)
        for _ in range(self.steps):
            chosen = titled[torch.randint(len(titled), (self.BATCH,), generator=generator)]
            text, topic = titles[chosen], category[chosen]
            hidden = text * (torch.rand(text.shape, generator=generator) >= self.masked)
            vectors = _encode(hidden, words, bias)
            guesses = torch.log_softmax(vectors @ decoder + decoder_bias, dim=-1)
            there = (text != 0).to(guesses.dtype)
            reconstructed = (guesses.gather(1, text) * there).sum(1) / there.sum(1)
            loss = -reconstructed.mean() + self.ALIKE * _dissimilar(vectors, topic)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        self.encoder_words.copy_(words.detach())
        self.encoder_bias.copy_(bias.detach())

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors, which training does not change, all of one length."""
        vectors = _encode(needed(batch.titles, "titles"), self.encoder_words, self.encoder_bias)
        return self.LENGTH * vectors * (vectors.square().sum(-1, keepdim=True) + 1e-6).rsqrt()

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """The last state of the GRU."""
        vectors: Tensor = self.clicks(clicks, copies)
        return vectors


def _encode(titles: Tensor, words: Tensor, bias: Tensor) -> Tensor:
    there = (titles != 0).to(words.dtype).unsqueeze(-1)
    return torch.tanh((nn.functional.embedding(titles, words) * there).sum(-2) + bias)


def _dissimilar(vectors: Tensor, topic: Tensor) -> Tensor:
    """log(1 + e^(⟨h, h⁻⟩ − ⟨h, h⁺⟩)) for neighbours in the batch of the same (h⁺) and of another (h⁻) category."""
    alike = nn.functional.normalize(vectors, dim=-1) @ nn.functional.normalize(vectors, dim=-1).T
    same = (topic[:, None] == topic) & ~torch.eye(len(topic), dtype=torch.bool)
    if not same.any() or same.all():
        return vectors.new_zeros(())
    return nn.functional.softplus(alike[topic[:, None] != topic].mean() - alike[same].mean())
