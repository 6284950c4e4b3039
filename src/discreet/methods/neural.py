"""What the methods that train a news model share: preparing it, keeping it, and ranking with it.

A method's state holds the parameters by name, and what it takes to encode articles that appear after training: the
names that the model's tables are numbered by (words, categories), or what title vectors are centred on.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.base import Method, Scores, State, Task
from discreet.methods.ranking import Serving, score_impressions
from discreet.methods.settings import settings_of
from discreet.methods.watching import Watch
from discreet.models.base import Needs, Settings, Titles
from discreet.models.features import ArticleTable
from discreet.models.language_model import token_table
from discreet.models.registry import (
    build_model,
    changed_settings,
    fixed_parts,
    fixed_words,
    model_needs,
    model_settings,
)
from discreet.privacy.guarantee import Guarantee
from discreet.text.encode import WORD_VECTORS_VARIABLE, TextVectors
from discreet.text.word_vectors import read_word_vectors
from discreet.text.words import Vocabulary
from discreet.training.chance import Chance, SimulatedChance
from discreet.training.checkpoint import CheckpointFile
from discreet.training.clients import Clients
from discreet.training.network import Network
from discreet.training.objective import Parameters
from discreet.training.optimisers import Optimiser
from discreet.training.rounds import Round, train_rounds

NAMES = ("words", "categories", "subcategories")


@dataclass(frozen=True)
class Setup:
    """A model with its articles, and the readers of one node who train it.

    `chance` is that of user-level privacy; `readers` counts all who were shown anything, whether they clicked or not.
    """

    network: Network
    table: ArticleTable
    word_vectors: NDArray[np.float32] | None
    clients: Clients
    seed: int
    node: int
    chance: Chance
    readers: int


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


@dataclass(frozen=True, kw_only=True)
class NeuralMethod(Method):
    """A method that trains one of the models in rounds.

    Attributes:
        model: The model's name.
        preset: Its sizes: `small`, or as `published`.
        model_settings: All settings of the model, in place of the preset's.
        rounds: How many rounds are trained.
        fraction: The share r of the readers that take part in a round.
        rate: The server's learning rate η.
        negatives: Unclicked articles that stand against each click (H in FedNewsRec, k in PrivateRec).
        history_clicks: How many of each reader's latest history clicks train too, each as the click that follows the
            history before it; for data with few impressions. Their negatives are clicks of other readers' histories,
            so that no guarantee of privacy remains.
        epsilon_serving: The budget of one serving release; None ranks on the device, with the exact history.
    """

    name: ClassVar[str]

    model: str = "plm_nr"
    preset: str = "small"
    model_settings: Settings | None = None
    rounds: int = 300
    fraction: float = 0.02
    rate: float = 1e-3
    negatives: int = 4
    history_clicks: int = 0
    epsilon_serving: float | None = None

    def __post_init__(self) -> None:
        if self.model_settings is not None:
            changed_settings(self.model, self.preset, self.model_settings)
        model_needs(self.model, self.chosen_model)
        if self.rounds < 1 or self.negatives < 1 or self.history_clicks < 0:
            raise DiscreetError(f"{self.name}: rounds and negatives must be at least 1, history_clicks at least 0")
        if not 0 < self.fraction <= 1 or not 0 < self.rate < math.inf:
            raise DiscreetError(f"{self.name}: fraction must be above 0 and at most 1, rate above 0")
        for budget in (self.epsilon, self.epsilon_serving):
            if budget is not None and not budget > 0:
                raise DiscreetError(f"{self.name}: a budget ε must be above 0 (or inf), not {budget}")

    @property
    def chosen_model(self) -> Settings:
        """The settings of the model: those given, or the preset's."""
        return self.model_settings or model_settings(self.model, self.preset)

    @property
    def needs(self) -> Needs:
        """What the model reads."""
        return model_needs(self.model, self.chosen_model)

    @property
    @abstractmethod
    def epsilon(self) -> float | None:
        """The privacy budget of training that was asked for."""

    @abstractmethod
    def optimiser(self) -> Optimiser:
        """How the server moves the model."""

    @abstractmethod
    def round(self, setup: Setup) -> Round:
        """What happens in a round: from parameters and the round's number to an aggregate."""

    @abstractmethod
    def guarantee(self, state: State) -> Guarantee | None:
        """What training costs a reader."""

    @abstractmethod
    def serving(self, size: int, seed: int) -> Serving:
        """What of a reader's vector is ranked with; `size` is its length."""

    def steps(self, clients: int) -> int:
        """How often the server moves the model."""
        return self.rounds

    def own_parameters(self, size: int, seed: int) -> Parameters:
        """Parameters that the method trains beside the model's."""
        return {}

    def train(self, task: Task, seed: int, checkpoint: Path | None = None) -> State:
        """Train for all rounds, from the last checkpoint if there is one."""
        setup = self.setup(task, seed)
        return self.train_with(self.round(setup), task, setup, checkpoint)

    def train_with(
        self, work: Round, task: Task, setup: Setup, checkpoint: Path | None, *, every: int = 50, simulated: bool = True
    ) -> State:
        """Train for all rounds of `work`, from the last checkpoint if there is one; one is written `every` few rounds.

        `simulated` says that whatever noise there is comes from the seed, so that it hides nothing from who knows it.
        """
        identity = self._identity(task, setup.seed) | ({} if simulated else {"noise": "secret"})
        file = CheckpointFile(checkpoint, identity) if checkpoint else None
        steps = self.steps(len(setup.clients))
        on_device = replace(self, epsilon_serving=None).serving(setup.network.model.size, setup.seed)
        watch = Watch(task, setup, steps, on_device)
        done = train_rounds(work, self.optimiser(), self.start(setup), steps, file=file, every=every, watch=watch)
        table, model = setup.table, setup.network.model
        names = {"words": table.words, "categories": table.categories, "subcategories": table.subcategories}
        extras: State = {name: _packed(known) for name, known in names.items()}
        extras["losses"] = np.array(done.losses)
        extras["nodes"] = _marked(done.nodes)
        if simulated:
            extras["simulated"] = np.ones(1, np.bool_)
        extras["watched"] = np.array(done.watched, np.float64).reshape(-1, 2)
        words = setup.word_vectors if setup.word_vectors is not None else fixed_words(model)
        if words is not None:
            extras["word_vectors"] = words
        if titles := title_vectors(task, self.needs):
            extras[titles.what] = titles.centre
        if fixed := fixed_parts(model):
            extras |= {name: buffer.numpy() for name, buffer in fixed.items()}
            extras[_FIXED] = _packed(list(fixed))
        return {**{name: value.numpy() for name, value in done.parameters.items()}, **extras}

    def start(self, setup: Setup) -> Parameters:
        """All that is trained, as it stands before the first round."""
        return {**setup.network.parameters(), **self.own_parameters(setup.network.model.size, setup.seed)}

    def score(self, task: Task, state: State, impressions: Impressions, seed: int) -> Scores:
        """Rank with the trained model, serving as the method prescribes."""
        names = {name: _unpacked(state[name]) for name in NAMES}
        table = article_table(task, self.needs, names)
        words = state.get("word_vectors")
        network = Network(build_model(self.model, self.chosen_model, table, seed, word_vectors=words))
        for name, buffer in fixed_parts(network.model).items():
            buffer.copy_(torch.from_numpy(state[name]))
        serving = self.serving(network.model.size, seed)
        return score_impressions(network, table, trained_parameters(state), impressions, serving, seed)

    def vector_size(self) -> int:
        """The length of a reader's vector."""
        return self.chosen_model.size

    def setup(self, task: Task, seed: int, part: Part = ALL_READERS, chance: Chance | None = None) -> Setup:
        """The model at its start, and the samples of a node's readers; without a `chance`, it is by the seed."""
        table = article_table(task, self.needs)
        word_vectors = _public_words(table.words)
        network = Network(build_model(self.model, self.chosen_model, table, seed, word_vectors=word_vectors))
        train = task.data.splits["train"]
        own = train if part.of == 1 else train.select(train.reader % part.of == part.which - 1)
        clients = Clients.from_impressions(own, network.model.history_length, self.history_clicks)
        chance = chance or SimulatedChance(seed, part.node)
        readers = len(np.unique(own.reader))
        return Setup(network, table, word_vectors, clients, seed, part.node, chance, readers)

    def _identity(self, task: Task, seed: int) -> dict[str, str]:
        own = settings_of(self)
        settings = {key: str(value) for key, value in own.items() if key not in ("rounds", "epsilon_serving")}
        data = {"data": task.data.fingerprint, "text": task.text_identity}
        return {**settings, "method": self.name, "seed": str(seed), **data}


