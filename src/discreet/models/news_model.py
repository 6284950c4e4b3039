"""The interface of a news model: encode articles, encode a reader from article vectors, score one with the other.

Most models score by the dot product of the two vectors. A model may score otherwise (`score`), may let the reader's
vector depend on the candidate (`match`), and may encode an article again for each reader (`ArticleBatch.reader`).

Padding is part of the published models: a title shorter than 30 words is filled with the padding word, whose embedding
e₀ is learnt, and a history shorter than 50 clicks with the anonymous article, a title of nothing but padding. Equal
padding positions need not be computed thirty times over: a batch keeps one of them, and `copies` says for how many it
stands. A soft-max over positions with weights `copies · e^logit` is then exactly the soft-max over the padded row. A
position with `copies` 0 is not there at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from discreet.models.features import ArticleTable


class Titles(StrEnum):
    """Which titles the text vectors of a model are made of: what they are centred on depends on these.

    Those that `occur` depend on all readers' histories, so training with them guarantees nothing to a reader. Those of
    the whole `catalogue` are public.
    """

    OCCURRING = "occurring"
    CATALOGUE = "catalogue"


@dataclass(frozen=True)
class Needs:
    """What a model reads. It is given that and nothing else; where that cannot be had, training refuses in one line.

    Attributes:
        title_words: Words of the title, so many at most; 0 for none.
        abstract_words: Words of the abstract.
        categories: Category and subcategory.
        entities: The entities that a title names.
        vectors: A public text vector of the title, and of which titles; None for none.
        tokens: The title as the tokens of a language model in place of words: the folder of that model, empty for the
            installed one; None for no tokens.
        reader_id: Who the reader is, in addition to what she clicked: articles are then encoded again for each reader.
        candidate_aware: The reader's vector depends on the candidate, so there is none to keep, send or add noise to.
    """

    title_words: int = 0
    abstract_words: int = 0
    categories: bool = False
    entities: bool = False
    vectors: Titles | None = None
    tokens: str | None = None
    reader_id: bool = False
    candidate_aware: bool = False


@dataclass(frozen=True)
class TableSizes:
    """How many different words, categories, entities and readers there are, and the length of text vectors.

    What there is not is 0. All counts include the number 0 (padding, none, an unknown reader).
    """

    words: int = 0
    categories: int = 0
    subcategories: int = 0
    vector: int = 0
    entities: int = 0
    readers: int = 0


@dataclass(frozen=True)
class ModelSettings:
    """What every model has; the defaults are the published ones, and all settings are plain JSON values.

    `size` is the length of an article's vector, `query_size` that of attention pooling's queries. `dropout` is the
    share of the entries of articles' and readers' vectors that training sets to 0; the published models have 0.2.
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ()

    title_words: int = 30
    history_length: int = 50
    size: int = 400
    query_size: int = 200
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {self.dropout}")
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is int and value < (0 if field.name in self.MAY_BE_ZERO else 1):
                raise ValueError(f"{field.name} cannot be {value}")


@dataclass(frozen=True)
class ArticleBatch:
    """Articles as an encoder takes them; what a data set or model does not have is None.

    Words are positions [n, words] in the vocabulary (0 is padding, 1 unknown), each with its `copies`. `category` and
    `subcategory` count from 1 (0 is none). `vectors` are cached text vectors [n, size] of a frozen language model, zero
    for the anonymous article. `entities` [n, words] are parallel to the titles' words (0 is none). `reader` [n] is for
    whom each article is encoded (0 is a reader who did not train).
    """

    titles: Tensor | None = None
    title_copies: Tensor | None = None
    entities: Tensor | None = None
    abstracts: Tensor | None = None
    abstract_copies: Tensor | None = None
    category: Tensor | None = None
    subcategory: Tensor | None = None
    vectors: Tensor | None = None
    reader: Tensor | None = None

    def to(self, device: torch.device) -> ArticleBatch:
        """The same on a device."""
        return ArticleBatch(**{name: None if part is None else part.to(device) for name, part in vars(self).items()})


class NewsModel(nn.Module, ABC):
    """A model: one encoder for articles, one for readers, and a score. It is made of settings and its table's sizes.

    A model of one's own inherits from this class, has a `name`, `PRESETS` and `needs`, and encodes;
    `discreet.register` makes it known.
    """

    name: ClassVar[str]
    """The name that methods and the command line use."""

    PRESETS: ClassVar[Mapping[str, Any]]
    """Its settings at the sizes `published` and `small`."""

    def __init__(self, settings: ModelSettings, sizes: TableSizes) -> None:
        super().__init__()
        self.settings = settings
        self.sizes = sizes
        self.size = settings.size
        """Length of an article's vector."""
        self.reader_size = settings.size
        """Length of a reader's vector."""
        self.history_length = settings.history_length
        """How many of the latest clicks a reader's vector is made of; shorter histories are padded to it."""

    @property
    def device(self) -> torch.device:
        """Where the model lives."""
        return next((one.device for one in (*self.parameters(), *self.buffers())), torch.device("cpu"))

    @classmethod
    @abstractmethod
    def needs(cls, settings: Any) -> Needs:
        """What the model reads of articles and readers, at these settings."""

    def start_from(self, table: ArticleTable) -> None:
        """Before the first round, take what public articles tell: parameters to start from, and persistent buffers.

        Persistent buffers are never trained. A run keeps them, and nodes take them from the server.
        """

    @abstractmethod
    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        """The articles' vectors [n, size]."""

    def encode_batches(self, batches: Sequence[ArticleBatch]) -> Tensor:
        """The vectors of the articles of several batches, one after the other; work that they share is done once."""
        return torch.cat([self.encode_articles(batch) for batch in batches])

    def encode_readers(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """Readers' vectors [n, reader size] from their clicks' vectors [n, clicks, size], with `copies` [n, clicks].

        The oldest click comes first, and before it the padding, as one position with its copies, so that the latest
        click is always last. A model that needs `reader_id` is given the readers' numbers [n] as a third argument. A
        model that is `candidate_aware` has `match` in place of this.
        """
        raise NotImplementedError(f"{type(self).__name__} has no reader's vector")

    def score(self, readers: Tensor, candidates: Tensor) -> Tensor:
        """Scores [n, candidates] of readers [n, reader size] with their candidates [n, candidates, size]."""
        return torch.einsum("nd,ncd->nc", readers, candidates)

    def match(self, clicks: Tensor, copies: Tensor, candidates: Tensor) -> Tensor:
        """Scores [n, candidates] from clicks [n, clicks, size] and candidates: what a `candidate_aware` model has."""
        return self.score(self.encode_readers(clicks, copies), candidates)

    def penalty(self, readers: Tensor) -> Tensor | None:
        """What is added to the loss of each sample [n] for its reader's vector; None for nothing."""
        return None
