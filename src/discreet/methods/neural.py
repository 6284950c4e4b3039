"""What the methods that train a news model share: preparing it, keeping it, and ranking with it.

A method's state holds the parameters by name, and what it takes to encode articles that appear after training: the
names that the model's tables are numbered by (words, categories), or what title vectors are centred on.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.base import Method, Scores, State, Task
from discreet.methods.ranking import Serving, score_impressions
from discreet.methods.watching import Watch
from discreet.models.base import NewsModel
from discreet.models.features import ArticleTable
from discreet.models.registry import make_model, model_settings
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
    names: dict[str, list[str]]
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
    rounds: int = 300
    fraction: float = 0.02
    rate: float = 1e-3
    negatives: int = 4
    history_clicks: int = 0
    epsilon_serving: float | None = None

    def __post_init__(self) -> None:
        model_settings(self.model, self.preset)
        if self.rounds < 1 or self.negatives < 1 or self.history_clicks < 0:
            raise DiscreetError(f"{self.name}: rounds and negatives must be at least 1, history_clicks at least 0")
        if not 0 < self.fraction <= 1 or not 0 < self.rate < math.inf:
            raise DiscreetError(f"{self.name}: fraction must be above 0 and at most 1, rate above 0")
        for budget in (self.epsilon, self.epsilon_serving):
            if budget is not None and not budget > 0:
                raise DiscreetError(f"{self.name}: a budget ε must be above 0 (or inf), not {budget}")

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
        extras: State = {name: _packed(words) for name, words in setup.names.items()}
        extras["losses"] = np.array(done.losses)
        extras["nodes"] = _marked(done.nodes)
        if simulated:
            extras["simulated"] = np.ones(1, np.bool_)
        extras["watched"] = np.array(done.watched, np.float64).reshape(-1, 2)
        if setup.word_vectors is not None:
            extras["word_vectors"] = setup.word_vectors
        if titles := title_vectors(task, self.model):
            extras[titles.what] = titles.centre
        extras |= {name: buffer.numpy() for name, buffer in fixed_parts(setup.network.model).items()}
        return {**{name: value.numpy() for name, value in done.parameters.items()}, **extras}

    def start(self, setup: Setup) -> Parameters:
        """All that is trained, as it stands before the first round."""
        return {**setup.network.parameters(), **self.own_parameters(setup.network.model.size, setup.seed)}

    def score(self, task: Task, state: State, impressions: Impressions, seed: int) -> Scores:
        """Rank with the trained model, serving as the method prescribes."""
        names = {name: _unpacked(state[name]) for name in NAMES}
        table, names = article_table(task, self.model, self.preset, names)
        network = Network(make_model(self.model, self.preset, table, seed, word_vectors=state.get("word_vectors")))
        for name, buffer in fixed_parts(network.model).items():
            buffer.copy_(torch.from_numpy(state[name]))
        serving = self.serving(network.model.size, seed)
        return score_impressions(network, table, trained_parameters(state), impressions, serving, seed)

    def vector_size(self) -> int:
        """The length of a reader's vector."""
        return model_settings(self.model, self.preset).size

    def setup(self, task: Task, seed: int, part: Part = ALL_READERS, chance: Chance | None = None) -> Setup:
        """The model at its start, and the samples of a node's readers; without a `chance`, it is by the seed."""
        table, names = article_table(task, self.model, self.preset)
        word_vectors = _public_words(names["words"])
        network = Network(make_model(self.model, self.preset, table, seed, word_vectors=word_vectors))
        train = task.data.splits["train"]
        own = train if part.of == 1 else train.select(train.reader % part.of == part.which - 1)
        clients = Clients.from_impressions(own, network.model.history_length, self.history_clicks)
        chance = chance or SimulatedChance(seed, part.node)
        readers = len(np.unique(own.reader))
        return Setup(network, table, names, word_vectors, clients, seed, part.node, chance, readers)

    def _identity(self, task: Task, seed: int) -> dict[str, str]:
        settings = {key: str(value) for key, value in vars(self).items() if key not in ("rounds", "epsilon_serving")}
        data = {"data": task.data.fingerprint, "text": task.text_identity}
        return {**settings, "method": self.name, "seed": str(seed), **data}


