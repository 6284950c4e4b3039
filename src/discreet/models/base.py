"""The interface of a news model: encode articles, encode a reader from article vectors, score by their dot product.

Padding is part of the published models: a title shorter than 30 words is filled with the padding word, whose embedding
e₀ is learnt, and a history shorter than 50 clicks with the anonymous article, a title of nothing but padding. Equal
padding positions need not be computed thirty times over: a batch keeps one of them, and `copies` says for how many it
stands. A soft-max over positions with weights `copies · e^logit` is then exactly the soft-max over the padded row. A
position with `copies` 0 is not there at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class ArticleBatch:
    """Articles as an encoder takes them; what a data set or model does not have is None.

    Words are positions [n, words] in the vocabulary (0 is padding, 1 unknown), each with its `copies`. `category` and
    `subcategory` count from 1 (0 is none). `vectors` are cached text vectors [n, size] of a frozen language model, zero
    for the anonymous article.
    """

    titles: Tensor | None = None
    title_copies: Tensor | None = None
    abstracts: Tensor | None = None
    abstract_copies: Tensor | None = None
    category: Tensor | None = None
    subcategory: Tensor | None = None
    vectors: Tensor | None = None


class NewsModel(nn.Module, ABC):
    """A published model: one encoder for articles, one for readers."""

    size: int
    """Length of an article's and of a reader's vector."""

    history_length: int
    """How many of the latest clicks a reader's vector is made of; shorter histories are padded to it."""

    @abstractmethod
    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors [n, size]."""

    @abstractmethod
    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """Readers' vectors [n, size] from their clicks' vectors [n, clicks, size], with `copies` [n, clicks].

        The oldest click comes first, and before it the padding, as one position with its copies, so that the latest
        click is always last.
        """

    @staticmethod
    def score(readers: Tensor, candidates: Tensor) -> Tensor:
        """Dot products [n, candidates] of readers [n, size] with their candidates [n, candidates, size]."""
        return torch.einsum("nd,ncd->nc", readers, candidates)
