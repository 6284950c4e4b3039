"""The articles of a data set as the numbers that encoders take, and their encoding in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.data.news import Articles
from discreet.models.entity_table import aligned_entities, public_vectors, title_entities
from discreet.models.news_model import ArticleBatch, NewsModel, TableSizes
from discreet.progress import track
from discreet.text.words import Vocabulary, tokenise

Rows = Tensor | NDArray[np.integer] | Sequence[int]

_POSITIONS = 8192  # words encoded at a time: some hundred megabytes at the published sizes


@dataclass(frozen=True)
class ReaderNumbers:
    """The readers that a model knows, from 1 in the order of `names`; `numbers` has that of each of a data set."""

    names: Sequence[str]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, readers: Sequence[str], known: Sequence[str]) -> ReaderNumbers:
        """The numbers of a data set's readers among those known; 0 for any other."""
        place = {name: number for number, name in enumerate(known, start=1)}
        return cls(known, np.array([place.get(name, 0) for name in readers], np.int64))


class ArticleTable:
    """All articles as matrices, one row each, and one more row at the end: the anonymous article.

    The anonymous article is what histories are padded with and masked clicks are replaced by: a title of nothing but
    padding, no abstract, no category, a zero text vector.
    """

    def __init__(
        self,
        sizes: TableSizes,
        *,
        titles: Tensor | None = None,
        abstracts: Tensor | None = None,
        category: Tensor | None = None,
        subcategory: Tensor | None = None,
        vectors: Tensor | None = None,
        entities: Tensor | None = None,
        entity_vectors: Tensor | None = None,
        reader_numbers: NDArray[np.int64] | None = None,
        words: Sequence[str] = (),
        categories: Sequence[str] = (),
        subcategories: Sequence[str] = (),
        entity_names: Sequence[str] = (),
        reader_names: Sequence[str] = (),
    ) -> None:
        """Take the rows of the real articles; what is None is not there. Columns beyond a text's words are 0.

        `words`, `categories`, `subcategories`, `entity_names` and `reader_names` are what numbers stand for, in their
        order. `entity_vectors` [entities, size] are public. `reader_numbers` says for each reader of the data set the
        number that the model has for them.
        """
        given = [part for part in (titles, abstracts, category, subcategory, vectors) if part is not None]
        if not given or len({len(part) for part in given}) > 1:
            raise ValueError("an article table needs matrices of the same, at least one, number of rows")
        self.sizes = sizes
        self.words, self.categories, self.subcategories = tuple(words), tuple(categories), tuple(subcategories)
        self.entity_names, self.reader_names = tuple(entity_names), tuple(reader_names)
        self.entity_vectors, self.reader_numbers = entity_vectors, reader_numbers
        self.anonymous = len(given[0])
        self._titles, self._abstracts, self._category, self._subcategory, self._vectors, self._entities = (
            None if part is None else torch.cat((part, part.new_zeros(1, *part.shape[1:])))
            for part in (titles, abstracts, category, subcategory, vectors, entities)
        )
        self._title_lengths = _lengths(self._titles)
        self._abstract_lengths = _lengths(self._abstracts)

    @classmethod
    def from_articles(
        cls,
        articles: Articles,
        *,
        vocabulary: Vocabulary | None = None,
        title_words: int = 30,
        abstract_words: int = 0,
        vectors: NDArray[np.floating] | None = None,
        with_categories: bool = True,
        categories: Sequence[str] | None = None,
        subcategories: Sequence[str] | None = None,
        with_entities: bool = False,
        entity_names: Sequence[str] | None = None,
        readers: ReaderNumbers | None = None,
    ) -> ArticleTable:
        """A table of `articles`: words where there is a vocabulary, categories, text vectors where they are given.

        A table for a model that is already trained takes that model's vocabulary, categories, subcategories and
        entities, for their order is part of what it has learnt; a name that is not among them then counts as none.
        """
        titles = abstracts = None
        if vocabulary is not None:
            titles = torch.as_tensor(tokenise(articles.titles, vocabulary, title_words))
            if abstract_words:
                abstracts = torch.as_tensor(tokenise(articles.abstracts, vocabulary, abstract_words))
        if not with_categories:
            categories = subcategories = ()
        categories = _names(articles.categories) if categories is None else categories
        subcategories = _names(articles.subcategories) if subcategories is None else subcategories
        entities = entity_vectors = None
        if with_entities and vocabulary is not None:
            entity_names = title_entities(articles) if entity_names is None else entity_names
            entities = aligned_entities(articles, entity_names, vocabulary, title_words)
            entity_vectors = public_vectors(articles, entity_names)
        sizes = TableSizes(
            words=0 if vocabulary is None else len(vocabulary),
            categories=len(categories) + 1 if with_categories else 0,
            subcategories=len(subcategories) + 1 if with_categories else 0,
            vector=0 if vectors is None else vectors.shape[1],
            entities=0 if entities is None else len(entity_names or ()) + 1,
            readers=0 if readers is None else len(readers.names) + 1,
        )
        return cls(
            sizes,
            titles=titles,
            abstracts=abstracts,
            category=_numbered(articles.categories, categories) if with_categories else None,
            subcategory=_numbered(articles.subcategories, subcategories) if with_categories else None,
            vectors=None if vectors is None else torch.as_tensor(np.ascontiguousarray(vectors)),
            entities=entities,
            entity_vectors=entity_vectors,
            reader_numbers=None if readers is None else readers.numbers,
            entity_names=entity_names or (),
            reader_names=() if readers is None else readers.names,
            words=() if vocabulary is None else vocabulary.words,
            categories=categories,
            subcategories=subcategories,
        )

    def __len__(self) -> int:
        """How many rows there are, the anonymous article among them."""
        return self.anonymous + 1

    @property
    def vectors(self) -> Tensor | None:
        """The text vectors of all rows."""
        return self._vectors

    def batch(self, rows: Rows) -> ArticleBatch:
        """The articles of `rows`, texts cut where only padding follows: encoders give exactly what `padded` gives."""
        return self._batch(rows, compact=True)

    def number_of(self, readers: NDArray[np.integer]) -> Tensor:
        """The numbers that the model has for readers of the data set."""
        assert self.reader_numbers is not None, "the model does not know readers"
        return torch.from_numpy(self.reader_numbers[readers])

    def padded(self, rows: Rows) -> ArticleBatch:
        """The articles of `rows` in the published form: every text at full length, every position once."""
        return self._batch(rows, compact=False)

    def length(self, rows: Rows) -> Tensor:
        """How much there is to read in each article: words of title and abstract."""
        index = torch.as_tensor(rows)
        total = torch.zeros(len(index), dtype=torch.int64)
        for lengths in (self._title_lengths, self._abstract_lengths):
            total = total if lengths is None else total + lengths[index]
        return total

    def _batch(self, rows: Rows, *, compact: bool) -> ArticleBatch:
        index = torch.as_tensor(rows, dtype=torch.int64)
        titles, title_copies = _texts(self._titles, self._title_lengths, index, compact)
        abstracts, abstract_copies = _texts(self._abstracts, self._abstract_lengths, index, compact)
        return ArticleBatch(
            titles=titles,
            title_copies=title_copies,
            abstracts=abstracts,
            abstract_copies=abstract_copies,
            category=None if self._category is None else self._category[index],
            subcategory=None if self._subcategory is None else self._subcategory[index],
            vectors=None if self._vectors is None else self._vectors[index],
            entities=None if self._entities is None or titles is None else self._entities[index, : titles.shape[1]],
        )


