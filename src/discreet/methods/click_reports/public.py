"""The public side of the method: how an article is seen, from its text and category alone.

All of it is found in public text before any report comes in, kept with the run, and applied to articles that appear
later: a new article is scored from its text at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.methods.method import State, TrainingTask
from discreet.progress import counted
from discreet.text.encode import encode_texts
from discreet.text.topics import TopicSpace, find_topics
from discreet.text.word_vectors import unit_rows

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]

AXES = 64
"""Principal axes of title vectors that devices are given."""

TOWER_AXES = 32
"""How many of them, in addition to the category, make up the coordinates in which towers are trained."""

_TITLES = 8000


@dataclass(frozen=True, eq=False)
class PublicSpace:
    """Where articles live.

    Attributes:
        topics: The public topics.
        text_centre: What all titles have in common, taken away before anything else.
        axes: The directions in which titles differ most.
        categories: The categories that coordinates know.
        mean: The mean of the coordinates over the catalogue.
        spread: Their standard deviation (infinite where they do not vary).
    """

    topics: TopicSpace
    text_centre: Vectors
    axes: Vectors
    categories: tuple[str, ...]
    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, task: TrainingTask, topics: int) -> PublicSpace:
        """Find topics, axes and scales in the catalogue's titles and in what was shown; once for each task."""
        return task.once((cls, topics), lambda: cls._find(task, topics))

    @classmethod
    def _find(cls, task: TrainingTask, topics: int) -> PublicSpace:
        vectors = task.public_vectors.matrix
        categories = tuple(sorted(set(task.data.articles.categories)))
        axes = _principal_axes(vectors)
        raw = _raw_coordinates(vectors, axes, categories, task.data.articles.categories)
        spread = raw.std(axis=0)
        return cls(
            _topics_for(task, topics),
            task.public_centre,
            axes,
            categories,
            raw.mean(axis=0),
            np.where(spread > 1e-9, spread, np.inf),
        )

    def title_vectors(self, titles: Sequence[str], source: str) -> Vectors:
        """The unit vectors of titles, as the catalogue's were made; zero for an empty title."""
        encoded = encode_texts(list(titles), source).matrix
        vectors = np.zeros_like(encoded)
        titled = encoded.any(axis=1)
        vectors[titled] = unit_rows(encoded[titled] - self.text_centre)
        return vectors

    def content(self, vectors: Vectors) -> Floats:
        """Each article's similarity with each topic's mean title."""
        return np.asarray(vectors @ self.topics.profiles.T, dtype=np.float64)

    def coordinates(self, vectors: Vectors, categories: Sequence[str]) -> Floats:
        """Title and category in few numbers of mean 0 and variance 1."""
        raw = _raw_coordinates(vectors, self.axes, self.categories, categories)
        return np.ascontiguousarray((raw - self.mean) / self.spread)

    def to_state(self) -> State:
        """As arrays, to be kept with a run."""
        return {
            "centres": self.topics.centres,
            "profiles": self.topics.profiles,
            "text_centre": self.text_centre,
            "axes": self.axes,
            "categories": np.frombuffer("\n".join(self.categories).encode(), np.uint8).copy(),
            "coordinate_mean": self.mean,
            "coordinate_spread": self.spread,
        }

    @classmethod
    def from_state(cls, state: State) -> PublicSpace:
        """The inverse of `to_state`."""
        return cls(
            TopicSpace(state["centres"], state["profiles"]),
            state["text_centre"],
            state["axes"],
            tuple(state["categories"].tobytes().decode().split("\n")),
            state["coordinate_mean"],
            state["coordinate_spread"],
        )


def _topics_for(task: TrainingTask, count: int) -> TopicSpace:
    """Topics of the titles that readers meet: half of them drawn from the catalogue, half from what was shown.

    Old articles are in the histories, new ones in the slates, and what is shown often matters more.
    """
    vectors = task.public_vectors.matrix
    titled = np.flatnonzero(vectors.any(axis=1))
    if len(titled) < count:
        raise DiscreetError(
            f"{task.data.name}: {count} topics cannot be found in {counted(len(titled), 'title')}; set topics"
        )
    rng = np.random.default_rng(0)
    shown = task.data.splits["train"].public_shown
    drawn = [rng.choice(some, _TITLES) for some in (titled, shown) if len(some)]
    return find_topics(vectors[np.concatenate(drawn)], count)


def _principal_axes(vectors: Vectors) -> Vectors:
    second_moment = vectors.T.astype(np.float64) @ vectors
    return np.ascontiguousarray(np.linalg.eigh(second_moment)[1][:, ::-1][:, :AXES].T, dtype=np.float32)


def _raw_coordinates(vectors: Vectors, axes: Vectors, known: Sequence[str], categories: Sequence[str]) -> Floats:
    place = {name: number for number, name in enumerate(known)}
    number = np.array([place.get(name, -1) for name in categories], np.int64)
    return np.hstack((vectors @ axes[:TOWER_AXES].T, number[:, None] == np.arange(len(known)))).astype(np.float64)
