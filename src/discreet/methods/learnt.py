"""What a training has learnt, as a run keeps it: parameters by name, and what it takes to read articles of later days.

These are the names that the model's tables are numbered by (words, categories), what title vectors are centred on,
public word vectors, and what the model took from public articles and does not train.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.methods.in_rounds import InRounds
from discreet.methods.method import Scores, State, TrainingTask
from discreet.methods.ranking import score_impressions
from discreet.methods.setup import CENTRES, Setup, article_table, title_vectors
from discreet.models.model_registry import build_model, fixed_parts, fixed_words
from discreet.training.checkpoint import Checkpoint
from discreet.training.objective import Parameters

NAMES = ("words", "categories", "subcategories", "entities", "readers")
_FIXED = "fixed"
"""What a state calls the names of what the model took from public articles."""
ENTITY_VECTORS = "entities.vectors"
"""What a model that reads entities calls their vectors."""
_PACKED = {name: f"names/{name}" if name in ("entities", "readers") else name for name in NAMES}
"""What a state calls each list of names; a model may have a parameter `readers` of its own."""
_PUBLIC = "public_text"
"""What a state calls that title vectors were made from public text alone."""
_EXTRAS = {
    *_PACKED.values(),
    _FIXED,
    _PUBLIC,
    "losses",
    "nodes",
    "simulated",
    "watched",
    "word_vectors",
    *CENTRES.values(),
}


def learnt(method: InRounds, task: TrainingTask, setup: Setup, done: Checkpoint, *, simulated: bool = True) -> State:
    """The state of a training that is done.

    `simulated` says that whatever noise there is comes from the seed, so that it hides nothing from who knows it.
    """
    table, model = setup.table, setup.network.model
    known = (table.words, table.categories, table.subcategories, table.entity_names, table.reader_names)
    extras: State = {_PACKED[name]: pack_names(names) for name, names in zip(NAMES, known, strict=True)}
    extras["losses"] = np.array(done.losses)
    extras["nodes"] = _marked(done.nodes)
    if simulated:
        extras["simulated"] = np.ones(1, np.bool_)
    if task.public_text:
        extras[_PUBLIC] = np.ones(1, np.bool_)
    extras["watched"] = np.array(done.watched, np.float64).reshape(-1, 2)
    words = setup.word_vectors if setup.word_vectors is not None else fixed_words(model)
    if words is not None:
        extras["word_vectors"] = words
    if titles := title_vectors(task, method.needs):
        extras[titles.what] = titles.centre
    if fixed := fixed_parts(model):
        extras |= {name: buffer.cpu().numpy() for name, buffer in fixed.items()}
        extras[_FIXED] = pack_names(list(fixed))
    return {**{name: value.numpy() for name, value in done.parameters.items()}, **extras}


def score_learnt(method: InRounds, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
    """Rank with what was learnt, serving as the method prescribes."""
    task = _read_as_learnt(method, task, state)
    names = {name: unpack_names(state[_PACKED[name]]) if _PACKED[name] in state else [] for name in NAMES}
    table = article_table(task, method.needs, names)
    if method.needs.entities:  # public vectors are those of the training, whatever files are next to the articles now
        fixed = ENTITY_VECTORS in _fixed_names(state)
        table.entity_vectors = torch.from_numpy(state[ENTITY_VECTORS]) if fixed else None
    words = state.get("word_vectors")
    model = build_model(method.model, method.chosen_model, table, seed, word_vectors=words, start=False)
    network = method.network(model)
    for name, buffer in fixed_parts(network.model).items():
        buffer.copy_(torch.from_numpy(state[name]))
    serving = method.serving(network.model.reader_size, seed)
    return score_impressions(network, table, trained_parameters(state), impressions, serving, seed)


def _read_as_learnt(method: InRounds, task: TrainingTask, state: State) -> TrainingTask:
    """The task with the title vectors of the training, where that knew public text alone."""
    if _PUBLIC not in state or method.needs.vectors is None:
        return task
    return replace(task, public_text=True, centre=state[CENTRES[method.needs.vectors]])


def trained_parameters(state: State) -> Parameters:
    """What was learnt in rounds, by name: the model's parameters and the method's own."""
    return {name: torch.from_numpy(np.asarray(state[name])) for name in _trained_names(state)}


def parameter_count(state: State) -> int:
    """How many numbers a client's gradient has."""
    return sum(int(np.asarray(state[name]).size) for name in _trained_names(state))


def _trained_names(state: State) -> list[str]:
    fixed = _fixed_names(state)
    return [name for name in state if name not in _EXTRAS and name not in fixed]


def _fixed_names(state: State) -> list[str]:
    return unpack_names(state[_FIXED]) if _FIXED in state else []


def _marked(nodes: tuple[tuple[int, ...], ...]) -> NDArray[np.bool_]:
    """A row for each round, in which the nodes that were in it are marked."""
    marks = np.zeros((len(nodes), 1 + max((node for some in nodes for node in some), default=0)), np.bool_)
    for row, some in zip(marks, nodes, strict=True):
        row[list(some)] = True
    return marks


def pack_names(words: Sequence[str]) -> NDArray[np.uint8]:
    """Names as bytes, so that a state can keep them."""
    return np.frombuffer("\n".join(words).encode(), np.uint8)


def unpack_names(packed: NDArray[np.generic]) -> list[str]:
    """The inverse."""
    text = packed.tobytes().decode()
    return text.split("\n") if text else []