@torch.no_grad()
def encode_all(model: NewsModel, table: ArticleTable, rows: Rows | None = None) -> Tensor:
    """The vectors [n, size] of `rows` (all rows of the table, if None), without gradients, in bounded memory.

    Articles of similar length are encoded together, so that little padding is computed.
    """
    index = torch.arange(len(table)) if rows is None else torch.as_tensor(rows, dtype=torch.int64)
    lengths = table.length(index)
    order = torch.argsort(lengths, stable=True)
    vectors: Tensor | None = None
    for part in track(_parts(lengths[order]), "Articles"):
        chosen = order[part]
        encoded = model.encode_articles(table.batch(index[chosen]).to(model.device))
        if vectors is None:
            vectors = encoded.new_empty(len(index), model.size)
        vectors[chosen] = encoded
    return torch.empty(0, model.size) if vectors is None else vectors


def _parts(lengths: Tensor) -> list[slice]:
    """Cut rows sorted by length into slices of about `_POSITIONS` words each."""
    ends = torch.cumsum(lengths + 3, 0) // _POSITIONS
    starts = [0, *(torch.nonzero(torch.diff(ends)).flatten() + 1).tolist(), len(lengths)]
    return [slice(start, stop) for start, stop in pairwise(starts) if stop > start]


def _texts(
    texts: Tensor | None, lengths: Tensor | None, index: Tensor, compact: bool
) -> tuple[Tensor | None, Tensor | None]:
    """Rows of a word matrix with their copies.

    Of `full` columns the first `width` are kept, at least three more than the longest text has words. The last but one
    then is padding between padding in every row: it stands for itself and for all that was cut out, which is equal to
    it even to a convolution. The last stays what it was, the one at the border.
    """
    if texts is None or lengths is None:
        return None, None
    full = texts.shape[1]
    width = full
    if compact and len(index):
        width = min(full, int(lengths[index].max()) + 3)
    copies = torch.ones(width, dtype=torch.int64)
    if width < full:
        copies[-2] += full - width
    return texts[index, :width].long(), copies.expand(len(index), width)


def _lengths(texts: Tensor | None) -> Tensor | None:
    """The number of columns of each row up to its last word."""
    if texts is None:
        return None
    return ((texts != 0) * torch.arange(1, texts.shape[1] + 1)).amax(1)


def _names(names: Sequence[str]) -> list[str]:
    return sorted(set(names) - {""})


def _numbered(names: Sequence[str], known: Sequence[str]) -> Tensor:
    """Each name's place among those known, from 1; 0 for any other."""
    numbers = {name: number for number, name in enumerate(known, start=1)}
    return torch.tensor([numbers.get(name, 0) for name in names], dtype=torch.int64)
