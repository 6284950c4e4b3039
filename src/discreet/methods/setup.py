"""What a training starts from: the model with its articles, and the readers of one node who train it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.methods.in_rounds import InRounds
from discreet.methods.method import TrainingTask
from discreet.models.features import ArticleTable, ReaderNumbers
from discreet.models.language_model import token_table
from discreet.models.model_registry import build_model
from discreet.models.news_model import Needs, Titles
from discreet.progress import notice
from discreet.text.encode import WORD_VECTORS_VARIABLE, TextVectors
from discreet.text.word_vectors import read_word_vectors
from discreet.text.words import Vocabulary
from discreet.training.clients import Clients
from discreet.training.network import Network
from discreet.training.objective import Parameters
from discreet.training.randomness import Randomness, SimulatedRandomness


@dataclass(frozen=True)
class Setup:
    """A model with its articles, and the readers of one node who train it.

    Attributes:
        start: All that is trained, as it stands before the first round.
        randomness: That of user-level privacy: coins and noise.
        readers: How many were shown anything, whether they clicked or not.
        open_articles: Those that readers do not keep secret, where a method knows such.
    """

    network: Network
    table: ArticleTable
    word_vectors: NDArray[np.float32] | None
    clients: Clients
    seed: int
    node: int
    randomness: Randomness
    readers: int
    start: Parameters
    open_articles: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Part:
    """Which node this is, and which of the readers in its data are its own: part `which` of `of` parts, from 1 on.

    A node with data of its own has all of them. Where one data set is divided, to try things out, readers go round.
    """

    node: int = 0
    which: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if self.node < 0 or not 1 <= self.which <= self.of:
            raise ValueError(f"there is no part {self.which} of {self.of} for node {self.node}")


ALL_READERS = Part()


def prepare(
    method: InRounds, task: TrainingTask, seed: int, part: Part = ALL_READERS, randomness: Randomness | None = None
) -> Setup:
    """The model that `method` trains, and the samples of a node's readers; without `randomness`, the seed decides."""
    table = article_table(task, method.needs)
    word_vectors = _public_words(table.words)
    network = method.network(build_model(method.model, method.chosen_model, table, seed, word_vectors=word_vectors))
    train = task.data.splits["train"]
    own = train if part.of == 1 else train.select(train.reader % part.of == part.which - 1)
    return Setup(
        network=network,
        table=table,
        word_vectors=word_vectors,
        clients=Clients.from_impressions(own, network.model.history_length, method.history_clicks),
        seed=seed,
        node=part.node,
        randomness=randomness or SimulatedRandomness(seed, part.node),
        readers=len(np.unique(own.reader)),
        start=network.parameters(),
    )


def article_table(task: TrainingTask, needs: Needs, names: dict[str, list[str]] | None = None) -> ArticleTable:
    """The task's articles as a model reads them; words and topics are numbered as `names` says, where it is given."""
    articles = task.data.articles
    if needs.tokens is not None:
        return token_table(articles, needs.title_words, needs.tokens)
    vocabulary = None
    if needs.title_words or needs.abstract_words:
        vocabulary = Vocabulary(names["words"]) if names else Vocabulary.of([*articles.titles, *articles.abstracts])
    titles = title_vectors(task, needs)
    return ArticleTable.from_articles(
        articles,
        vocabulary=vocabulary,
        title_words=needs.title_words,
        abstract_words=needs.abstract_words,
        vectors=titles.vectors.matrix if titles else None,
        with_categories=needs.categories,
        categories=names["categories"] if names else None,
        subcategories=names["subcategories"] if names else None,
        with_entities=needs.entities,
        entity_names=names["entities"] if names else None,
        readers=_reader_numbers(task, names["readers"] if names else None) if needs.reader_id else None,
    )


def _reader_numbers(task: TrainingTask, known: list[str] | None) -> ReaderNumbers:
    """The readers that a model knows by number: those with impressions in the train split, or those it has learnt."""
    if known is None:
        known = [task.data.readers[reader] for reader in np.unique(task.data.splits["train"].reader)]
    return ReaderNumbers.of(task.data.readers, known)


@dataclass(frozen=True)
class TitleVectors:
    """The vectors of titles that a model reads, and what they are centred on, which a state calls `what`."""

    vectors: TextVectors
    centre: NDArray[np.float32]
    what: str


CENTRES = {Titles.OCCURRING: "text_centre", Titles.CATALOGUE: "public_centre"}
"""What a state calls the centre of title vectors."""


def title_vectors(task: TrainingTask, needs: Needs) -> TitleVectors | None:
    """What a model reads of titles if it reads vectors."""
    if needs.vectors is None:
        return None
    what = CENTRES[needs.vectors]
    if needs.vectors is Titles.OCCURRING:
        return TitleVectors(task.text_vectors, task.text_centre, what)
    return TitleVectors(task.public_vectors, task.public_centre, what)


def _public_words(words: Sequence[str]) -> NDArray[np.float32] | None:
    if not words:
        return None
    path = os.environ.get(WORD_VECTORS_VARIABLE)
    if not path:
        _say_once(f"words start at random: ${WORD_VECTORS_VARIABLE} names no file of word vectors, such as GloVe's")
        return None
    found = read_word_vectors(Path(path), only=set(words))
    known = len(set(words) & set(found.words))
    _say_once(f"words start from {Path(path).name}: {known:,} of {len(words):,} are in it, the others start at zero")
    return found.for_vocabulary(Vocabulary(list(words)))


@cache
def _say_once(line: str) -> None:
    """A comparison trains many models on the same words; once is enough."""
    notice(line)