def article_table(
    task: Task, model: str, preset: str, names: dict[str, list[str]] | None = None
) -> tuple[ArticleTable, dict[str, list[str]]]:
    """The task's articles as `model` reads them: by text vectors, words and topics, numbered as `names` says."""
    settings = model_settings(model, preset)
    articles = task.data.articles
    if titles := title_vectors(task, model):
        table = ArticleTable.from_articles(
            articles,
            vectors=titles.vectors.matrix,
            categories=names["categories"] if names else None,
            subcategories=names["subcategories"] if names else None,
        )
        return table, {"words": [], "categories": list(table.categories), "subcategories": list(table.subcategories)}
    vocabulary = Vocabulary(names["words"]) if names else Vocabulary.of([*articles.titles, *articles.abstracts])
    table = ArticleTable.from_articles(
        articles,
        vocabulary=vocabulary,
        title_words=settings.title_words,
        abstract_words=getattr(settings, "abstract_words", 0),
        categories=names["categories"] if names else None,
        subcategories=names["subcategories"] if names else None,
    )
    return table, {
        "words": list(vocabulary.words),
        "categories": list(table.categories),
        "subcategories": list(table.subcategories),
    }


@dataclass(frozen=True)
class TitleVectors:
    """The vectors of titles that a model reads, and what they are centred on, which a state calls `what`."""

    vectors: TextVectors
    centre: NDArray[np.float32]
    what: str


def title_vectors(task: Task, model: str) -> TitleVectors | None:
    """What `model` reads of titles if it reads vectors: of those that occur, or, to train in private, of all."""
    if model == "plm_nr":
        return TitleVectors(task.text_vectors, task.text_centre, "text_centre")
    if model == "bilinear":
        return TitleVectors(task.public_vectors, task.public_centre, "public_centre")
    return None


_FIXED = ("text_basis", "topic_basis")
_EXTRAS = {*NAMES, *_FIXED, "losses", "nodes", "simulated", "watched", "word_vectors", "text_centre", "public_centre"}


def fixed_parts(model: NewsModel) -> dict[str, Tensor]:
    """What a model takes from public articles and never trains; later articles are read with the same."""
    return {name: buffer for name, buffer in model.named_buffers() if name in _FIXED}


def trained_parameters(state: State) -> Parameters:
    """What was learnt in rounds, by name: the model's parameters and the method's own."""
    return {name: torch.from_numpy(np.asarray(value)) for name, value in state.items() if name not in _EXTRAS}


def parameter_count(state: State) -> int:
    """How many numbers a client's gradient has."""
    return sum(int(np.asarray(value).size) for name, value in state.items() if name not in _EXTRAS)


def mean_loss(losses: NDArray[np.float64], samples: int) -> float:
    """The mean loss of a sample in a round."""
    return float(losses.sum() / samples) if samples else math.nan


def _public_words(words: list[str]) -> NDArray[np.float32] | None:
    path = os.environ.get(WORD_VECTORS_VARIABLE)
    if not words or not path:
        return None
    return read_word_vectors(Path(path), only=set(words)).for_vocabulary(Vocabulary(words))


def _marked(nodes: tuple[tuple[int, ...], ...]) -> NDArray[np.bool_]:
    """A row for each round, in which the nodes that were in it are marked."""
    marks = np.zeros((len(nodes), 1 + max((node for some in nodes for node in some), default=0)), np.bool_)
    for row, some in zip(marks, nodes, strict=True):
        row[list(some)] = True
    return marks


def _packed(words: list[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(words).encode(), np.uint8)


def _unpacked(packed: NDArray[np.generic]) -> list[str]:
    text = packed.tobytes().decode()
    return text.split("\n") if text else []
