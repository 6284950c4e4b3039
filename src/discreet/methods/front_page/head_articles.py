"""The vector of each article that a head matches interests by: title and topic, in public directions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.subcategories import Subcategories
from discreet.methods.method import State, TrainingTask

SIZE = 96
"""Directions of an article's vector."""

Topic = tuple[str, str]
"""Category and subcategory; a category alone has the subcategory ""."""

_TOPIC = 2.0
_MIN_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class HeadArticles:
    """The vector of each article, t = B'x + B''e − centre, from its title vector x and its topic e.

    B keeps the directions of most variance among what was shown, with topics counted twice as long as titles. Each is
    scaled to variance 1, so that all can be learnt alike.

    Attributes:
        basis: A row for each direction of title vectors, then one for each topic.
        centre: What is subtracted, so that what was shown has mean zero.
        topics: The names of topics, in the order of their rows.
        vectors: A row for each article of the catalogue.
    """

    basis: NDArray[np.float32]
    centre: NDArray[np.float32]
    topics: tuple[Topic, ...]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, task: TrainingTask, state: State | None = None) -> HeadArticles:
        """By the directions and topics of a run's state, or else by those of what the task's train split showed."""
        titles, articles = PublicArticles.of(task).vectors, task.data.articles
        places = list(zip(articles.categories, articles.subcategories, strict=True))
        if state is not None and "head_topics" in state:
            topics = tuple((category, section) for category, section in json.loads(state["head_topics"].tobytes()))
        else:
            topics = _topics(task)
        topic = topic_rows(topics, places)
        if state is not None:
            basis, centre = state["head_basis"], state["head_centre"]
        else:
            shown = np.unique(task.data.splits["train"].public_shown)
            basis, centre = main_directions(titles[shown], topic[shown], len(topics))
        by_topic = np.concatenate((basis[titles.shape[1] :], np.zeros((1, basis.shape[1]), basis.dtype)))
        return cls(basis, centre, topics, titles @ basis[: titles.shape[1]] + by_topic[topic] - centre)

    def state(self, task: TrainingTask) -> State:
        """What a run keeps of them."""
        return {
            "head_basis": self.basis,
            "head_centre": self.centre,
            "head_text_centre": PublicArticles.of(task).centre,
            "head_topics": np.frombuffer(json.dumps(self.topics).encode(), np.uint8),
        }


def topic_rows(topics: Sequence[Topic], places: Sequence[Topic]) -> NDArray[np.int64]:
    """The row of each place by its name. An unknown section counts as its category, an unknown category as none: -1."""
    row = {topic: number for number, topic in enumerate(topics)}
    return np.array([row.get(place, row.get((place[0], ""), -1)) for place in places], np.int64)


def _topics(task: TrainingTask) -> tuple[Topic, ...]:
    """All subcategories, where they count (`Subcategories`), and all categories."""
    articles, subcategories = task.data.articles, Subcategories.of(task)
    places = zip(articles.categories, articles.subcategories, strict=True)
    named = dict(zip(subcategories.number.tolist(), places, strict=True))
    categories = np.unique(np.array(articles.categories, dtype=np.str_)).tolist()
    return (*(named[number] for number in range(len(subcategories.share))), *((name, "") for name in categories))


def main_directions(
    titles: NDArray[np.float32], topic: NDArray[np.int64], topics: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """B, and where the mean is; zeros where there are fewer directions. A direction's largest entry is positive."""
    one_hot = np.zeros((len(titles), topics))
    one_hot[np.arange(len(titles)), topic] = _TOPIC
    known = np.concatenate((titles.astype(np.float64), one_hot), axis=1)
    mean = known.mean(axis=0) if len(known) else np.zeros(known.shape[1])
    known -= mean
    variances, directions = np.linalg.eigh(known.T @ known / max(1, len(known)))
    variances, directions = variances[::-1][:SIZE], directions[:, ::-1][:, :SIZE]
    directions = directions * np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(len(variances))])
    basis = np.zeros((known.shape[1], SIZE))
    basis[:, : len(variances)] = directions * np.where(
        variances > _MIN_VARIANCE, np.maximum(variances, _MIN_VARIANCE) ** -0.5, 0.0
    )
    centre = mean @ basis
    basis[titles.shape[1] :] *= _TOPIC
    return basis.astype(np.float32), centre.astype(np.float32)