def article_table(task: Task, needs: Needs, names: dict[str, list[str]] | None = None) -> ArticleTable:
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
    )


@dataclass(frozen=True)
class TitleVectors:
    """The vectors of titles that a model reads, and what they are centred on, which a state calls `what`."""

    vectors: TextVectors
    centre: NDArray[np.float32]
    what: str


CENTRES = {Titles.OCCURRING: "text_centre", Titles.CATALOGUE: "public_centre"}
"""What a state calls the centre of title vectors."""


def title_vectors(task: Task, needs: Needs) -> TitleVectors | None:
    """What a model reads of titles if it reads vectors."""
    if needs.vectors is None:
        return None
    what = CENTRES[needs.vectors]
    if needs.vectors is Titles.OCCURRING:
        return TitleVectors(task.text_vectors, task.text_centre, what)
    return TitleVectors(task.public_vectors, task.public_centre, what)


_FIXED = "fixed"
"""What a state calls the names of what the model took from public articles."""
_EXTRAS = {*NAMES, _FIXED, "losses", "nodes", "simulated", "watched", "word_vectors", *CENTRES.values()}


def trained_parameters(state: State) -> Parameters:
    """What was learnt in rounds, by name: the model's parameters and the method's own."""
    return {name: torch.from_numpy(np.asarray(state[name])) for name in _trained_names(state)}


def parameter_count(state: State) -> int:
    """How many numbers a client's gradient has."""
    return sum(int(np.asarray(state[name]).size) for name in _trained_names(state))


def _trained_names(state: State) -> list[str]:
    fixed = _unpacked(state[_FIXED]) if _FIXED in state else []
    return [name for name in state if name not in _EXTRAS and name not in fixed]


def mean_loss(losses: NDArray[np.float64], samples: int) -> float:
    """The mean loss of a sample in a round."""
    return float(losses.sum() / samples) if samples else math.nan


def _public_words(words: Sequence[str]) -> NDArray[np.float32] | None:
    path = os.environ.get(WORD_VECTORS_VARIABLE)
    if not words or not path:
        return None
    return read_word_vectors(Path(path), only=set(words)).for_vocabulary(Vocabulary(list(words)))


def _marked(nodes: tuple[tuple[int, ...], ...]) -> NDArray[np.bool_]:
    """A row for each round, in which the nodes that were in it are marked."""
    marks = np.zeros((len(nodes), 1 + max((node for some in nodes for node in some), default=0)), np.bool_)
    for row, some in zip(marks, nodes, strict=True):
        row[list(some)] = True
    return marks


def _packed(words: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(words).encode(), np.uint8)


def _unpacked(packed: NDArray[np.generic]) -> list[str]:
    text = packed.tobytes().decode()
    return text.split("\n") if text else []
